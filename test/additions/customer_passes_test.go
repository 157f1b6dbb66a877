package additions

import (
	"slices"
	"testing"
)

func testCustomerPasses(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	five := c.passType(t, nil)
	event := c.event(t, nil) // in a week
	refuses := func(t *testing.T, code string, pass object) {
		t.Helper()
		c.refuses(t, code, post, path(text(event, "id"))+"/registrations", with(object{"customerId": ada}, byPass(pass)))
	}

	t.Run("a customer pass has the title and the uses of its type", func(t *testing.T) {
		pass := c.give(t, five, ada, nil)
		has(t, pass, object{"title": "Five classes", "totalUses": 5, "remainingUses": 5, "pausedSince": nil, "status": "active"})
		if text(pass, "createdAt") == "" || text(pass, "updatedAt") == "" {
			t.Errorf("%v", pass)
		}
	})
	t.Run("a pass that starts later pays for a date on which it is valid, and for no earlier one", func(t *testing.T) {
		pass := c.give(t, five, ada, object{"startDate": date(6)})
		has(t, pass, object{"status": "pending"})
		c.register(t, event, ada, byPass(pass))
		refuses(t, "PASS_NOT_ACTIVE", c.give(t, five, ada, object{"startDate": date(9)}))
	})
	t.Run("a pass does not pay for a date after its last day", func(t *testing.T) {
		week := c.passType(t, object{"validityCount": 2, "validityUnit": "day"})
		refuses(t, "PASS_EXPIRED", c.give(t, week, ada, nil))
	})
	t.Run("a pass does not pay while it is paused", func(t *testing.T) {
		pass := c.give(t, five, ada, nil)
		paused := c.change(t, text(pass, "id"), object{"status": "paused"})
		has(t, paused, object{"status": "paused"})
		if text(paused, "pausedSince") == "" {
			t.Errorf("%v", paused)
		}
		refuses(t, "PASS_NOT_ACTIVE", pass)
		has(t, c.change(t, text(pass, "id"), object{"status": "active"}), object{"status": "active", "pausedSince": nil})
		c.register(t, event, ada, byPass(pass))
	})
	t.Run("a cancelled or exhausted pass does not pay", func(t *testing.T) {
		cancelled, exhausted := c.give(t, five, ada, nil), c.give(t, five, ada, nil)
		c.change(t, text(cancelled, "id"), object{"status": "cancelled"})
		refuses(t, "PASS_NOT_ACTIVE", cancelled)
		has(t, c.change(t, text(exhausted, "id"), object{"remainingUses": 0}), object{"status": "exhausted"})
		refuses(t, "PASS_EXHAUSTED", exhausted)
	})
	t.Run("the ledger has every change of the credits", func(t *testing.T) {
		pass := c.give(t, five, ada, nil)
		ledger := path(text(pass, "id")) + "/ledger"
		registration := c.register(t, event, ada, with(byPass(pass), object{"spots": 2}))
		c.do(t, path(text(registration, "id"))+"/cancel", nil)
		c.change(t, text(pass, "id"), object{"remainingUses": 4, "reason": "lost a voucher"})
		entries := c.list(t, ledger)
		if got := entries[0]["at"]; got != pass["createdAt"] {
			t.Errorf("the first change is at %v", got)
		}
		for i, want := range []object{
			{"change": 5, "balance": 5, "transactionId": nil},
			{"change": -2, "balance": 3, "transactionId": registration["transactionId"]},
			{"change": 2, "balance": 5, "transactionId": registration["transactionId"]},
			{"change": -1, "balance": 4, "transactionId": nil, "reason": "lost a voucher"},
		} {
			has(t, entries[i], want)
		}
		slices.Reverse(entries)
		page := c.get(t, ledger+"?sort=-createdAt&perPage=3")
		has(t, page, object{"ledger": entries[:3], "total": 4, "perPage": 3})
		has(t, c.get(t, ledger+"?sort=-createdAt&perPage=3&cursor="+text(page, "nextCursor")), object{"ledger": entries[3:]})
	})
}
