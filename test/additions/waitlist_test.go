package additions

import "testing"

func testWaitlist(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben, cleo := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King"), c.customer(t, "Cleo", "Day")
	// full returns a date with one spot, which Ada has booked, and her registration.
	full := func(t *testing.T) (dateID, registration string) {
		t.Helper()
		event := c.event(t, object{"capacity": 1})
		return text(event, "dates.0.id"), text(c.register(t, event, ada, nil), "id")
	}
	join := func(t *testing.T, dateID, customer string, more object) string {
		t.Helper()
		return text(c.create(t, path(dateID)+"/waitlist", with(object{"customerId": customer}, more)), "id")
	}

	t.Run("a customer can join the waitlist of a full date, once", func(t *testing.T) {
		free := c.event(t, nil)
		c.refuses(t, "EVENT_NOT_FULL", post, path(text(free, "dates.0.id"))+"/waitlist", object{"customerId": ben})
		dateID, _ := full(t)
		entry := join(t, dateID, ben, nil)
		has(t, c.get(t, path(entry)), object{"status": "waiting", "eventDateId": dateID, "customerId": ben, "spots": 1, "autoBook": false, "passedOver": nil, "holdId": nil})
		c.refuses(t, "ALREADY_WAITING", post, path(dateID)+"/waitlist", object{"customerId": ben})
	})
	t.Run("the list can be filtered", func(t *testing.T) {
		dateID, _ := full(t)
		first, second := join(t, dateID, ben, nil), join(t, dateID, cleo, nil)
		c.delete(t, path(second))
		for filter, want := range map[string][]string{
			"": {first, second}, "&customerId=" + cleo: {second}, "&status=waiting": {first}, "&status=left": {second}, "&status=offered": {},
		} {
			c.lists(t, "/waitlist-entries?eventDateId="+dateID+filter, want...)
		}
	})
	t.Run("a spot that becomes free is offered and can be accepted", func(t *testing.T) {
		dateID, registration := full(t)
		entry := join(t, dateID, ben, nil)
		c.refuses(t, "NOT_OFFERED", post, path(entry)+"/accept", nil)
		c.do(t, path(registration)+"/cancel", nil)
		offered := c.becomes(t, entry, object{"status": "offered"})
		if text(offered, "offerExpiresAt") == "" || text(offered, "holdId") == "" {
			t.Errorf("%v", offered)
		}
		has(t, c.get(t, path(text(offered, "holdId"))), object{"status": "active", "purchasedById": ben, "lines.0.eventDateId": dateID})
		bought := c.do(t, path(entry)+"/accept", by("CASH"))
		has(t, bought, object{"purchasedById": ben, "paymentMethod": "CASH", "registrations.0.eventDateId": dateID, "registrations.0.customerId": ben})
		has(t, c.get(t, path(entry)), object{"status": "booked", "transactionId": bought["id"]})
		c.refuses(t, "NOT_OFFERED", post, path(entry)+"/accept", nil)
	})
	t.Run("autoBook books at once, with the payment of the entry", func(t *testing.T) {
		dateID, registration := full(t)
		pass := c.give(t, c.passType(t, nil), ben, nil)
		entry := join(t, dateID, ben, with(byPass(pass), object{"autoBook": true}))
		c.do(t, path(registration)+"/cancel", nil)
		booked := c.becomes(t, entry, object{"status": "booked"})
		has(t, c.get(t, path(text(booked, "transactionId"))), object{"purchasedById": ben, "paymentMethod": "PASS", "registrations.0.eventDateId": dateID})
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 4})
	})
	t.Run("an entry that cannot be booked is passed over, and says why", func(t *testing.T) {
		dateID, registration := full(t)
		pass := c.give(t, c.passType(t, object{"totalUses": 1}), ben, nil)
		entry, next := join(t, dateID, ben, with(byPass(pass), object{"autoBook": true})), join(t, dateID, cleo, nil)
		c.change(t, text(pass, "id"), object{"remainingUses": 0})
		c.do(t, path(registration)+"/cancel", nil)
		c.becomes(t, next, object{"status": "offered"})
		passed := c.get(t, path(entry))
		has(t, passed, object{"status": "waiting", "passedOver.reason": "PASS_EXHAUSTED"})
		if text(passed, "passedOver.at") == "" {
			t.Errorf("%v", passed)
		}
	})
	t.Run("an entry that leaves makes way for the next", func(t *testing.T) {
		dateID, registration := full(t)
		entry, next := join(t, dateID, ben, nil), join(t, dateID, cleo, nil)
		c.do(t, path(registration)+"/cancel", nil)
		c.becomes(t, entry, object{"status": "offered"})
		has(t, c.delete(t, path(entry)), object{"id": entry, "deleted": true, "status": "left"})
		has(t, c.get(t, path(entry)), object{"status": "left"})
		c.becomes(t, next, object{"status": "offered"})
		c.refuses(t, "WAITLIST_ENDED", remove, path(entry), nil)
	})
}
