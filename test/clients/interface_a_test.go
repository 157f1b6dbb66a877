package clients

import (
	"net/http"
	"testing"

	"reservation.dev/test/harness"
)

// stepsOfA is a scenario that calls every operation of Interface A. Interface A creates nothing, so it
// first makes a customer with a purchase through Interface B.
func stepsOfA(t *testing.T, c *harness.Credentials) ([]step, map[string]string) {
	given := purchases(t, c)
	given["clientId"], given["clientSecret"] = c.InterfaceA.ClientID, c.InterfaceA.ClientSecret
	return []step{
		{operation: "createToken", body: object{"client_id": "$clientId", "client_secret": "$clientSecret"}, save: map[string]string{"accessToken": "access_token"}},
		{operation: "listCustomers", query: object{"page": 0, "pageSize": 10}},
		{operation: "getProfile", path: []string{"$customer"}},
		{operation: "updateProfile", path: []string{"$customer"}, body: object{"firstname": "Zoë", "lastname": "Núñez", "email": "zoe@example.com"}},
		{operation: "listBookings", path: []string{"$customer"}, query: object{"pageSize": 10, "future_only": true}},
		{operation: "getBooking", path: []string{"$customer", "$transaction"}},
		{operation: "listPasses", path: []string{"$customer"}, query: object{"pageSize": 10}},
		{operation: "getPass", path: []string{"$customer", "$customerPass"}},
		{
			operation: "createNote", status: 201, path: []string{"$customer"}, save: map[string]string{"note": "data.id"},
			body: object{"body": "Prefers the front row.", "kind": "preference", "author": "Ann", "pinned": true},
		},
		{operation: "listNotes", path: []string{"$customer"}},
		{operation: "getNote", path: []string{"$customer", "$note"}},
		{operation: "updateNote", path: []string{"$customer", "$note"}, body: object{"body": "Prefers the back row.", "pinned": false}},
		{operation: "deleteNote", path: []string{"$customer", "$note"}},
	}, given
}

// purchases makes a customer who has booked an event and holds a pass.
func purchases(t *testing.T, c *harness.Credentials) map[string]string {
	t.Helper()
	b := harness.NewB(t, c.InterfaceB.BaseURL)
	token := b.Token(t, harness.Credential{ID: c.InterfaceB.APIKey, Secret: c.InterfaceB.APISecret})
	create := func(path string, body object) (made struct{ ID, TransactionID string }) {
		b.Do(t, harness.Request{Method: http.MethodPost, Path: path, Token: token, Body: jsonText(body)}).Into(t, http.StatusCreated, &made)
		return made
	}
	customer := create("/customers", object{"firstName": "Zoë", "lastName": "Núñez", "email": "zoe@example.com"}).ID
	event := create("/events", object{"title": "Pottery", "startsAt": soon(5), "duration": 90, "pricingOptions": []object{{"name": "Seat", "price": 20}}}).ID
	pass := create("/passes", object{"title": "Five classes", "totalUses": 5, "validityCount": 1, "validityUnit": "year", "price": 50}).ID
	return map[string]string{
		"customer": customer, "transaction": create("/events/"+event+"/registrations", object{"customerId": customer}).TransactionID,
		"customerPass": create("/customer-passes", object{"customerId": customer, "passId": pass, "startDate": soon(0)[:10]}).ID,
	}
}
