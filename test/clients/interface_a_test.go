package clients

import (
	"net/http"
	"testing"

	"reservation.dev/test/harness"
)

// stepsOfA is a scenario that calls every operation of Interface A. Interface A creates nothing, so it
// first makes a customer with a purchase through Interface B.
func stepsOfA(t *testing.T, c *harness.Credentials) ([]step, map[string]string) {
	customer, transaction := purchase(t, c)
	given := map[string]string{"clientId": c.InterfaceA.ClientID, "clientSecret": c.InterfaceA.ClientSecret, "customer": customer, "transaction": transaction}
	return []step{
		{operation: "createToken", body: object{"client_id": "$clientId", "client_secret": "$clientSecret"}, save: map[string]string{"accessToken": "access_token"}},
		{operation: "listCustomers", query: object{"page": 0, "pageSize": 10}},
		{operation: "getProfile", path: []string{"$customer"}},
		{operation: "updateProfile", path: []string{"$customer"}, body: object{"firstname": "Zoë", "lastname": "Núñez", "email": "zoe@example.com"}},
		{operation: "listBookings", path: []string{"$customer"}, query: object{"pageSize": 10, "future_only": true}},
		{operation: "getBooking", path: []string{"$customer", "$transaction"}},
	}, given
}

// purchase makes a customer who has booked an event.
func purchase(t *testing.T, c *harness.Credentials) (customer, transaction string) {
	t.Helper()
	b := harness.NewB(t, c.InterfaceB.BaseURL)
	token := b.Token(t, harness.Credential{ID: c.InterfaceB.APIKey, Secret: c.InterfaceB.APISecret})
	create := func(path string, body object) (made struct{ ID, TransactionID string }) {
		b.Do(t, harness.Request{Method: http.MethodPost, Path: path, Token: token, Body: jsonText(body)}).Into(t, http.StatusCreated, &made)
		return made
	}
	customer = create("/customers", object{"firstName": "Zoë", "lastName": "Núñez", "email": "zoe@example.com"}).ID
	event := create("/events", object{"title": "Pottery", "startsAt": soon(5), "duration": 90, "pricingOptions": []object{{"name": "Seat", "price": 20}}}).ID
	return customer, create("/events/"+event+"/registrations", object{"customerId": customer}).TransactionID
}
