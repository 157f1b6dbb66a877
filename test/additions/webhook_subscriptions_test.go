package additions

import "testing"

// testSubscriptionEvents checks the messages about subscriptions, except subscription.renewed, which needs a
// period to end.
func testSubscriptionEvents(t *testing.T, c *caller, b *inbox) {
	customer := c.customer(t, "Ada", "Byron")
	created := c.create(t, "/subscriptions", object{"customerId": customer, "planId": c.plan(t, nil)["id"]})
	id := text(created, "id")
	has(t, b.await(t, "subscription.created", id), object{"id": id, "customerId": customer, "status": "active", "amountDue": 40, "previous": nil, "period": nil})
	has(t, b.await(t, "subscription.payment_due", id), object{"amountDue": 40, "period.number": 1, "period.amountDue": 40, "previous": nil})
	c.do(t, path(id)+"/record-payment", object{"period": 1, "payment": object{"method": "CARD", "reference": "ch_1"}})
	has(t, b.await(t, "subscription.payment_recorded", id), object{
		"amountDue": 0, "period.paymentStatus": "paid", "period.payment.reference": "ch_1", "previous.amountDue": 40,
	})
	c.do(t, path(id)+"/pause", object{"firstDay": date(5), "reason": "Holiday"})
	has(t, b.await(t, "subscription.updated", id), object{"pause.firstDay": date(5), "previous.pause": nil, "status": "active"})
	c.do(t, path(id)+"/cancel", object{"when": "now", "reason": "Moving"})
	has(t, b.await(t, "subscription.ended", id), object{"status": "ended", "endReason": "cancelled", "previous.status": "active"})
}

// testMediaEvents checks the messages about media.
func testMediaEvents(t *testing.T, c *caller, b *inbox) {
	customer := c.customer(t, "Ada", "Byron")
	id := text(c.recording(t, "Calm", nil), "id")
	has(t, b.await(t, "media.published", id), object{"id": id, "status": "published", "previous": nil})
	for _, change := range b.awaitAll(t, "media.updated", id, 2) {
		if change["previous"] == nil {
			t.Errorf("a change without previous: %v", change)
		}
	}
	c.create(t, "/media-entitlements", object{"mediaId": id, "customerId": customer})
	c.Read(t, 200, put, path(id)+"/progress", object{"customerId": customer, "positionSeconds": 1, "completed": true})
	has(t, b.await(t, "media.completed", id), object{"id": id, "title": "Calm", "customerId": customer})
	c.delete(t, path(id))
	has(t, b.await(t, "media.deleted", id), object{"id": id, "status": "published"})
}

// testAppointmentEvents checks the messages about appointments.
func testAppointmentEvents(t *testing.T, c *caller, b *inbox) {
	kind := c.appointmentType(t, nil, c.staff(t, "Sam", nil))
	booked := c.appointment(t, kind, c.customer(t, "Ada", "Byron"), 6, "10:00", nil)
	id := text(booked, "id")
	b.shows(t, b.await(t, "appointment.booked", id), nil, booked)
	moved := c.do(t, path(id)+"/move", object{"localStart": date(6) + "T11:00:00"})
	b.shows(t, b.await(t, "appointment.moved", id), booked, moved)
	cancelled := c.do(t, path(id)+"/cancel", nil)
	b.shows(t, b.await(t, "appointment.cancelled", id), moved, cancelled)
}
