package additions

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// defaultEvents are the events of an endpoint that selects none.
func defaultEvents() []string {
	return []string{"registration.created", "pass.purchased", "event.purchased"}
}

// optInEvents are the events to which an endpoint subscribes explicitly.
func optInEvents() []string {
	return []string{
		"registration.cancelled", "registration.refunded", "registration.attendance_recorded", "waitlist.joined", "waitlist.offered", "waitlist.ended",
		"hold.expired", "customer.created", "customer.updated", "customer.deleted", "event.created", "event.updated", "event.cancelled",
		"event_date.changed", "event_date.cancelled", "customer_pass.updated", "subscription.created", "subscription.updated", "subscription.renewed",
		"subscription.payment_due", "subscription.payment_recorded", "subscription.ended", "media.published", "media.updated", "media.deleted", "media.completed",
		"appointment.booked", "appointment.moved", "appointment.cancelled", "registration.moved", "registration.transferred",
	}
}

func testWebhookEndpoints(t *testing.T, p *platform) {
	c := p.newCaller(t)
	const url = "https://receiver.invalid/hook"

	t.Run("an endpoint can be created, changed and deleted", func(t *testing.T) {
		made := decode(t, c.write(t, 201, post, "/webhook-endpoints", object{"url": url, "events": []any{"customer.updated"}, "description": "CRM"}))
		id := text(made, "id")
		if !strings.HasPrefix(id, "whe_") {
			t.Errorf("%v", made)
		}
		has(t, c.readable(t, made), object{"url": url, "events": []any{"customer.updated"}, "description": "CRM", "enabled": true})
		has(t, c.change(t, id, object{"events": []any{"event.updated", "customer.deleted"}, "enabled": false}), object{"enabled": false, "url": url})
		c.lists(t, "/webhook-endpoints", id)
		has(t, c.delete(t, path(id)), object{"id": id, "deleted": true})
		c.Refused(t, 404, "NOT_FOUND", get, path(id), nil)
		c.Refused(t, 404, "NOT_FOUND", remove, path(id), nil)
	})
	t.Run("an endpoint that selects no events has the three of the specification", func(t *testing.T) {
		made := c.create(t, "/webhook-endpoints", object{"url": url})
		has(t, made, object{"events": defaultEvents()})
		c.delete(t, path(text(made, "id")))
	})
	t.Run("wrong endpoints are refused", func(t *testing.T) {
		for _, wrong := range []object{
			{}, {"url": "http://receiver.example/"}, {"url": "https://name:secret@receiver.example/"}, {"url": "nonsense"}, {"url": url, "events": []any{"customer.born"}},
		} {
			c.refuses(t, "VALIDATION_ERROR", post, "/webhook-endpoints", wrong)
		}
	})
	t.Run("the secret can be read and rotated", func(t *testing.T) {
		id := text(c.create(t, "/webhook-endpoints", object{"url": url}), "id")
		first := c.get(t, path(id)+"/secret")
		if !strings.HasPrefix(text(first, "secret"), "whsec_") {
			t.Errorf("%v", first)
		}
		rotated := decode(t, c.write(t, 200, post, path(id)+"/rotate-secret", nil))
		has(t, rotated, object{"previous.secret": first["secret"]})
		has(t, c.get(t, path(id)+"/secret"), object{"secret": rotated["secret"], "previous.secret": first["secret"]})
		c.delete(t, path(id))
	})
	t.Run("a test sends the sample of every event", func(t *testing.T) {
		inbox := c.subscribe(t, "customer.created")
		for _, event := range append(defaultEvents(), optInEvents()...) {
			sent := decode(t, c.write(t, 200, post, path(inbox.endpoint)+"/test", object{"event": event}))
			matchesSchema(t, sent["body"].(object))
			has(t, sent, object{"body.event": event, "body.test": true, "attempt.failure": nil, "attempt.responseStatus": 204})
			has(t, c.get(t, "/webhook-deliveries/"+text(sent, "deliveryId")), object{"body": sent["body"], "status": "delivered", "test": true, "endpointId": inbox.endpoint})
		}
		c.refuses(t, "VALIDATION_ERROR", post, path(inbox.endpoint)+"/test", object{"event": "customer.born"})
	})
	t.Run("deliveries", func(t *testing.T) { testDeliveries(t, p.newCaller(t)) })
}

func testDeliveries(t *testing.T, c *caller) {
	inbox := c.subscribe(t, "customer.created", "customer.updated")
	first, second := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
	c.change(t, first, object{"lastName": "Lovelace"})
	for event, id := range map[string]string{"customer.created": second, "customer.updated": first} {
		inbox.await(t, event, id)
	}
	inbox.await(t, "customer.created", first)
	var deliveries []object
	harness.Eventually(t, waiting, func() error {
		deliveries = c.list(t, "/webhook-deliveries?status=delivered")
		if len(deliveries) != 3 {
			return fmt.Errorf("%d deliveries", len(deliveries))
		}
		return nil
	})
	t.Run("the list can be filtered", func(t *testing.T) {
		for filter, want := range map[string]int{
			"endpointId=" + inbox.endpoint: 3, "event=customer.updated": 1, "event=customer.created": 2, "status=failed": 0,
			"since=" + in(-time.Hour): 3, "since=" + in(time.Hour): 0, "until=" + in(-time.Hour): 0,
		} {
			if got := c.list(t, "/webhook-deliveries?"+filter); len(got) != want {
				t.Errorf("%s: %d deliveries, want %d", filter, len(got), want)
			}
		}
	})
	t.Run("one delivery can be replayed, or those of a list, or all that match", func(t *testing.T) {
		one := deliveries[0]
		delivered := func(t *testing.T, times int) {
			t.Helper()
			harness.Eventually(t, waiting, func() error {
				got := c.get(t, "/webhook-deliveries/"+text(one, "id"))
				if got["status"] != "delivered" || got["attemptCount"] != float64(times) {
					return fmt.Errorf("%v", got)
				}
				return nil
			})
			inbox.hasTries(t, text(one, "messageId"), times)
		}
		c.write(t, 200, post, "/webhook-deliveries/"+text(one, "id")+"/replay", nil)
		delivered(t, 2)
		listed := decode(t, c.write(t, 200, post, "/webhook-deliveries/replay", object{"ids": []any{one["id"]}}))
		has(t, listed, object{"replayed": 1, "skipped": 0})
		delivered(t, 3)
		replayed := decode(t, c.write(t, 200, post, "/webhook-deliveries/replay", object{"event": text(one, "event"), "endpointId": inbox.endpoint}))
		if replayed["replayed"].(float64) < 1 || replayed["skipped"] != 0.0 {
			t.Errorf("%v", replayed)
		}
		delivered(t, 4)
	})
}

// inbox is an endpoint that receives messages over HTTPS, verifies them and accepts them.
type inbox struct {
	*harness.Mailbox
	endpoint string
}

// subscribe creates an endpoint and serves it; no events means those of an endpoint that selects none.
func (c *caller) subscribe(t *testing.T, events ...string) *inbox {
	t.Helper()
	b, ready := &inbox{}, make(chan struct{})
	url := c.p.Listen(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		<-ready
		b.ServeHTTP(rw, r)
	}))
	endpoint := object{"url": url + "/hook"}
	if len(events) > 0 {
		endpoint["events"] = events
	}
	b.endpoint = text(c.create(t, "/webhook-endpoints", endpoint), "id")
	b.Mailbox = harness.OpenMailbox(t, b.endpoint, text(c.get(t, path(b.endpoint)+"/secret"), "secret"), nil)
	close(ready)
	return b
}
