package additions

import (
	"testing"
	"time"
)

func testRegistrations(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
	later := c.event(t, object{"startsAt": in(5 * day), "freeCancellationMinutes": 720})
	soon := c.event(t, object{"startsAt": in(2 * time.Hour), "freeCancellationMinutes": 720})

	t.Run("a registration shows its outcomes", func(t *testing.T) {
		has(t, c.register(t, later, ada, object{"purchasedById": ben}), object{
			"status": "confirmed", "late": false, "creditsReturned": 0, "refundDue": 0, "refundedAmount": 0, "refundedAt": nil, "attendance": "unknown",
			"pricingOptionId": at(later, "pricingOptions.0.id"), "customerId": ada, "purchasedById": ben, "totalPaid": 40,
		})
	})
	t.Run("the list of all events can be filtered", func(t *testing.T) {
		c := p.newCaller(t)
		ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
		later, soon := c.event(t, object{"startsAt": in(5 * day)}), c.event(t, object{"startsAt": in(2 * day)})
		mine := text(c.register(t, later, ada, nil), "id")
		gift := text(c.register(t, soon, ada, object{"purchasedById": ben}), "id")
		gone := text(c.register(t, soon, ben, nil), "id")
		c.do(t, path(gone)+"/cancel", nil)
		c.do(t, path(mine)+"/attendance", object{"attendance": "attended"})
		for filter, want := range map[string][]string{
			"": {mine, gift, gone}, "customerId=" + ada: {mine, gift}, "purchasedById=" + ben: {gift, gone},
			"eventId=" + text(soon, "id"): {gift, gone}, "eventDateId=" + text(later, "dates.0.id"): {mine},
			"status=cancelled": {gone}, "status=confirmed": {mine, gift}, "attendance=attended": {mine}, "attendance=unknown": {gift, gone},
			"startsFrom=" + in(4*day): {mine}, "startsBefore=" + in(4*day): {gift, gone}, "customerId=" + ben + "&status=confirmed": {},
		} {
			c.lists(t, "/registrations?"+filter, want...)
		}
	})

	for _, tt := range []struct {
		name   string
		event  object
		pass   bool
		cancel object
		want   object
	}{
		{"in time", later, false, nil, object{"late": false, "refundDue": 40, "creditsReturned": 0}},
		{"in time, paid by pass", later, true, nil, object{"late": false, "refundDue": 0, "creditsReturned": 1}},
		{"late", soon, false, nil, object{"late": true, "refundDue": 0, "creditsReturned": 0}},
		{"late, paid by pass", soon, true, nil, object{"late": true, "refundDue": 0, "creditsReturned": 0}},
		{"late, with the policy waived", soon, false, object{"waivePolicy": true}, object{"refundDue": 40, "creditsReturned": 0}},
		{"late, paid by pass, with the policy waived", soon, true, object{"waivePolicy": true}, object{"refundDue": 0, "creditsReturned": 1}},
	} {
		t.Run("a cancellation "+tt.name, func(t *testing.T) {
			payment, pass := object{}, object(nil)
			if tt.pass {
				pass = c.give(t, c.passType(t, nil), ada, nil)
				payment = byPass(pass)
			}
			id := text(c.register(t, tt.event, ada, payment), "id")
			preview := c.get(t, path(id)+"/cancellation-preview")
			if tt.cancel == nil {
				has(t, preview, tt.want)
			}
			has(t, c.get(t, path(id)), object{"status": "confirmed"})
			cancelled := c.do(t, path(id)+"/cancel", with(object{"reason": "A cold."}, tt.cancel))
			has(t, cancelled, with(tt.want, object{"status": "cancelled", "cancellationReason": "A cold."}))
			if tt.pass {
				has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 4 + cancelled["creditsReturned"].(float64)})
			}
			c.refuses(t, "ALREADY_CANCELLED", post, path(id)+"/cancel", nil)
			c.refuses(t, "ALREADY_CANCELLED", get, path(id)+"/cancellation-preview", nil)
		})
	}
	t.Run("refunds", func(t *testing.T) { testRefunds(t, c, ada, later, soon) })
	t.Run("attendance can be recorded and undone", func(t *testing.T) {
		id := text(c.register(t, later, ada, nil), "id")
		for _, attendance := range []string{"attended", "no_show", "unknown"} {
			has(t, c.do(t, path(id)+"/attendance", object{"attendance": attendance}), object{"attendance": attendance})
		}
		c.refuses(t, "VALIDATION_ERROR", post, path(id)+"/attendance", object{"attendance": "checked_in"})
		c.refuses(t, "VALIDATION_ERROR", post, path(id)+"/attendance", object{})
		c.do(t, path(id)+"/cancel", nil)
		c.refuses(t, "ALREADY_CANCELLED", post, path(id)+"/attendance", object{"attendance": "attended"})
	})
}

func testRefunds(t *testing.T, c *caller, ada string, later, soon object) {
	a := c.interfaceA(t)
	refunded := func(t *testing.T, registration object) any {
		t.Helper()
		return at(a.Read(t, 200, get, "/customer/"+ada+"/booking/"+text(registration, "transactionId"), nil), "data.bookings.0.is_refunded")
	}
	t.Run("partial refunds add up to the price", func(t *testing.T) {
		registration := c.register(t, later, ada, nil)
		id := text(registration, "id")
		c.do(t, path(id)+"/cancel", nil)
		if refunded(t, registration) != false {
			t.Error("is_refunded is true before the first refund")
		}
		part := c.do(t, path(id)+"/refund", object{"amount": 15.5})
		has(t, part, object{"refundedAmount": 15.5, "refundDue": 24.5})
		if text(part, "refundedAt") == "" || refunded(t, registration) != true {
			t.Errorf("after the first refund: %v", part)
		}
		for _, amount := range []any{24.51, 0, -1, 1.234, "1"} {
			c.Send(t, 400, post, path(id)+"/refund", object{"amount": amount})
		}
		has(t, c.do(t, path(id)+"/refund", nil), object{"refundedAmount": 40, "refundDue": 0})
		c.refuses(t, "ALREADY_REFUNDED", post, path(id)+"/refund", nil)
		c.refuses(t, "ALREADY_REFUNDED", post, path(id)+"/refund", object{"amount": 1})
	})
	t.Run("if nothing is due, all that was paid is refunded", func(t *testing.T) {
		id := text(c.register(t, soon, ada, nil), "id")
		has(t, c.do(t, path(id)+"/cancel", nil), object{"refundDue": 0})
		has(t, c.do(t, path(id)+"/refund", nil), object{"refundedAmount": 40, "refundDue": 0})
	})
	t.Run("a refund does not cancel", func(t *testing.T) {
		id := text(c.register(t, later, ada, nil), "id")
		has(t, c.do(t, path(id)+"/refund", object{"amount": 10}), object{"status": "confirmed", "refundedAmount": 10})
		has(t, c.do(t, path(id)+"/cancel", nil), object{"status": "cancelled", "refundDue": 30})
	})
	t.Run("credits go back to the pass once", func(t *testing.T) {
		pass := c.give(t, c.passType(t, nil), ada, nil)
		id := text(c.register(t, later, ada, byPass(pass)), "id")
		has(t, c.do(t, path(id)+"/refund", nil), object{"creditsReturned": 1})
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 5})
		c.refuses(t, "ALREADY_REFUNDED", post, path(id)+"/refund", nil)
	})
}
