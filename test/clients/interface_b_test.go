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

// stepsOfB is a scenario that calls every operation of Interface B, with a key in test mode.
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
		// Event dates. The small event has one space, which a hold takes.
		{
			operation: "createEvent", status: 201, save: map[string]string{"small": "id", "smallDate": "dates.0.id", "smallOption": "pricingOptions.0.id"},
			body: object{
				"title": "Clay for two", "type": "workshop", "startsAt": soon(6), "duration": 120, "capacity": 2,
				"bookingRules":   object{"minimumNoticeMinutes": 60, "maximumAdvanceDays": 90, "oncePerCustomer": false},
				"pricingOptions": []object{{"name": "Seat", "price": 40, "currency": "GBP"}},
			},
		},
		{operation: "addEventDate", status: 201, path: []string{"$small"}, body: object{"startsAt": soon(13), "duration": 90, "capacity": 5}, save: map[string]string{"second": "id"}},
		{operation: "listEventDates", query: object{"startsFrom": soon(1), "startsBefore": soon(20), "type": "workshop", "available": true}},
		{operation: "getEventDate", path: []string{"$smallDate"}},
		{operation: "updateEventDate", path: []string{"$smallDate"}, body: object{"duration": 100}},
		{operation: "patchEventDate", path: []string{"$smallDate"}, body: object{"duration": 110}},
		{operation: "cancelEventDate", path: []string{"$second"}, body: object{"reason": "The kiln is broken."}},
		// Holds and the waitlist.
		{
			operation: "createHold", status: 201, save: map[string]string{"hold": "id"},
			body: object{"purchasedById": "$customer", "minutes": 10, "lines": []object{{"eventDateId": "$smallDate", "spots": 2}}},
		},
		{operation: "getHold", path: []string{"$hold"}},
		{
			operation: "joinWaitlist", status: 201, path: []string{"$smallDate"}, save: map[string]string{"entry": "id"},
			body: object{"customerId": "$friend", "spots": 1, "autoBook": false},
		},
		{operation: "listWaitlistEntries", query: object{"eventDateId": "$smallDate", "status": "waiting"}},
		{operation: "deleteHold", path: []string{"$hold"}},
		{operation: "getWaitlistEntry", path: []string{"$entry"}},
		{operation: "acceptOffer", path: []string{"$entry"}, body: object{"payment": object{"method": "CASH"}}},
		{
			operation: "createHold", status: 201, save: map[string]string{"paid": "id"},
			body: object{"purchasedById": "$customer", "lines": []object{{"eventDateId": "$smallDate", "pricingOptionId": "$smallOption", "spots": 1}}},
		},
		{operation: "confirmHold", path: []string{"$paid"}, body: object{"payment": object{"method": "BANK_TRANSFER", "reference": "2026-11"}}},
		{
			operation: "joinWaitlist", status: 201, path: []string{"$smallDate"}, save: map[string]string{"leaver": "id"},
			body: object{"customerId": "$customer", "autoBook": true, "payment": object{"method": "ONLINE"}},
		},
		{operation: "deleteWaitlistEntry", path: []string{"$leaver"}},
		// Transactions and registrations of all events.
		{
			operation: "createTransaction", status: 201, save: map[string]string{"transaction": "id", "mine": "registrations.0.id", "theirs": "registrations.1.id"},
			body: object{
				"purchasedById": "$customer", "payment": object{"method": "CARD", "reference": "pi_2"},
				"lines": []object{{"eventDateId": "$date", "spots": 1}, {"eventDateId": "$date", "customerId": "$friend", "pricingOptionId": "$option", "spots": 2}},
			},
		},
		{operation: "listTransactions", query: object{"perPage": 5, "sort": "-createdAt"}},
		{operation: "getTransaction", path: []string{"$transaction"}},
		{operation: "listAllRegistrations", query: object{"customerId": "$friend", "startsFrom": soon(0), "status": "confirmed", "attendance": "unknown"}},
		{operation: "getRegistrationById", path: []string{"$mine"}},
		{operation: "recordAttendance", path: []string{"$mine"}, body: object{"attendance": "attended"}},
		{operation: "previewCancellation", path: []string{"$theirs"}},
		{operation: "cancelRegistrationById", path: []string{"$theirs"}, body: object{"reason": "A cold.", "waivePolicy": true}},
		{operation: "refundRegistration", path: []string{"$theirs"}, body: object{"amount": 5}},
		{operation: "refundRegistration", path: []string{"$theirs"}, body: object{}},
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
		{operation: "listLedger", path: []string{"$customerPass"}, query: object{"sort": "-createdAt"}},
		{
			operation: "createPass", status: 201,
			body: object{"title": "All you can take", "unlimitedUses": true, "neverExpires": true, "price": 900},
		},
		{operation: "listCustomers", query: object{"q": "nunez"}},
		// Discount codes.
		{
			operation: "createDiscountCode", status: 201, save: map[string]string{"code": "id"},
			body: object{"code": "SPRING-26", "percent": 12.5, "startsAt": soon(0), "endsAt": soon(60), "maxUses": 100, "eventIds": []any{"$small"}},
		},
		{operation: "listDiscountCodes", query: object{"sort": "updatedAt"}},
		{operation: "getDiscountCode", path: []string{"$code"}},
		{operation: "updateDiscountCode", path: []string{"$code"}, body: object{"maxUses": 200}},
		{operation: "patchDiscountCode", path: []string{"$code"}, body: object{"status": "disabled"}},
		// Webhooks. The host does not exist, so the test delivery fails.
		{
			operation: "createWebhookEndpoint", status: 201, save: map[string]string{"endpoint": "id"},
			body: object{"url": "https://receiver.invalid/webhooks", "events": []any{"registration.cancelled", "waitlist.offered"}, "description": "CRM"},
		},
		{operation: "listWebhookEndpoints"},
		{operation: "getWebhookEndpoint", path: []string{"$endpoint"}},
		{operation: "updateWebhookEndpoint", path: []string{"$endpoint"}, body: object{"description": "The CRM"}},
		{operation: "patchWebhookEndpoint", path: []string{"$endpoint"}, body: object{"events": []any{}}},
		{operation: "getWebhookSecret", path: []string{"$endpoint"}},
		{operation: "rotateWebhookSecret", path: []string{"$endpoint"}, body: object{"force": true}},
		{operation: "sendWebhookTest", path: []string{"$endpoint"}, body: object{"event": "registration.cancelled"}, save: map[string]string{"delivery": "deliveryId"}},
		{operation: "listWebhookDeliveries", query: object{"endpointId": "$endpoint", "status": "failed", "since": soon(-1)}},
		{operation: "getWebhookDelivery", path: []string{"$delivery"}},
		{operation: "replayWebhookDelivery", path: []string{"$delivery"}},
		{operation: "replayWebhookDeliveries", body: object{"endpointId": "$endpoint", "status": "failed", "since": soon(-1)}},
		{operation: "listWebhookMessages", query: object{"event": "registration.cancelled", "since": soon(-1)}},
		{operation: "deleteWebhookEndpoint", path: []string{"$endpoint"}},
		// The request log.
		{operation: "listRequests", query: object{"interface": "b", "method": "POST", "status": "2xx", "since": soon(-1)}, save: map[string]string{"request": "requests.0.id"}},
		{operation: "getRequest", path: []string{"$request"}},
		// The end.
		{operation: "cancelRegistrationById", path: []string{"$mine"}},
		{operation: "deleteEvent", path: []string{"$event"}},
		{operation: "deleteCustomer", path: []string{"$customer"}},
		// The test mode.
		{operation: "getTestClock"},
		{operation: "advanceTestClock", body: object{"to": soon(90)}},
		{operation: "resetTestData"},
	}
	return steps, given
}
