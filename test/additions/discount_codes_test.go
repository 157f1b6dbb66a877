package additions

import (
	"strings"
	"testing"
)

func testDiscountCodes(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	clay, yoga := c.event(t, nil), c.event(t, object{"title": "Yoga"})

	t.Run("a code has a percentage or an amount", func(t *testing.T) {
		percent := c.create(t, "/discount-codes", object{"code": "SPRING", "percent": 12.5})
		has(t, percent, object{"code": "SPRING", "percent": 12.5, "amount": nil, "uses": 0, "maxUses": nil, "startsAt": nil, "endsAt": nil, "eventIds": []string{}})
		if !strings.HasPrefix(text(percent, "id"), "disc_") {
			t.Errorf("%v", percent)
		}
		amount := c.create(t, "/discount-codes", object{"code": "FIVER", "amount": 5})
		has(t, amount, object{"amount": 5, "percent": nil, "currency": "GBP"})
		has(t, c.register(t, clay, ada, object{"discountCode": "SPRING"}), object{"totalPaid": 35, "discountCode": "SPRING"})
		has(t, c.register(t, clay, ada, object{"discountCode": "FIVER"}), object{"totalPaid": 35, "discountCode": "FIVER"})
		has(t, c.get(t, path(text(percent, "id"))), object{"uses": 1})
		c.lists(t, "/discount-codes", text(percent, "id"), text(amount, "id"))
	})
	t.Run("wrong codes are refused", func(t *testing.T) {
		for _, body := range []object{
			{"percent": 10}, {"code": "BOTH", "percent": 10, "amount": 5}, {"code": "NEITHER"}, {"code": "MUCH", "percent": 100.5}, {"code": "LESS", "amount": -1},
			{"code": "NEVER", "percent": 10, "startsAt": in(2 * day), "endsAt": in(day)}, {"code": "SPRING", "percent": 10},
		} {
			c.refuses(t, "VALIDATION_ERROR", post, "/discount-codes", body)
		}
	})
	for _, tt := range []struct {
		name string
		body object
	}{
		{"before it starts", object{"startsAt": in(day)}},
		{"after it has ended", object{"startsAt": in(-2 * day), "endsAt": in(-day)}},
		{"for another event", object{"eventIds": []any{yoga["id"]}}},
	} {
		t.Run("a code does not apply "+tt.name, func(t *testing.T) {
			code := c.create(t, "/discount-codes", with(object{"code": strings.ToUpper(strings.ReplaceAll(tt.name, " ", "-")), "percent": 10}, tt.body))
			c.refuses(t, "DISCOUNT_INVALID", post, path(text(clay, "id"))+"/registrations", object{"customerId": ada, "discountCode": code["code"]})
			c.change(t, text(code, "id"), object{"startsAt": nil, "endsAt": nil, "eventIds": []any{}})
			has(t, c.register(t, clay, ada, object{"discountCode": code["code"]}), object{"totalPaid": 36})
		})
	}
	t.Run("a code can be used as often as its limit", func(t *testing.T) {
		code := c.create(t, "/discount-codes", object{"code": "ONCE", "percent": 10, "maxUses": 1})
		again := object{"customerId": ada, "discountCode": "ONCE"}
		c.register(t, clay, ada, again)
		c.refuses(t, "DISCOUNT_INVALID", post, path(text(clay, "id"))+"/registrations", again)
		c.change(t, text(code, "id"), object{"maxUses": 2})
		c.register(t, clay, ada, again)
	})
}
