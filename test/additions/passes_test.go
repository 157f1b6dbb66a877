package additions

import "testing"

func testPasses(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	event := c.event(t, nil)
	endless := object{"totalUses": nil, "validityCount": nil, "validityUnit": nil, "unlimitedUses": true, "neverExpires": true}

	t.Run("a pass type has limits, or says that it has none", func(t *testing.T) {
		has(t, c.passType(t, nil), object{"totalUses": 5, "unlimitedUses": false, "neverExpires": false})
		has(t, c.passType(t, endless), object{"totalUses": 999999, "unlimitedUses": true, "neverExpires": true})
		c.refuses(t, "VALIDATION_ERROR", post, "/passes", object{"title": "Nothing", "price": 5})
	})
	t.Run("a pass without limits keeps its uses and its last day", func(t *testing.T) {
		pass := c.give(t, c.passType(t, endless), ada, nil)
		full := object{"totalUses": 999999, "remainingUses": 999999, "unlimitedUses": true, "expiryDate": "9999-12-31", "neverExpires": true, "status": "active"}
		has(t, pass, full)
		c.register(t, event, ada, with(byPass(pass), object{"spots": 3}))
		has(t, c.get(t, path(text(pass, "id"))), full)
	})
	t.Run("one limit can be without the other", func(t *testing.T) {
		uses := c.give(t, c.passType(t, object{"totalUses": nil, "unlimitedUses": true}), ada, nil)
		has(t, uses, object{"remainingUses": 999999, "unlimitedUses": true, "neverExpires": false})
		days := c.give(t, c.passType(t, object{"validityCount": nil, "validityUnit": nil, "neverExpires": true}), ada, nil)
		has(t, days, object{"remainingUses": 5, "unlimitedUses": false, "expiryDate": "9999-12-31", "neverExpires": true})
	})
}
