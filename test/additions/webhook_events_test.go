package additions

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

// all returns the data of the messages of an event in which an identifier occurs.
func (b *inbox) all(t *testing.T, event, id string) []object {
	t.Helper()
	var found []object
	for _, mail := range b.Mail() {
		if mail.Event != event || mail.Try > 1 || !strings.Contains(string(mail.Data), `"`+id+`"`) {
			continue
		}
		var data object
		if err := json.Unmarshal(mail.Data, &data); err != nil {
			t.Fatal(err)
		}
		found = append(found, data)
	}
	return found
}

// await waits for the message of an event about a resource, and returns its data.
func (b *inbox) await(t *testing.T, event, id string) object {
	t.Helper()
	return b.awaitAll(t, event, id, 1)[0]
}

func (b *inbox) awaitAll(t *testing.T, event, id string, n int) (found []object) {
	t.Helper()
	harness.Eventually(t, 3*waiting, func() error {
		if found = b.all(t, event, id); len(found) < n {
			return fmt.Errorf("%d messages %s about %s", len(found), event, id)
		}
		return nil
	})
	return found
}

// hasTries checks how often a message has arrived.
func (b *inbox) hasTries(t *testing.T, message string, want int) {
	t.Helper()
	got := 0
	for _, mail := range b.Mail() {
		if mail.ID == message {
			got = mail.Try
		}
	}
	if got != want {
		t.Errorf("%s has arrived %d times, not %d", message, got, want)
	}
}

// shows checks that a message has the resource after its event, and the old values of the members
// that changed, except updatedAt and the position of a waitlist entry. before is nil if the event is the
// first of the resource.
func (b *inbox) shows(t *testing.T, message, before, after object) {
	t.Helper()
	want := maps.Clone(after)
	if before != nil {
		previous := object{}
		for name, value := range before {
			if name != "position" && name != "updatedAt" && !reflect.DeepEqual(value, after[name]) {
				previous[name] = value
			}
		}
		want["previous"] = previous
	}
	if diff := cmp.Diff(want, message); diff != "" {
		t.Errorf("the message (-want +got): %s", diff)
	}
}

