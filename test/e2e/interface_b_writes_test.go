package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writable is a resource of Interface B that PUT changes, with new values for single members that
// GET returns.
type writable struct {
	path    string
	changes object
}

// sendsBack reads a resource and sends it back, first unchanged, then with one member changed at
// a time.
func (w writable) sendsBack(t *testing.T, c *caller) {
	t.Helper()
	read := c.do(t, http.StatusOK, http.MethodGet, w.path, nil)
	if diff := cmp.Diff(read, c.do(t, http.StatusOK, http.MethodPut, w.path, read)); diff != "" {
		t.Errorf("sending it back unchanged changed it (-want +got):\n%s", diff)
	}
	for member, value := range w.changes {
		body := maps.Clone(read)
		body[member] = value
		got := c.do(t, http.StatusOK, http.MethodPut, w.path, body)
		if fmt.Sprint(got[member]) != fmt.Sprint(value) {
			t.Errorf("%s is %v, not %v", member, got[member], value)
		}
		c.do(t, http.StatusOK, http.MethodPut, w.path, object{member: read[member]})
	}
	got := c.do(t, http.StatusOK, http.MethodGet, w.path, nil)
	delete(got, "updatedAt")
	delete(read, "updatedAt")
	if diff := cmp.Diff(read, got); diff != "" {
		t.Errorf("changing it and changing it back left a difference (-want +got):\n%s", diff)
	}
}

