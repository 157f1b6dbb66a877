package clients

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// soon returns a time some days from now, in UTC.
func soon(days int) string {
	return time.Now().UTC().AddDate(0, 0, days).Truncate(time.Hour).Format(time.RFC3339)
}

// stepsOfB is a scenario that calls every operation of Interface B, with a key in test mode.
func stepsOfB(t *testing.T, c *harness.Credentials) ([]step, map[string]string) {
	given := map[string]string{"apiKey": c.InterfaceB.APIKey, "apiSecret": c.InterfaceB.APISecret}
	given["film"], given["arrived"] = newStudio(t, c).film()
	return slices.Concat(bookingSteps(), mediaSteps(), subscriptionSteps(), appointmentSteps(), lastSteps()), given
}

// bookingSteps calls the operations of customers, events, registrations, passes, webhooks and the request
// log.
func bookingSteps() []step {
	return []step{
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
		{operation: "acceptOffer", path: []string{"$entry"}, body: object{"payment": object{"method": "CASH"}}, save: map[string]string{"seat": "registrations.0.id"}},
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
		{operation: "swapRegistrations", path: []string{"$mine"}, body: object{"registrationId": "$seat", "waivePolicy": false}},
		{operation: "swapRegistrations", path: []string{"$seat"}, body: object{"registrationId": "$mine", "waivePolicy": true}},
		{operation: "previewMove", path: []string{"$theirs"}, query: object{"spots": 1, "keepPrice": false}},
		{operation: "moveRegistration", path: []string{"$theirs"}, body: object{"spots": 3, "payment": object{"method": "CASH", "reference": "till 1"}}},
		{operation: "transferRegistration", path: []string{"$theirs"}, body: object{"customerId": "$customer", "buyerKeepsControl": true}},
		{operation: "transferRegistration", path: []string{"$theirs"}, body: object{"customerId": "$friend", "buyerKeepsControl": true}},
		{operation: "listRegistrationHistory", path: []string{"$theirs"}, query: object{"perPage": 5}},
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

		{operation: "getTakingsReport", query: object{"from": soon(-30)[:10], "to": soon(0)[:10], "groupBy": "product", "currency": "GBP"}},
		{operation: "getAttendanceReport", query: object{"from": soon(-30)[:10], "to": soon(30)[:10], "groupBy": "weekday"}},
		{operation: "getCreditsReport", query: object{"from": soon(-30)[:10], "to": soon(0)[:10], "currency": "GBP"}},
		{operation: "getCustomersReport", query: object{"from": soon(-30)[:10], "to": soon(0)[:10], "period": "week"}},
		{operation: "listExpiringPasses", query: object{"from": soon(0)[:10], "to": soon(60)[:10]}},
	}
}

// mediaSteps calls the operations of media. The parts of the upload $arrived of $film have arrived.
func mediaSteps() []step {
	return []step{
		{operation: "createMediaCollection", status: 201, save: map[string]string{"collection": "id"}, body: object{"title": "Mornings", "description": "Before work."}},
		{operation: "createMediaCollection", status: 201, save: map[string]string{"shelf": "id"}, body: object{"title": "Evenings"}},
		{operation: "listMediaCollections", query: object{"sort": "-updatedAt"}},
		{operation: "getMediaCollection", path: []string{"$collection"}},
		{operation: "updateMediaCollection", path: []string{"$collection"}, body: object{"title": "Early mornings"}},
		{operation: "patchMediaCollection", path: []string{"$collection"}, body: object{"description": ""}},
		{
			operation: "createMediaItem", status: 201, save: map[string]string{"draft": "id"},
			body: object{"title": "Warming up", "kind": "video", "durationSeconds": 600, "tags": []any{"yoga"}, "collectionIds": []any{"$collection"}, "reference": "film-1"},
		},
		{operation: "listMedia", query: object{"status": "draft", "kind": "video", "collectionId": "$collection", "tag": "yoga"}},
		{operation: "createUpload", status: 201, path: []string{"$draft"}, save: map[string]string{"upload": "id"}, body: object{"fileName": "warming-up.mp4", "contentType": "video/mp4", "size": 1000}},
		{operation: "getUpload", path: []string{"$draft", "$upload"}},
		{operation: "cancelUpload", path: []string{"$draft", "$upload"}},
		{operation: "completeUpload", path: []string{"$film", "$arrived"}},
		{operation: "getMediaItem", path: []string{"$film"}},
		{operation: "updateMediaItem", path: []string{"$film"}, body: object{"status": "published", "collectionIds": []any{"$collection"}}},
		{operation: "patchMediaItem", path: []string{"$film"}, body: object{"tags": []any{"poster"}, "durationSeconds": nil}},
		{operation: "createMediaEntitlement", status: 201, save: map[string]string{"entitlement": "id"}, body: object{"mediaId": "$film", "customerId": "$friend", "lastDay": soon(30)[:10]}},
		{operation: "listMediaEntitlements", query: object{"mediaId": "$film", "customerId": "$friend"}},
		{operation: "getMediaEntitlement", path: []string{"$entitlement"}},
		{operation: "listCustomerMedia", path: []string{"$friend"}},
		{operation: "getCustomerMedia", path: []string{"$friend", "$film"}},
		{operation: "createPlaybackLink", status: 201, path: []string{"$film"}, body: object{"customerId": "$friend", "minutes": 30}},
		{operation: "recordProgress", path: []string{"$film"}, body: object{"customerId": "$friend", "positionSeconds": 12, "completed": true}},
	}
}

