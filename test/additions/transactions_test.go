package additions

import "testing"

func testTransactions(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
	clay, yoga := c.event(t, nil), c.event(t, object{"title": "Yoga", "capacity": 1, "pricingOptions": []object{
		{"name": "Seat", "price": 12.35, "currency": "GBP"}, {"name": "Student", "price": 5, "currency": "GBP"},
	}})
	clayDate, yogaDate := text(clay, "dates.0.id"), text(yoga, "dates.0.id")

	t.Run("several lines have one payment", func(t *testing.T) {
		bought := c.create(t, "/transactions", object{
			"purchasedById": ada, "payment": object{"method": "BANK_TRANSFER", "reference": "2026-11"},
			"lines": []object{
				{"eventDateId": clayDate, "spots": 2},
				{"eventDateId": yogaDate, "customerId": ben, "pricingOptionId": text(yoga, "pricingOptions.1.id"), "spots": 1},
			},
		})
		has(t, bought, object{
			"purchasedById": ada, "total": 85, "currency": "GBP", "paymentMethod": "BANK_TRANSFER", "discountCode": nil,
			"registrations.0.customerId": ada, "registrations.0.spots": 2, "registrations.0.totalPaid": 80, "registrations.0.paymentMethod": "BANK_TRANSFER",
			"registrations.1.customerId": ben, "registrations.1.spots": 1, "registrations.1.totalPaid": 5, "registrations.1.purchasedById": ada,
			"registrations.1.transactionId": bought["id"],
		})
		for _, r := range items(t, bought, "registrations") {
			has(t, c.get(t, path(text(r, "id"))), r)
		}
		shown := c.interfaceA(t).Read(t, 200, get, "/customer/"+ada+"/booking/"+text(bought, "id"), nil)
		has(t, shown, object{"data.bookings.0.bought_for": nil, "data.bookings.1.bought_for.id": ben, "data.bookings.1.purchased_by.id": ada})
	})
	t.Run("a purchase is all or nothing", func(t *testing.T) {
		taken := c.get(t, path(clayDate))["spotsTaken"]
		c.refuses(t, "EVENT_FULL", post, "/transactions", object{"purchasedById": ada, "lines": []object{
			{"eventDateId": clayDate}, {"eventDateId": yogaDate, "pricingOptionId": text(yoga, "pricingOptions.0.id")},
		}})
		has(t, c.get(t, path(clayDate)), object{"spotsTaken": taken})
	})
	t.Run("a discount code lowers the price of all lines", func(t *testing.T) {
		c.create(t, "/discount-codes", object{"code": "QUARTER", "percent": 25})
		bought := c.create(t, "/transactions", object{"purchasedById": ben, "discountCode": "QUARTER", "lines": []object{{"eventDateId": clayDate}, {"eventDateId": clayDate, "customerId": ada}}})
		has(t, bought, object{"total": 60, "discountCode": "QUARTER", "registrations.1.totalPaid": 30})
	})
	t.Run("the list can be filtered by the purchaser", func(t *testing.T) {
		if got := c.list(t, "/transactions?purchasedById="+ben); len(got) != 1 || got[0]["purchasedById"] != ben {
			t.Errorf("%v", got)
		}
		if got := c.list(t, "/transactions"); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
	t.Run("a transaction without lines is refused", func(t *testing.T) {
		c.refuses(t, "VALIDATION_ERROR", post, "/transactions", object{"purchasedById": ada, "lines": []object{}})
		c.refuses(t, "VALIDATION_ERROR", post, "/transactions", object{"lines": []object{{"eventDateId": clayDate}}})
	})
}
