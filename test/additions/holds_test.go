package additions

import (
	"strings"
	"testing"
	"time"
)

func testHolds(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	event := c.event(t, nil)
	dateID := text(event, "dates.0.id")
	hold := func(t *testing.T, more object) object {
		t.Helper()
		return c.create(t, "/holds", with(object{"purchasedById": ada, "lines": []object{{"eventDateId": dateID, "spots": 2}}}, more))
	}
	minutes := func(t *testing.T, hold object) float64 {
		t.Helper()
		created, err := time.Parse(time.RFC3339, text(hold, "createdAt"))
		if err != nil {
			t.Fatal(err)
		}
		expires, err := time.Parse(time.RFC3339, text(hold, "expiresAt"))
		if err != nil {
			t.Fatal(err)
		}
		return expires.Sub(created).Round(time.Minute).Minutes()
	}

	t.Run("a hold takes spots until it is deleted", func(t *testing.T) {
		made := hold(t, nil)
		id := text(made, "id")
		has(t, made, object{"status": "active", "purchasedById": ada, "transactionId": nil, "appointmentId": nil, "lines.0.eventDateId": dateID, "lines.0.spots": 2, "total": 80})
		if !strings.HasPrefix(id, "hold_") || minutes(t, made) != 15 {
			t.Errorf("%v", made)
		}
		has(t, c.get(t, path(dateID)), object{"spotsTaken": 2, "spotsAvailable": 8})
		has(t, c.delete(t, path(id)), object{"id": id, "deleted": true})
		has(t, c.get(t, path(id)), object{"status": "released"})
		has(t, c.get(t, path(dateID)), object{"spotsTaken": 0, "spotsAvailable": 10})
		c.refuses(t, "HOLD_EXPIRED", remove, path(id), nil)
		c.refuses(t, "HOLD_EXPIRED", post, path(id)+"/confirm", nil)
	})
	t.Run("it lasts as long as it was asked for, within limits", func(t *testing.T) {
		made := hold(t, object{"minutes": 30})
		if got := minutes(t, made); got != 30 {
			t.Errorf("%v minutes", got)
		}
		c.delete(t, path(text(made, "id")))
		for _, wrong := range []any{0, -1, 1441, 1.5} {
			c.Send(t, 400, post, "/holds", object{"purchasedById": ada, "lines": []object{{"eventDateId": dateID}}, "minutes": wrong})
		}
	})
	t.Run("a confirmed hold is a transaction at the price of the hold", func(t *testing.T) {
		made := hold(t, nil)
		id := text(made, "id")
		option := object{"id": text(event, "pricingOptions.0.id"), "price": 50}
		c.change(t, text(event, "id"), object{"pricingOptions": []object{option}})
		bought := c.do(t, path(id)+"/confirm", by("CASH"))
		has(t, bought, object{"purchasedById": ada, "total": 80, "paymentMethod": "CASH", "registrations.0.spots": 2, "registrations.0.status": "confirmed"})
		has(t, c.get(t, path(id)), object{"status": "confirmed", "transactionId": bought["id"]})
		c.refuses(t, "HOLD_CONFIRMED", post, path(id)+"/confirm", by("CASH"))
		c.refuses(t, "HOLD_CONFIRMED", remove, path(id), nil)
	})
	t.Run("a hold cannot take more spots than there are", func(t *testing.T) {
		c.refuses(t, "EVENT_FULL", post, "/holds", object{"purchasedById": ada, "lines": []object{{"eventDateId": dateID, "spots": 9}}})
	})
}

// testExpiry waits for a hold and an offer that end by themselves.
func testExpiry(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben, cleo := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King"), c.customer(t, "Cleo", "Day")
	inbox := c.subscribe(t, "hold.expired", "waitlist.ended")
	event := c.event(t, object{"capacity": 2})
	dateID := text(event, "dates.0.id")
	booked := c.register(t, event, ada, nil)
	hold := c.create(t, "/holds", object{"purchasedById": ada, "lines": []object{{"eventDateId": dateID}}, "minutes": 1})
	first := c.create(t, path(dateID)+"/waitlist", object{"customerId": ben, "offerMinutes": 1})
	second := c.create(t, path(dateID)+"/waitlist", object{"customerId": cleo, "spots": 2})
	c.do(t, path(text(booked, "id"))+"/cancel", nil)
	offered := c.becomes(t, text(first, "id"), object{"status": "offered"})

	expired := inbox.await(t, "hold.expired", text(hold, "id"))
	after := c.get(t, path(text(hold, "id")))
	has(t, after, object{"status": "expired", "transactionId": nil})
	inbox.shows(t, expired, hold, after)
	c.refuses(t, "HOLD_EXPIRED", post, path(text(hold, "id"))+"/confirm", nil)

	ended := inbox.await(t, "waitlist.ended", text(first, "id"))
	after = c.get(t, path(text(first, "id")))
	has(t, after, object{"status": "expired"})
	inbox.shows(t, ended, offered, after)
	c.becomes(t, text(second, "id"), object{"status": "offered"})
}