// testSentBack sends back every resource that can be changed with PUT.
func (b *companies) testSentBack(t *testing.T) {
	c := b.caller(t, b.make(t, "Sent back", "Europe/London"), "--rate-limit", "10000")
	resources := map[string]writable{
		"a customer": {c.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com", "mobile": "+44 7700 900100"}),
			object{"firstName": "Augusta", "email": "ada@example.org", "mobile": "", "archived": true}},
		"a pass": {c.create(t, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month", "price": 9.95, "eligibleEventTypes": []string{"class"}}),
			object{"title": "Six", "totalUses": 6, "validityUnit": "week", "price": 12.5, "eligibleEventTypes": []string{"class", "event"}, "status": "archived"}},
		"a pass for all events": {c.create(t, "/passes", object{"title": "All", "totalUses": 5, "validityCount": 1, "validityUnit": "month"}), object{"description": "Everything"}},
	}
	for name, e := range events() {
		changes := object{"title": "Glaze", "description": "Bring\na mat", "location": "Studio 2"}
		maps.Copy(changes, e.changes)
		resources[name] = writable{e.create(t, c), changes}
	}
	for name, w := range resources {
		t.Run("of "+name, func(t *testing.T) { w.sendsBack(t, c) })
	}
}

// eventCase is an event to create, with changes to make in addition to changes of its texts.
type eventCase struct {
	body, changes object
	cancel        bool
}

func (e eventCase) create(t *testing.T, c *caller) string {
	t.Helper()
	body := object{"title": "Clay", "timezone": "Europe/London", "pricingOptions": []object{
		{"name": "Member", "price": 12.35, "taxRate": 17.5, "credits": 2}, {"name": "Guest", "price": 20, "currency": "EUR"},
	}}
	maps.Copy(body, e.body)
	path := c.create(t, "/events", body)
	if e.cancel {
		c.do(t, http.StatusOK, http.MethodPut, path, object{"status": "cancelled"})
	}
	return path
}

func events() map[string]eventCase {
	in := func(d time.Duration) string {
		return time.Now().Add(d).UTC().Truncate(time.Minute).Format(time.RFC3339)
	}
	const day = 24 * time.Hour
	one := object{"startsAt": in(day), "duration": 60, "capacity": 12}
	several := object{"duration": 60, "capacity": 5, "dates": []object{{"startsAt": in(-day)}, {"startsAt": in(day)}, {"startsAt": in(2 * day), "duration": 90, "capacity": 7}}}
	cases := map[string]eventCase{
		"an event with a policy":           {body: object{"startsAt": in(day), "duration": 60, "freeCancellationMinutes": 720}, changes: object{"freeCancellationMinutes": nil}},
		"an event without a limit":         {body: object{"startsAt": in(day), "duration": 60}, changes: object{"capacity": 3, "freeCancellationMinutes": 60, "timezone": "Asia/Tokyo"}},
		"an event with a date":             {body: one, changes: object{"capacity": nil, "duration": 45, "startsAt": in(3 * day), "endsAt": in(day + 2*time.Hour), "type": "course"}},
		"an event with a past date":        {body: object{"startsAt": in(-day), "duration": 60, "capacity": 12}, changes: object{"capacity": 14}},
		"an event with several dates":      {body: several},
		"an event with several past dates": {body: object{"duration": 60, "dates": []object{{"startsAt": in(-2 * day)}, {"startsAt": in(-day)}}}},
		"an event that recurs": {body: object{"startsAt": "2098-06-01T09:30", "endsAt": "2098-06-01T10:30", "capacity": 5,
			"recurrence": object{"rule": "FREQ=WEEKLY;COUNT=4", "exceptions": []string{"2098-06-08"}}}},
		"a draft":                         {body: object{"startsAt": in(day), "duration": 60, "status": "draft"}, changes: object{"type": "workshop"}},
		"a cancelled event":               {body: one, cancel: true},
		"a cancelled event of many dates": {body: several, cancel: true},
		"a cancelled past event":          {body: object{"startsAt": in(-day), "duration": 60}, cancel: true},
	}
	for _, kind := range []string{"class", "event", "workshop", "course", "appointment"} {
		body := maps.Clone(one)
		body["type"] = kind
		cases["an event of the type "+kind] = eventCase{body: body}
	}
	return cases
}

// testEventUpdates changes events in the form in which they were created.
func (b *companies) testEventUpdates(t *testing.T) {
	c := b.caller(t, b.make(t, "Updates", "Europe/London"), "--rate-limit", "10000")
	invalid := func(t *testing.T, method, path string, body object, field, rule string) {
		t.Helper()
		details := c.do(t, http.StatusBadRequest, method, path, body)["error"].(object)["details"].(object)
		if details["field"] != field || details["rule"] != rule {
			t.Errorf("got %v, not %s: %s", details, field, rule)
		}
	}
	t.Run("the local end time of an event is correct across a clock change", func(t *testing.T) {
		night := object{"title": "Night watch", "timezone": "Europe/London", "startsAt": "2027-10-30T22:00", "endsAt": "2027-10-31T06:00"}
		path := c.create(t, "/events", night)
		if got := c.do(t, http.StatusOK, http.MethodGet, path, nil); got["duration"] != 540.0 || got["endsAt"] != "2027-10-31T06:00:00Z" {
			t.Errorf("got %v", got)
		}
		if got := c.do(t, http.StatusOK, http.MethodPatch, path, object{"endsAt": "2027-10-31T05:00"}); got["duration"] != 480.0 {
			t.Errorf("got %v", got)
		}
		night["duration"] = 470
		invalid(t, http.MethodPost, "/events", night, "duration", "mismatch")
		invalid(t, http.MethodPatch, path, night, "duration", "mismatch")
		night["duration"] = 540
		c.do(t, http.StatusOK, http.MethodPatch, path, night)
		delete(night, "timezone") // the company's
		c.create(t, "/events", night)
	})
	t.Run("capacity, duration and prices change for all dates of an event", func(t *testing.T) {
		path := events()["an event with several dates"].create(t, c)
		got := c.do(t, http.StatusOK, http.MethodPatch, path, object{"capacity": 9, "duration": 45, "pricingOptions": []object{{"name": "Child", "price": 5}}})
		if got["capacity"] != 18.0 || got["spotsAvailable"] != 18.0 || len(got["pricingOptions"].([]any)) != 3 {
			t.Errorf("got %v", got)
		}
		dates := c.do(t, http.StatusOK, http.MethodGet, "/event-dates?eventId="+got["id"].(string), nil)["eventDates"].([]any)
		for i, want := range []object{{"capacity": 5.0, "duration": 60.0}, {"capacity": 9.0, "duration": 45.0}, {"capacity": 9.0, "duration": 45.0}} {
			if d := dates[i].(object); d["capacity"] != want["capacity"] || d["duration"] != want["duration"] {
				t.Errorf("date %d is %v", i, d)
			}
		}
		invalid(t, http.MethodPatch, path, object{"startsAt": "2098-01-01T10:00:00Z"}, "startsAt", "ambiguous")
		invalid(t, http.MethodPatch, path, object{"recurrence": object{"rule": "FREQ=DAILY;COUNT=2"}}, "recurrence", "immutable")
	})
	t.Run("a registration has an ETag, and cancelling respects If-Match", func(t *testing.T) {
		customer := c.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
		event := c.create(t, "/events", object{"title": "Clay", "startsAt": "2098-01-01T10:00:00Z", "duration": 60})
		booking := object{"customerId": customer[len("/customers/"):]}
		made := c.send(t, http.StatusCreated, http.MethodPost, event+"/registrations", booking, nil)
		path := made.Get("Location")[len("/api/v1"):]
		if read := c.send(t, http.StatusOK, http.MethodGet, path, nil, nil); read.Get("ETag") == "" || read.Get("ETag") != made.Get("ETag") {
			t.Errorf("got %q, then %q", made.Get("ETag"), read.Get("ETag"))
		}
		c.send(t, http.StatusPreconditionFailed, http.MethodDelete, path, nil, http.Header{"If-Match": {`"7"`}})
		c.send(t, http.StatusOK, http.MethodDelete, path, nil, http.Header{"If-Match": {made.Get("ETag")}})
	})
	t.Run("an Idempotency-Key is separate for each kind of resource, and must not be empty", func(t *testing.T) {
		key := http.Header{"Idempotency-Key": {"one"}}
		c.send(t, http.StatusCreated, http.MethodPost, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"}, key)
		c.send(t, http.StatusCreated, http.MethodPost, "/events", object{"title": "Clay", "startsAt": "2098-01-01T10:00:00Z", "duration": 60}, key)
		c.send(t, http.StatusCreated, http.MethodPost, "/passes", object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"}, key)
		c.send(t, http.StatusConflict, http.MethodPost, "/events", object{"title": "Glaze", "startsAt": "2098-01-01T10:00:00Z", "duration": 60}, key)
		c.send(t, http.StatusBadRequest, http.MethodPost, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"}, http.Header{"Idempotency-Key": {""}})
	})
	t.Run("a DELETE repeated with its Idempotency-Key gets the first answer", func(t *testing.T) {
		customer := c.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
		event := c.create(t, "/events", object{"title": "Clay", "startsAt": "2098-01-01T10:00:00Z", "duration": 60})
		booking := object{"customerId": customer[len("/customers/"):]}
		registration := c.send(t, http.StatusCreated, http.MethodPost, event+"/registrations", booking, nil).Get("Location")[len("/api/v1"):]
		for _, tt := range []struct {
			path  string
			again int // the status of a repeat without the key
		}{{registration, http.StatusBadRequest}, {event, http.StatusNotFound}, {customer, http.StatusNotFound}} {
			key := http.Header{"Idempotency-Key": {"delete " + tt.path}}
			c.send(t, http.StatusBadRequest, http.MethodDelete, tt.path, nil, key)
			key.Set("Idempotency-Key", "delete-"+tt.path)
			for range 2 {
				c.send(t, http.StatusOK, http.MethodDelete, tt.path, nil, key)
			}
			c.send(t, tt.again, http.MethodDelete, tt.path, nil, nil)
		}
	})
	t.Run("a cancelled event refuses registrations", func(t *testing.T) {
		path := events()["a cancelled event"].create(t, c)
		for _, body := range []object{{"capacity": 5}, {"type": "event"}, {"status": "published"}, {"freeCancellationMinutes": 5}, {"pricingOptions": []object{{"name": "Child", "price": 5}}}} {
			if got := c.do(t, http.StatusBadRequest, http.MethodPut, path, body)["error"].(object); got["code"] != "EVENT_CANCELLED" {
				t.Errorf("%v: got %v", body, got)
			}
		}
	})
	t.Run("an empty currency or timezone is refused", func(t *testing.T) {
		path := events()["an event with a date"].create(t, c)
		option := c.do(t, http.StatusOK, http.MethodGet, path, nil)["pricingOptions"].([]any)[0].(object)["id"]
		invalid(t, http.MethodPut, path, object{"timezone": ""}, "timezone", "required")
		invalid(t, http.MethodPut, path, object{"pricingOptions": []object{{"id": option, "currency": ""}}}, "pricingOptions[0].currency", "required")
		pass := object{"title": "Five", "totalUses": 5, "validityCount": 1, "validityUnit": "month"}
		passPath := c.create(t, "/passes", pass)
		invalid(t, http.MethodPut, passPath, object{"currency": ""}, "currency", "required")
		pass["currency"] = ""
		invalid(t, http.MethodPost, "/passes", pass, "currency", "required")
	})
}
