package additions

import (
	"testing"
	"time"
)

func testBookingRules(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")

	for _, tt := range []struct {
		name  string
		rules object
		code  string // "": the booking is accepted
	}{
		{"before it opens", object{"opensAt": in(time.Hour)}, "BOOKING_NOT_OPEN"},
		{"after it opens", object{"opensAt": in(-time.Hour)}, ""},
		{"before it closes", object{"closesAt": in(time.Hour)}, ""},
		{"after it closes", object{"closesAt": in(-time.Hour)}, "BOOKING_CLOSED"},
		{"with less than the minimum notice", object{"minimumNoticeMinutes": 8 * 24 * 60}, "BOOKING_CLOSED"},
		{"with more than the minimum notice", object{"minimumNoticeMinutes": 6 * 24 * 60}, ""},
		{"too far ahead", object{"maximumAdvanceDays": 6}, "BOOKING_NOT_OPEN"},
		{"not too far ahead", object{"maximumAdvanceDays": 8}, ""},
	} {
		t.Run("a booking "+tt.name, func(t *testing.T) {
			event := c.event(t, object{"bookingRules": tt.rules})
			body := object{"customerId": ada}
			if tt.code == "" {
				c.register(t, event, ada, nil)
				return
			}
			c.refuses(t, tt.code, post, path(text(event, "id"))+"/registrations", body)
			line := object{"purchasedById": ada, "lines": []object{{"eventDateId": text(event, "dates.0.id")}}}
			c.refuses(t, tt.code, post, "/transactions", line)
			c.refuses(t, tt.code, post, "/holds", line)
		})
	}
	t.Run("one booking per customer and date, where the event asks for it", func(t *testing.T) {
		event := c.event(t, with(recurs("FREQ=WEEKLY;COUNT=2"), object{"bookingRules": object{"oncePerCustomer": true}}))
		first, second := object{"eventDateId": text(event, "dates.0.id")}, object{"eventDateId": text(event, "dates.1.id")}
		booked := c.register(t, event, ada, first)
		c.refuses(t, "ALREADY_BOOKED", post, path(text(event, "id"))+"/registrations", with(first, object{"customerId": ada}))
		c.refuses(t, "ALREADY_BOOKED", post, "/transactions", object{"purchasedById": ben, "lines": []object{with(first, object{"customerId": ada})}})
		c.register(t, event, ada, second)
		c.register(t, event, ben, first)
		c.do(t, path(text(booked, "id"))+"/cancel", nil)
		c.register(t, event, ada, first)
	})
	t.Run("as many bookings as wanted, where it does not", func(t *testing.T) {
		event := c.event(t, nil)
		c.register(t, event, ada, nil)
		c.register(t, event, ada, nil)
	})
	t.Run("a whole course is enrolled in at one price", func(t *testing.T) {
		course := c.event(t, with(recurs("FREQ=WEEKLY;COUNT=4"), object{"type": "course", "pricingOptions": []object{
			{"name": "Course", "price": 100, "currency": "GBP", "wholeCourse": true},
		}}))
		enrolment := c.create(t, "/transactions", object{
			"purchasedById": ada, "lines": []object{{"eventId": course["id"], "pricingOptionId": text(course, "pricingOptions.0.id")}},
		})
		has(t, enrolment, object{"total": 100})
		registrations, paid := items(t, enrolment, "registrations"), 0.0
		for _, r := range registrations {
			paid += r["totalPaid"].(float64)
		}
		if len(registrations) != 4 || paid != 100 {
			t.Errorf("%d registrations for %v", len(registrations), paid)
		}
		has(t, c.get(t, path(text(course, "id"))), object{"spotsTaken": 4})
	})
	t.Run("rules can be read, changed and removed", func(t *testing.T) {
		rules := object{"opensAt": in(-time.Hour), "closesAt": in(day), "minimumNoticeMinutes": 30, "maximumAdvanceDays": 90, "oncePerCustomer": true}
		event := c.event(t, object{"bookingRules": rules})
		has(t, event, object{"bookingRules": rules})
		has(t, c.change(t, text(event, "id"), object{"title": "Glaze"}), object{"bookingRules": rules})
		changed := with(rules, object{"minimumNoticeMinutes": 60, "oncePerCustomer": false})
		has(t, c.change(t, text(event, "id"), object{"bookingRules": changed}), object{"bookingRules": changed})
		c.change(t, text(event, "id"), object{"bookingRules": object{}})
		c.register(t, event, ada, nil)
		c.register(t, event, ada, nil)
	})
}