func testWebhookEvents(t *testing.T, p *platform) {
	c := p.newCaller(t)
	b := c.subscribe(t, optInEvents()...)
	// step changes a resource, and checks its message.
	step := func(t *testing.T, event, id string, change func()) {
		t.Helper()
		before := c.get(t, path(id))
		change()
		b.shows(t, b.await(t, event, id), before, c.get(t, path(id)))
	}

	t.Run("customer.created, updated and deleted", func(t *testing.T) {
		created := c.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
		id := text(created, "id")
		first := c.change(t, id, object{"lastName": "King"})
		second := c.change(t, id, object{"lastName": "Lovelace", "mobile": "+44 20 7946 0000"})
		b.shows(t, b.await(t, "customer.created", id), nil, created)
		updated := b.awaitAll(t, "customer.updated", id, 2)
		slices.SortFunc(updated, func(x, y object) int { return strings.Compare(text(x, "lastName"), text(y, "lastName")) })
		b.shows(t, updated[0], created, first)
		b.shows(t, updated[1], first, second)
		c.delete(t, path(id))
		has(t, b.await(t, "customer.deleted", id), object{"id": id})
	})
	t.Run("event.created, updated and cancelled", func(t *testing.T) {
		event := c.event(t, nil)
		id := text(event, "id")
		b.shows(t, b.await(t, "event.created", id), nil, event)
		step(t, "event.updated", id, func() { c.change(t, id, object{"title": "Glaze", "location": "Studio 2"}) })
		step(t, "event.cancelled", id, func() { c.change(t, id, object{"status": "cancelled"}) })
	})
	t.Run("event_date.changed and cancelled", func(t *testing.T) {
		event := c.event(t, recurs("FREQ=WEEKLY;COUNT=2"))
		first, second := text(event, "dates.0.id"), text(event, "dates.1.id")
		step(t, "event_date.changed", first, func() { c.change(t, first, object{"startsAt": in(8 * day), "capacity": 12}) })
		step(t, "event_date.cancelled", second, func() { c.do(t, path(second)+"/cancel", object{"reason": "Snow."}) })
	})
	t.Run("registration.attendance_recorded, cancelled and refunded", func(t *testing.T) {
		id := text(c.register(t, c.event(t, nil), c.customer(t, "Ada", "Byron"), nil), "id")
		step(t, "registration.attendance_recorded", id, func() { c.do(t, path(id)+"/attendance", object{"attendance": "no_show"}) })
		step(t, "registration.cancelled", id, func() { c.do(t, path(id)+"/cancel", object{"reason": "A cold."}) })
		step(t, "registration.refunded", id, func() { c.do(t, path(id)+"/refund", object{"amount": 12.34}) })
	})
	t.Run("registration.moved and transferred", func(t *testing.T) {
		event := c.event(t, recurs("FREQ=WEEKLY;COUNT=2"))
		ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
		id := text(c.register(t, event, ada, object{"eventDateId": at(event, "dates.0.id")}), "id")
		step(t, "registration.moved", id, func() { c.do(t, path(id)+"/move", object{"eventDateId": at(event, "dates.1.id"), "spots": 2}) })
		step(t, "registration.transferred", id, func() { c.do(t, path(id)+"/transfer", object{"customerId": ben}) })
	})
	t.Run("waitlist.joined, offered and ended", func(t *testing.T) {
		event := c.event(t, object{"capacity": 1})
		registration := text(c.register(t, event, c.customer(t, "Ada", "Byron"), nil), "id")
		entry := c.create(t, path(text(event, "dates.0.id"))+"/waitlist", object{"customerId": c.customer(t, "Ben", "King")})
		id := text(entry, "id")
		b.shows(t, b.await(t, "waitlist.joined", id), nil, entry)
		step(t, "waitlist.offered", id, func() {
			c.do(t, path(registration)+"/cancel", nil)
			c.becomes(t, id, object{"status": "offered"})
		})
		step(t, "waitlist.ended", id, func() { c.do(t, path(id)+"/accept", nil) })
	})
	t.Run("customer_pass.updated", func(t *testing.T) {
		customer := c.customer(t, "Ada", "Byron")
		used, paused := c.give(t, c.passType(t, nil), customer, nil), c.give(t, c.passType(t, nil), customer, nil)
		step(t, "customer_pass.updated", text(used, "id"), func() { c.register(t, c.event(t, nil), customer, byPass(used)) })
		step(t, "customer_pass.updated", text(paused, "id"), func() { c.change(t, text(paused, "id"), object{"status": "paused"}) })
	})
	t.Run("subscription.created, payment_due, payment_recorded, updated and ended", func(t *testing.T) { testSubscriptionEvents(t, c, b) })
	t.Run("media.published, updated, completed and deleted", func(t *testing.T) { testMediaEvents(t, c, b) })
	t.Run("appointment.booked, moved and cancelled", func(t *testing.T) { testAppointmentEvents(t, c, b) })
	t.Run("every message matches the schema of its event", func(t *testing.T) {
		seen := map[string]bool{}
		for _, message := range c.list(t, "/webhook-messages?perPage=100") {
			matchesSchema(t, message)
			seen[text(message, "event")] = true
		}
		for _, event := range optInEvents() {
			// For the two exceptions, see testExpiry and testSubscriptionEvents.
			if !seen[event] && event != "hold.expired" && event != "subscription.renewed" {
				t.Errorf("there is no %s", event)
			}
		}
	})
	t.Run("the three of the specification", testDefaultEvents(p))
}

// matchesSchema checks a message against the published schema of its event.
func matchesSchema(t *testing.T, message object) {
	t.Helper()
	schema := openapitest.Schema(t, "../../docs/webhooks/"+text(message, "event")+".schema.json")
	if err := schema.Validate(any(message)); err != nil {
		t.Errorf("%v: %v", message, err)
	}
}

