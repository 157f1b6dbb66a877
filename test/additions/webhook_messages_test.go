package additions

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/test/harness"
)

func testWebhookMessages(t *testing.T, p *platform) {
	c := p.newCaller(t) // it has no endpoint, so nothing is sent
	ada := c.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
	changed := c.change(t, text(ada, "id"), object{"lastName": "King"})
	event := c.event(t, nil)
	registration := c.register(t, event, text(ada, "id"), nil)
	c.do(t, path(text(registration, "id"))+"/cancel", nil)
	want := map[string]string{
		"customer.created": text(ada, "id"), "customer.updated": text(ada, "id"), "event.created": text(event, "id"),
		"registration.created": text(registration, "id"), "registration.cancelled": text(registration, "id"),
	}
	messages := map[string]object{} // by event
	harness.Eventually(t, waiting, func() error {
		for _, m := range c.list(t, "/webhook-messages") {
			messages[text(m, "event")] = m
		}
		for event := range want {
			if messages[event] == nil {
				return fmt.Errorf("there is no %s", event)
			}
		}
		return nil
	})
	all := c.list(t, "/webhook-messages")

	t.Run("messages have the resource as it was, whether or not they were sent", func(t *testing.T) {
		has(t, messages["customer.created"], object{"data": ada})
		has(t, messages["customer.updated"], object{"data.lastName": "King", "data.updatedAt": changed["updatedAt"], "data.previous.lastName": "Byron"})
		has(t, messages["registration.created"], object{"data.registrationId": registration["id"], "data.totalPaid": 40})
		has(t, messages["registration.cancelled"], object{"data.id": registration["id"], "data.status": "cancelled", "data.previous.status": "confirmed"})
	})
	t.Run("the order is stable, and a cursor continues where the page before ended", func(t *testing.T) {
		var pages []object
		cursor := ""
		for range all {
			page := c.get(t, "/webhook-messages?perPage=1"+cursor)
			pages = append(pages, items(t, page, "webhookMessages")...)
			cursor = "&cursor=" + text(page, "nextCursor")
		}
		if diff := cmp.Diff(all, pages); diff != "" {
			t.Error(diff)
		}
		if got := c.list(t, "/webhook-messages?perPage=1"+cursor); len(got) != 0 {
			t.Errorf("%v follow the last message", got)
		}
		ben := c.customer(t, "Ben", "Late")
		harness.Eventually(t, waiting, func() error {
			if got := c.list(t, "/webhook-messages?perPage=1"+cursor); len(got) != 1 || at(got[0], "data.id") != ben {
				return fmt.Errorf("%v follow the last message", got)
			}
			return nil
		})
	})
	t.Run("messages can be filtered by event and time", func(t *testing.T) {
		for _, m := range c.list(t, "/webhook-messages?event=registration.created") {
			has(t, m, object{"event": "registration.created", "data.registrationId": registration["id"]})
		}
		if got := c.list(t, "/webhook-messages?since="+in(time.Hour)); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if got := c.list(t, "/webhook-messages?since="+in(-time.Hour)); len(got) <= len(all) {
			t.Errorf("%d messages, and %d before", len(got), len(all))
		}
		c.refuses(t, "INVALID_PARAMETER", get, "/webhook-messages?event=customer.born", nil)
	})
}
