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
		{operation: "listSubscriptions", path: []string{"$customer"}, query: object{"status": "active"}},
		{operation: "getSubscription", path: []string{"$customer", "$subscription"}},
		{operation: "listAppointments", path: []string{"$customer"}, query: object{"page": 0, "pageSize": 10}},
		{operation: "getAppointment", path: []string{"$customer", "$appointment"}},
		{operation: "listMedia", path: []string{"$customer"}, query: object{"page": 0, "pageSize": 10}},
		{operation: "getMedia", path: []string{"$customer", "$film"}},
		{operation: "updateNote", path: []string{"$customer", "$note"}, body: object{"body": "Prefers the back row.", "pinned": false}},
		{operation: "deleteNote", path: []string{"$customer", "$note"}},
	}, given
}

// purchases makes a customer who has booked an event, holds a pass, has a subscription, can play an item
// and has booked an appointment.
func purchases(t *testing.T, c *harness.Credentials) map[string]string {
	t.Helper()
	s := newStudio(t, c)
	customer := s.create("/customers", object{"firstName": "Zoë", "lastName": "Núñez", "email": "zoe@example.com"}).ID
	// The identifiers of the event are the newest ones of their kinds, so that they belong together.
	person := s.create("/staff", object{"name": "Sam"}).ID
	kind := s.create("/appointment-types", object{"title": "Massage", "timezone": "UTC", "lengths": []int{60}, "staffIds": []string{person}}).ID
	appointment := s.create("/appointments", object{
		"appointmentTypeId": kind, "staffId": person, "startsAt": soon(6), "customerId": customer, "waiveHours": true,
	}).ID
	event := s.create("/events", object{"title": "Pottery", "startsAt": soon(5), "duration": 90, "pricingOptions": []object{{"name": "Seat", "price": 20}}}).ID
	pass := s.create("/passes", object{"title": "Five classes", "totalUses": 5, "validityCount": 1, "validityUnit": "year", "price": 50}).ID
	plan := s.create("/plans", object{"title": "Eight classes a month", "price": 64, "interval": "month", "credits": 8}).ID
	film, upload := s.film()
	s.do(http.MethodPost, "/media/"+film+"/uploads/"+upload+"/complete", object{})
	s.do(http.MethodPatch, "/media/"+film, object{"status": "published"})
	s.create("/media-entitlements", object{"mediaId": film, "customerId": customer})
	return map[string]string{
		"appointment": appointment, "customer": customer, "transaction": s.create("/events/"+event+"/registrations", object{"customerId": customer}).TransactionID,
		"customerPass": s.create("/customer-passes", object{"customerId": customer, "passId": pass, "startDate": soon(0)[:10]}).ID,
		"subscription": s.create("/subscriptions", object{"customerId": customer, "planId": plan, "payment": object{"method": "CASH"}}).ID, "film": film, "upload": upload,
	}
}