// subscriptionSteps calls the operations of plans and subscriptions.
func subscriptionSteps() []step {
	return []step{
		{
			operation: "createPlan", status: 201, save: map[string]string{"plan": "id"}, body: object{
				"title": "Eight classes a month", "price": 64, "interval": "month", "bookings": "credits", "credits": 8, "maxRollover": 4,
				"eligibleEventTypes": []any{"class"}, "mediaCollectionIds": []any{"$collection"},
			},
		},
		{operation: "createPlan", status: 201, save: map[string]string{"larger": "id"}, body: object{"title": "All classes", "price": 110, "interval": "month", "bookings": "unlimited"}},
		{operation: "listPlans", query: object{"status": "active"}},
		{operation: "getPlan", path: []string{"$plan"}},
		{operation: "updatePlan", path: []string{"$plan"}, body: object{"description": "For two classes a week."}},
		{operation: "patchPlan", path: []string{"$plan"}, body: object{"maxRollover": 2}},
		{operation: "getSubscriptionSettings"},
		{operation: "updateSubscriptionSettings", body: object{"pastDueAfterDays": 5, "graceDays": 7, "reminderDays": []any{0, 5}, "endAfterDays": 30}},
		{
			operation: "createSubscription", status: 201, save: map[string]string{"subscription": "id"},
			body: object{"customerId": "$customer", "planId": "$plan", "payment": object{"method": "CARD", "reference": "pi_3", "amount": 64}},
		},
		{operation: "createSubscription", status: 201, save: map[string]string{"unpaid": "id"}, body: object{"customerId": "$friend", "planId": "$plan", "startDate": soon(0)[:10]}},
		{operation: "listSubscriptions", query: object{"customerId": "$customer", "planId": "$plan", "status": "active"}},
		{operation: "getSubscription", path: []string{"$subscription"}},
		{operation: "listSubscriptionPeriods", path: []string{"$subscription"}, query: object{"sort": "-createdAt"}},
		{operation: "pauseSubscription", path: []string{"$subscription"}, body: object{"firstDay": soon(5)[:10], "resumesOn": soon(12)[:10], "reason": "Holiday"}},
		{operation: "resumeSubscription", path: []string{"$subscription"}, body: object{}},
		{operation: "changePlan", path: []string{"$subscription"}, body: object{"planId": "$larger", "when": "period_end"}},
		{operation: "withdrawPlanChange", path: []string{"$subscription"}},
		{operation: "previewPlanChange", path: []string{"$subscription"}, query: object{"planId": "$larger", "when": "now"}},
		{operation: "changePlan", path: []string{"$subscription"}, body: object{"planId": "$larger", "when": "now", "payment": object{"method": "CASH"}}},
		{operation: "cancelSubscription", path: []string{"$subscription"}, body: object{"when": "period_end", "reason": "Moving away"}},
		{operation: "withdrawCancellation", path: []string{"$subscription"}},
		{operation: "previewSubscriptionCancellation", path: []string{"$subscription"}, query: object{"when": "now", "prorate": true}},
		{operation: "cancelSubscription", path: []string{"$subscription"}, body: object{"when": "now", "prorate": true}},
		{operation: "recordRefund", path: []string{"$subscription"}, body: object{"reference": "re_1"}},
		{operation: "listAccountEntries", path: []string{"$subscription"}, query: object{"perPage": 10}},
		{operation: "recordPaymentFailure", path: []string{"$unpaid"}, body: object{"period": 1, "reason": "The card was declined."}},
		{operation: "recordPayment", path: []string{"$unpaid"}, body: object{"period": 1, "payment": object{"method": "BANK_TRANSFER", "reference": "2026-11", "amount": 64}}},
		{operation: "createSubscription", status: 201, save: map[string]string{"waived": "id"}, body: object{"customerId": "$friend", "planId": "$larger", "skipTrial": true}},
		{operation: "waivePayment", path: []string{"$waived"}, body: object{"period": 1, "reason": "A present."}},
	}
}

// lastSteps deletes what the steps before have made.
func lastSteps() []step {
	return []step{
		{operation: "createCalendar", status: 201, save: map[string]string{"calendar": "id"}, body: object{"kind": "customer", "customerId": "$customer"}},
		{operation: "createCalendar", status: 201, body: object{"kind": "staff", "staffId": "$person"}},
		{operation: "listCalendars", query: object{"customerId": "$customer"}},
		{operation: "getCalendar", path: []string{"$calendar"}},
		{operation: "deleteCalendar", path: []string{"$calendar"}},
		{operation: "deleteMediaEntitlement", path: []string{"$entitlement"}},
		{operation: "deleteMediaItem", path: []string{"$draft"}},
		{operation: "deleteMediaCollection", path: []string{"$shelf"}},
		{operation: "cancelRegistrationById", path: []string{"$mine"}},
		{operation: "deleteEvent", path: []string{"$event"}},
		{operation: "deleteCustomer", path: []string{"$customer"}},
		// The test mode.
		{operation: "getTestClock"},
		{operation: "advanceTestClock", body: object{"to": soon(90)}},
		{operation: "resetTestData"},
	}
}
