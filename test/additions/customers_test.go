package additions

import (
	"net/url"
	"testing"
)

func testCustomers(t *testing.T, p *platform) {
	c := p.newCaller(t)
	zoe := text(c.create(t, "/customers", object{"firstName": "Zoë", "lastName": "Núñez", "email": "zn.mail@studio.example", "mobile": "+44 20 7946 0001"}), "id")
	ann := text(c.create(t, "/customers", object{"firstName": "Ann", "lastName": "O'Neill", "email": "ann@clay.example", "mobile": "+33 1 22 33 44 55"}), "id")

	t.Run("q finds any part of the name, the e-mail address or the telephone number, ignoring accents and case", func(t *testing.T) {
		for q, want := range map[string][]string{
			"zoe": {zoe}, "ZOË": {zoe}, "nunez": {zoe}, "úñe": {zoe}, "UNE": {zoe}, "zoe nun": {zoe},
			"N.MAIL@stud": {zoe}, "clay.ex": {ann}, "7946": {zoe}, "22 33": {ann}, "example": {zoe, ann}, "nobody": {},
		} {
			c.lists(t, "/customers?q="+url.QueryEscape(q), want...)
		}
	})
	t.Run("q can be combined with other filters and pages", func(t *testing.T) {
		c.lists(t, "/customers?q=example&email=ann@clay.example", ann)
		page := c.get(t, "/customers?q=example&perPage=1")
		has(t, page, object{"perPage": 1, "page": 1})
		c.lists(t, "/customers?q=example&perPage=1&cursor="+text(page, "nextCursor"), ann)
	})
}
