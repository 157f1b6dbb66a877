package additions

import (
	"fmt"
	"testing"
	"time"
)

// previewed returns what a move would do now, and checks that the registration stays.
func (c *caller) previewed(t *testing.T, registration, query string) object {
	t.Helper()
	before := c.get(t, path(registration))
	preview := c.get(t, path(registration)+"/move-preview?"+query)
	has(t, c.get(t, path(registration)), before)
	return preview
}

// priced is an event at another price, and for another number of credits, than that of caller.event.
func priced(title string, price, credits int) object {
	return object{"title": title, "pricingOptions": []object{{"name": "Seat", "price": price, "currency": "GBP", "credits": credits, "taxRate": 25}}}
}

func testRegistrationChanges(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
	clay := c.event(t, nil)
	glaze := c.event(t, priced("Glaze", 55, 2))
	clayDate, glazeDate := text(clay, "dates.0.id"), text(glaze, "dates.0.id")

	t.Run("a move to a dearer event and back takes the difference, and then makes it due", func(t *testing.T) {
		id := text(c.register(t, clay, ada, nil), "id")
		has(t, c.previewed(t, id, "eventDateId="+glazeDate), object{
			"late": false, "priceBefore": 40, "priceAfter": 55, "currency": "GBP", "amountDue": 15, "refundDue": 0, "creditsBefore": 0, "creditsAfter": 0, "unchanged": false,
		})
		move := object{"eventDateId": glazeDate, "payment": object{"method": "CASH", "reference": "till 1"}, "expectedAmountDue": 15}
		c.refuses(t, "PRICE_CHANGED", post, path(id)+"/move", with(move, object{"expectedAmountDue": 14.99}))
		taken := c.get(t, path(clayDate))["spotsTaken"].(float64)
		has(t, c.do(t, path(id)+"/move", move), object{
			"id": id, "eventId": glaze["id"], "eventDateId": glazeDate, "eventTitle": "Glaze", "totalPaid": 55, "price": 55, "refundDue": 0, "customerId": ada,
		})
		has(t, c.get(t, path(clayDate)), object{"spotsTaken": taken - 1})
		has(t, c.get(t, path(glazeDate)), object{"spotsTaken": 1})
		c.refuses(t, "ALREADY_MOVED", post, path(id)+"/move", object{"eventDateId": glazeDate})
		has(t, c.previewed(t, id, "eventDateId="+glazeDate), object{"unchanged": true, "priceBefore": 55, "priceAfter": 55, "amountDue": 0, "freeUntil": nil})
		has(t, c.do(t, path(id)+"/move", object{"eventDateId": clayDate}), object{"eventId": clay["id"], "totalPaid": 55, "price": 40, "refundDue": 15})
		has(t, c.previewed(t, id, "spots=2"), object{"priceBefore": 40, "priceAfter": 80, "amountDue": 25, "refundDue": 0})
		has(t, c.do(t, path(id)+"/move", object{"spots": 2, "expectedAmountDue": 25}), object{"spots": 2, "totalPaid": 80, "price": 80, "refundDue": 0})
		has(t, c.do(t, path(id)+"/move", object{"spots": 1}), object{"spots": 1, "price": 40, "refundDue": 40})
		has(t, c.do(t, path(id)+"/refund", nil), object{"refundedAmount": 40, "refundDue": 0})
	})
	t.Run("a move by pass takes and returns the difference in credits", func(t *testing.T) {
		pass := c.give(t, c.passType(t, nil), ada, nil)
		id := text(c.register(t, clay, ada, byPass(pass)), "id")
		left := func(want int) {
			t.Helper()
			c.becomes(t, text(pass, "id"), object{"remainingUses": want})
		}
		left(4)
		has(t, c.previewed(t, id, "eventDateId="+glazeDate), object{"creditsBefore": 1, "creditsAfter": 2, "amountDue": 0, "priceAfter": 0, "currency": "GBP"})
		has(t, c.do(t, path(id)+"/move", object{"eventDateId": glazeDate}), object{"eventDateId": glazeDate, "passUsed": pass["id"], "price": 0})
		left(3)
		c.do(t, path(id)+"/move", object{"eventDateId": clayDate})
		left(4)
		c.do(t, path(id)+"/cancel", nil)
		left(5)
	})
	t.Run("a late move needs a waiver", func(t *testing.T) {
		soon := c.event(t, object{"startsAt": in(2 * time.Hour), "freeCancellationMinutes": 720})
		id := text(c.register(t, soon, ada, nil), "id")
		has(t, c.previewed(t, id, "eventDateId="+clayDate), object{"late": true})
		c.refuses(t, "LATE_CHANGE", post, path(id)+"/move", object{"eventDateId": clayDate})
		has(t, c.previewed(t, id, "eventDateId="+clayDate+"&waivePolicy=true"), object{"late": false})
		has(t, c.do(t, path(id)+"/move", object{"eventDateId": clayDate, "waivePolicy": true}), object{"eventDateId": clayDate})
		has(t, c.get(t, path(id)+"/history"), object{"history.1.action": "moved", "history.1.policyWaived": true})
	})
	t.Run("a registration is transferred, with and without control", func(t *testing.T) {
		made := c.register(t, clay, ada, nil)
		id, booking := text(made, "id"), text(made, "transactionId")
		has(t, c.do(t, path(id)+"/transfer", object{"customerId": ben, "buyerKeepsControl": true}), object{"customerId": ben, "customerName": "Ben King", "purchasedById": ada, "managedById": ada})
		c.refuses(t, "ALREADY_TRANSFERRED", post, path(id)+"/transfer", object{"customerId": ben, "buyerKeepsControl": true})
		has(t, c.do(t, path(id)+"/transfer", object{"customerId": ben}), object{"customerId": ben, "managedById": ben, "totalPaid": 40})
		c.do(t, path(id)+"/move", object{"eventDateId": glazeDate, "keepPrice": true})
		has(t, c.interfaceA(t).Read(t, 200, get, "/customer/"+ada+"/booking/"+booking, nil), object{
			"data.id": booking, "data.bookings.0.bought_for.id": ben, "data.bookings.0.purchased_by.id": ada, "data.bookings.0.event.name": "Glaze",
		})
		c.Refused(t, 404, "NOT_FOUND", post, path(id)+"/transfer", object{"customerId": "cust_01jb4x9m3vf6ksn8w2d7pq5r0t"})
	})
	t.Run("two full dates are swapped", func(t *testing.T) {
		one, two := c.event(t, object{"title": "One", "capacity": 1}), c.event(t, with(priced("Two", 70, 1), object{"capacity": 1}))
		first, second := text(c.register(t, one, ada, nil), "id"), text(c.register(t, two, ben, nil), "id")
		c.refuses(t, "EVENT_FULL", post, path(first)+"/move", object{"eventDateId": text(two, "dates.0.id")})
		has(t, c.do(t, path(first)+"/swap", object{"registrationId": second}), object{"id": first, "eventTitle": "Two", "customerId": ada, "price": 40})
		has(t, c.get(t, path(second)), object{"eventTitle": "One", "customerId": ben, "price": 70})
		entries := c.list(t, path(second)+"/history")
		has(t, entries[1], object{"action": "moved", "swappedWith": first, "before.eventTitle": "Two", "after.eventTitle": "One"})
		same := text(c.register(t, clay, ada, nil), "id")
		c.refuses(t, "ALREADY_MOVED", post, path(same)+"/swap", object{"registrationId": text(c.register(t, clay, ben, nil), "id")})
	})
	t.Run("the history says who changed what, and when", func(t *testing.T) {
		id := text(c.register(t, clay, ada, object{"payment": object{"method": "CASH", "reference": "till 2"}}), "id")
		c.do(t, path(id)+"/move", object{"eventDateId": glazeDate, "payment": object{"method": "CARD", "reference": "pi_1"}})
		c.do(t, path(id)+"/transfer", object{"customerId": ben})
		c.do(t, path(id)+"/attendance", object{"attendance": "no_show"})
		c.do(t, path(id)+"/cancel", object{"reason": "A cold."})
		c.do(t, path(id)+"/refund", nil)
		want := []object{
			{"action": "booked", "via": "interface_b", "before": nil, "after.eventTitle": "Clay", "after.price": 40, "amount": 40, "paymentMethod": "CASH", "paymentReference": "till 2"},
			{"action": "moved", "via": "interface_b", "before.price": 40, "after.price": 55, "amount": 15, "paymentMethod": "CARD", "paymentReference": "pi_1", "policyWaived": false},
			{"action": "transferred", "before.customerId": ada, "after.customerId": ben, "after.managedById": ben, "paymentMethod": nil},
			{"action": "attendance_recorded", "before.attendance": "unknown", "after.attendance": "no_show"},
			{"action": "cancelled", "reason": "A cold.", "policyWaived": false},
			{"action": "refunded", "amount": 55},
		}
		all := c.list(t, path(id)+"/history")
		if len(all) != len(want) {
			t.Fatalf("%d entries: %v", len(all), all)
		}
		for i := range want {
			has(t, all[i], want[i])
			page := c.get(t, fmt.Sprintf("%s/history?perPage=1&page=%d", path(id), i+1))
			has(t, page, object{"total": len(want), "history.0": all[i], "history.1": nil})
		}
		next := text(c.get(t, path(id)+"/history?perPage=4"), "nextCursor")
		has(t, c.get(t, path(id)+"/history?cursor="+next), object{"history.0": all[4], "history.1": all[5], "nextCursor": nil})
		revalidates(t, c.Face, path(id)+"/history")
		c.Refused(t, 404, "NOT_FOUND", get, "/registrations/reg_01jb4x9m3vf6ksn8w2d7pq5r0t/history", nil)
	})
	t.Run("one sale has a line by pass and a line by cash", func(t *testing.T) {
		pass := c.give(t, c.passType(t, nil), ben, nil)
		sale := object{"purchasedById": ben, "payment": object{"method": "CASH", "reference": "till 3", "customerPassId": pass["id"]}, "lines": []object{
			{"eventDateId": clayDate, "payment": object{"method": "PASS"}}, {"eventDateId": glazeDate},
		}}
		bought := c.create(t, "/transactions", sale)
		has(t, bought, object{
			"total": 55, "registrations.0.paymentMethod": "PASS", "registrations.0.passUsed": pass["id"], "registrations.0.totalPaid": 0,
			"registrations.1.paymentMethod": "CASH", "registrations.1.totalPaid": 55, "registrations.1.passUsed": nil,
		})
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 4})
		c.refuses(t, "VALIDATION_ERROR", post, "/holds", object{"purchasedById": ben, "lines": sale["lines"]})
	})
	t.Run("a class that has started is booked with a reason", func(t *testing.T) {
		began := c.event(t, object{"startsAt": in(-time.Hour)})
		sale := object{"purchasedById": ada, "lines": []object{{"eventDateId": text(began, "dates.0.id")}}}
		c.refuses(t, "EVENT_PAST", post, "/transactions", sale)
		id := text(c.create(t, "/transactions", with(sale, object{"afterStartReason": "Came late."})), "registrations.0.id")
		has(t, c.get(t, path(id)+"/history"), object{"history.0.action": "booked", "history.0.reason": "Came late."})
		c.refuses(t, "EVENT_PAST", post, path(id)+"/transfer", object{"customerId": ben})
		has(t, c.do(t, path(id)+"/transfer", object{"customerId": ben, "afterStartReason": "Wrong name."}), object{"customerId": ben})
	})
	t.Run("a free registration stays free, and a payment is ignored", func(t *testing.T) {
		id := text(c.register(t, clay, ada, object{"payment": object{"method": "FREE"}}), "id")
		moved := c.do(t, path(id)+"/move", object{"eventDateId": glazeDate, "expectedAmountDue": 0, "payment": object{"method": "CASH"}})
		has(t, moved, object{"price": 0, "totalPaid": 0, "paymentMethod": "FREE"})
		has(t, c.get(t, path(id)+"/history"), object{"history.1.action": "moved", "history.1.amount": 0, "history.1.paymentMethod": nil})
	})
	t.Run("who has checked in stays", func(t *testing.T) {
		id := text(c.register(t, clay, ada, nil), "id")
		c.do(t, path(id)+"/attendance", object{"attendance": "attended"})
		c.refuses(t, "ALREADY_ATTENDED", post, path(id)+"/move", object{"eventDateId": glazeDate})
		c.refuses(t, "ALREADY_ATTENDED", post, path(id)+"/transfer", object{"customerId": ben})
	})
}