// testDefaultEvents checks that the three events have exactly the members of the specification.
func testDefaultEvents(p *platform) func(t *testing.T) {
	return func(t *testing.T) {
		c := p.newCaller(t)
		b := c.subscribe(t)
		ada := c.customer(t, "Ada", "Byron")
		customer := object{"customerId": ada, "customerEmail": c.get(t, path(ada))["email"], "customerName": "Ada Byron", "currency": "GBP"}
		workshop := c.event(t, object{"type": "workshop"})
		sold := with(customer, object{"eventId": workshop["id"], "eventTitle": "Clay", "eventDate": workshop["startsAt"]})

		for _, method := range []string{"CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", "FREE"} {
			registration := c.register(t, workshop, ada, with(by(method), object{"spots": 1}))
			paid := with(sold, object{"totalPaid": registration["totalPaid"], "paymentMethod": method})
			got := b.await(t, "registration.created", text(registration, "id"))
			want := with(paid, object{"registrationId": registration["id"], "spots": 1})
			want["passUsed"] = nil
			if diff := cmp.Diff(plain(t, want), any(got)); diff != "" {
				t.Errorf("registration.created by %s: %s", method, diff)
			}
			bought := b.awaitOne(t, "event.purchased", "paymentMethod", method)
			want = with(paid, object{"purchaseId": bought["purchaseId"], "tickets": 1})
			want["discountCode"] = nil
			if diff := cmp.Diff(plain(t, want), any(bought)); diff != "" || !strings.HasPrefix(text(bought, "purchaseId"), "pur_") {
				t.Errorf("event.purchased by %s: %s", method, diff)
			}
		}
		five := c.passType(t, nil)
		for method, price := range map[string]float64{"CASH": 50, "FREE": 0} {
			pass := c.give(t, five, ada, by(method))
			want := with(customer, object{
				"customerPassId": pass["id"], "passId": five["id"], "passTitle": "Five classes", "totalUses": 5, "remainingUses": 5,
				"startDate": pass["startDate"], "expiryDate": pass["expiryDate"], "totalPaid": price, "paymentMethod": method,
			})
			if diff := cmp.Diff(plain(t, want), any(b.await(t, "pass.purchased", text(pass, "id")))); diff != "" {
				t.Errorf("pass.purchased by %s: %s", method, diff)
			}
		}
		pass := c.give(t, five, ada, nil)
		has(t, b.await(t, "pass.purchased", text(pass, "id")), object{"totalPaid": 0, "paymentMethod": "FREE"})
		// The pass of a subscription shows the first payment.
		plan, trial := c.plan(t, nil), c.plan(t, object{"trialDays": 14})
		for _, tt := range []struct{ plan, more, want object }{
			{plan, nil, object{"totalPaid": 40, "paymentMethod": "CASH", "totalUses": 8, "passTitle": "Regular"}},
			{plan, object{"payment": nil}, object{"totalPaid": 0, "paymentMethod": "OTHER"}}, // not paid yet
			{trial, object{"payment": nil}, object{"totalPaid": 0, "paymentMethod": "FREE"}},
		} {
			sub := c.subscribed(t, tt.plan, ada, tt.more)
			has(t, b.await(t, "pass.purchased", text(sub, "customerPassId")), tt.want)
		}
		byPass := c.register(t, workshop, ada, byPass(pass))
		has(t, b.await(t, "registration.created", text(byPass, "id")), object{"passUsed": pass["id"], "totalPaid": 0, "paymentMethod": "PASS"})
		last := c.register(t, workshop, c.customer(t, "Ben", "King"), by("CASH"))
		b.await(t, "registration.created", text(last, "id"))
		b.await(t, "event.purchased", text(last, "customerId"))
		for _, mail := range b.Mail() {
			if mail.Event == "event.purchased" && strings.Contains(string(mail.Data), `"PASS"`) || !slices.Contains(defaultEvents(), mail.Event) {
				t.Errorf("got %s %s", mail.Event, mail.Data)
			}
		}
	}
}

// awaitOne waits for the message of an event that has a member.
func (b *inbox) awaitOne(t *testing.T, event, name, value string) (found object) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		for _, data := range b.all(t, event, value) {
			if data[name] == value {
				found = data
				return nil
			}
		}
		return fmt.Errorf("no %s with %s %s", event, name, value)
	})
	return found
}
