package additions

import (
	"fmt"
	"testing"
)

func testPayments(t *testing.T, p *platform) {
	c := p.newCaller(t)
	a := c.interfaceA(t)
	ada := c.customer(t, "Ada", "Byron")
	event := c.event(t, nil) // £40, tax of 25 % included

	// onA checks the payment of a registration on Interface A.
	onA := func(t *testing.T, registration, want object) {
		t.Helper()
		transaction := a.Read(t, 200, get, "/customer/"+ada+"/booking/"+text(registration, "transactionId"), nil)
		has(t, transaction, object{"data.bookings.0.payment": want})
	}
	for _, method := range []string{"CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER"} {
		t.Run(method+" records an amount", func(t *testing.T) {
			registration := c.register(t, event, ada, by(method))
			has(t, registration, object{"paymentMethod": method, "totalPaid": 40, "currency": "GBP", "passUsed": nil})
			onA(t, registration, object{"method": method, "currency": "GBP", "base100gross_price": 4000, "base100net_price": 3200})
		})
	}
	t.Run("FREE records amounts of 0", func(t *testing.T) {
		registration := c.register(t, event, ada, by("FREE"))
		has(t, registration, object{"paymentMethod": "FREE", "totalPaid": 0, "currency": "GBP"})
		onA(t, registration, object{"method": "FREE", "currency": "GBP", "base100gross_price": 0, "base100net_price": 0})
	})
	t.Run("PASS records credits", func(t *testing.T) {
		pass := c.give(t, c.passType(t, nil), ada, nil)
		registration := c.register(t, event, ada, byPass(pass))
		has(t, registration, object{"paymentMethod": "PASS", "totalPaid": 0, "currency": "GBP", "passUsed": pass["id"]})
		onA(t, registration, object{"method": "PASS", "currency": "CR", "credits_used": 1})
	})
	t.Run("a price of 0 is recorded with the method that was sent, CARD by default", func(t *testing.T) {
		open := c.event(t, object{"pricingOptions": []object{{"name": "Open day", "price": 0, "currency": "GBP"}}})
		has(t, c.register(t, open, ada, by("CASH")), object{"paymentMethod": "CASH", "totalPaid": 0})
		has(t, c.register(t, open, ada, nil), object{"paymentMethod": "CARD", "totalPaid": 0})
	})
	t.Run("an unknown method is refused", func(t *testing.T) {
		for _, method := range []string{"CHEQUE", "card"} {
			c.refuses(t, "VALIDATION_ERROR", post, path(text(event, "id"))+"/registrations", with(object{"customerId": ada}, by(method)))
		}
	})
	t.Run("a customer pass is sold with every method except PASS", func(t *testing.T) {
		five := c.passType(t, nil)
		for _, method := range []string{"CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", "FREE"} {
			pass := c.give(t, five, ada, by(method))
			payment := a.Read(t, 200, get, fmt.Sprintf("/customer/%s/pass/%s", ada, pass["id"]), nil)
			price := 5000
			if method == "FREE" {
				price = 0
			}
			has(t, payment, object{"data.payment.method": method, "data.payment.base100gross_price": price})
		}
		c.refuses(t, "VALIDATION_ERROR", post, "/customer-passes", with(object{"customerId": ada, "passId": five["id"], "startDate": date(0)}, by("PASS")))
	})
}
