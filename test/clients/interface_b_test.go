package clients

import (
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// soon returns a time some days from now, in UTC.
func soon(days int) string {
	return time.Now().UTC().AddDate(0, 0, days).Truncate(time.Hour).Format(time.RFC3339)
}

// stepsOfB is a scenario that calls every operation of Interface B.
func stepsOfB(_ *testing.T, c *harness.Credentials) ([]step, map[string]string) {
	given := map[string]string{"apiKey": c.InterfaceB.APIKey, "apiSecret": c.InterfaceB.APISecret}
	steps := []step{
		{operation: "createToken", body: object{"apiKey": "$apiKey", "apiSecret": "$apiSecret"}, save: map[string]string{"accessToken": "token"}},
		// Customers.
		{
			operation: "createCustomer", status: 201, save: map[string]string{"customer": "id"}, header: object{"Idempotency-Key": "customer-1"},
			body: object{"firstName": "Zoë", "lastName": "Núñez", "email": "zoe@example.com", "mobile": "+44 20 7946 0000"},
		},
		{operation: "createCustomer", status: 201, save: map[string]string{"friend": "id"}, body: object{"firstName": "Ann", "lastName": "Lee", "email": "ann@example.com"}},
		{operation: "listCustomers", query: object{"perPage": 10, "sort": "-createdAt", "email": "zoe@example.com"}},
		{operation: "getCustomer", path: []string{"$customer"}},
		{operation: "updateCustomer", path: []string{"$customer"}, body: object{"lastName": "Núñez Pérez"}},
		{operation: "patchCustomer", path: []string{"$customer"}, body: object{"archived": false}},
		// Events.
		{
			operation: "createEvent", status: 201, save: map[string]string{"event": "id", "date": "dates.0.id", "option": "pricingOptions.0.id"},
			body: object{
				"title": "Morning yoga", "type": "class", "startsAt": soon(3), "duration": 60, "timezone": "Europe/London", "capacity": 12,
				"freeCancellationMinutes": 720, "pricingOptions": []object{{"name": "Drop-in", "price": 12.5, "currency": "GBP", "credits": 1, "taxRate": 20}},
			},
		},
		{operation: "listEvents", query: object{"type": "class", "status": "published", "startsFrom": soon(1), "startsBefore": soon(30)}},
		{operation: "getEvent", path: []string{"$event"}},
		{operation: "updateEvent", path: []string{"$event"}, body: object{"location": "Studio 2", "dates": []object{{"id": "$date", "capacity": 14}}}},
		{operation: "patchEvent", path: []string{"$event"}, body: object{"description": "Bring a mat."}},
		// Registrations of an event.
		{
			operation: "createRegistration", status: 201, path: []string{"$event"}, save: map[string]string{"registration": "id"},
			body: object{"customerId": "$friend", "spots": 2, "payment": object{"method": "CARD", "reference": "pi_1"}},
		},
		{operation: "listRegistrations", path: []string{"$event"}, query: object{"status": "confirmed", "customerId": "$friend"}},
		{operation: "getRegistration", path: []string{"$event", "$registration"}},
		{operation: "cancelRegistration", path: []string{"$event", "$registration"}},
		// Passes.
		{
			operation: "createPass", status: 201, save: map[string]string{"pass": "id"},
			body: object{"title": "Ten classes", "totalUses": 10, "validityCount": 3, "validityUnit": "month", "price": 99, "eligibleEventTypes": []any{"class"}},
		},
		{operation: "listPasses", query: object{"status": "active"}},
		{operation: "getPass", path: []string{"$pass"}},
		{operation: "updatePass", path: []string{"$pass"}, body: object{"description": "Valid for three months."}},
		{operation: "patchPass", path: []string{"$pass"}, body: object{"price": 95.5}},
		{
			operation: "createCustomerPass", status: 201, save: map[string]string{"customerPass": "id"},
			body: object{"customerId": "$customer", "passId": "$pass", "startDate": soon(0)[:10], "payment": object{"method": "CASH"}},
		},
		{operation: "listCustomerPasses", query: object{"customerId": "$customer", "status": "active"}},
		{operation: "getCustomerPass", path: []string{"$customerPass"}},
		{operation: "updateCustomerPass", path: []string{"$customerPass"}, body: object{"remainingUses": 9, "reason": "lost a voucher"}},
		{operation: "patchCustomerPass", path: []string{"$customerPass"}, body: object{"status": "paused"}},
		// The end.
		{operation: "deleteEvent", path: []string{"$event"}},
		{operation: "deleteCustomer", path: []string{"$customer"}},
	}
	return steps, given
}
