package additions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world has two of every resource.
type world struct {
	*caller
	customer, event, eventDate, registration, transaction, hold, entry, code, pass, customerPass, endpoint, delivery string
}

func newWorld(t *testing.T, p *platform) *world {
	t.Helper()
	w := &world{caller: p.newCaller(t)}
	for i := range 2 {
		w.customer = w.caller.customer(t, "Ada", "Byron")
		event := w.caller.event(t, object{"capacity": 3})
		w.event, w.eventDate = text(event, "id"), text(event, "dates.0.id")
		registered := w.register(t, event, w.customer, nil)
		w.registration, w.transaction = text(registered, "id"), text(registered, "transactionId")
		w.hold = text(w.create(t, "/holds", object{"purchasedById": w.customer, "lines": []object{{"eventDateId": w.eventDate, "spots": 2}}}), "id")
		w.entry = text(w.create(t, path(w.eventDate)+"/waitlist", object{"customerId": w.customer}), "id")
		w.code = text(w.create(t, "/discount-codes", object{"code": fmt.Sprint("CODE-", i), "percent": 10}), "id")
		passType := w.passType(t, nil)
		pass := w.give(t, passType, w.customer, nil)
		w.pass, w.customerPass = text(passType, "id"), text(pass, "id")
		w.register(t, w.caller.event(t, nil), w.customer, byPass(pass)) // a second entry of the ledger
		w.endpoint = text(w.create(t, "/webhook-endpoints", object{"url": "https://receiver.invalid/", "events": []any{"customer.updated"}}), "id")
		w.delivery = text(decode(t, w.write(t, 200, post, path(w.endpoint)+"/test", object{"event": "customer.updated"})), "deliveryId")
	}
	return w
}

// list is a list of Interface B.
type list struct {
	path, permission string
	// without are the parameters of other lists that this one does not have: event dates are ordered by
	// their start and deliveries by their age, a ledger never changes, and there are few endpoints.
	without string
}

func (w *world) collections() []list {
	return []list{
		{path: "/customers", permission: "customers:read"},
		{path: "/events", permission: "events:read"},
		{path: "/event-dates", permission: "events:read", without: "sort updatedSince"},
		{path: "/registrations", permission: "registrations:read"},
		{path: "/transactions", permission: "transactions:read"},
		{path: "/waitlist-entries", permission: "waitlist:read"},
		{path: "/discount-codes", permission: "discounts:read"},
		{path: "/passes", permission: "passes:read"},
		{path: "/customer-passes", permission: "customer-passes:read"},
		{path: path(w.customerPass) + "/ledger", permission: "customer-passes:read", without: "updatedSince"},
		{path: "/webhook-endpoints", permission: "webhooks:read", without: "cursor sort updatedSince"},
		{path: "/webhook-deliveries", permission: "webhooks:read", without: "sort updatedSince"},
	}
}

// member is a single resource of Interface B.
type member struct{ id, permission string }

func (w *world) members() []member {
	return []member{
		{w.customer, "customers:read"}, {w.event, "events:read"}, {w.eventDate, "events:read"}, {w.registration, "registrations:read"},
		{w.transaction, "transactions:read"}, {w.hold, "holds:read"}, {w.entry, "waitlist:read"}, {w.code, "discounts:read"}, {w.pass, "passes:read"},
		{w.customerPass, "customer-passes:read"}, {w.endpoint, "webhooks:read"},
	}
}

func testRules(t *testing.T, p *platform) {
	w := newWorld(t, p)
	for _, l := range w.collections() {
		t.Run("list "+collection(l.path), func(t *testing.T) { w.testList(t, l) })
	}
	t.Run("a resource that has not changed is 304", func(t *testing.T) {
		for _, m := range w.members() {
			w.testConditionalRead(t, path(m.id))
		}
	})
	t.Run("a missing permission is named", w.testPermissions)
	t.Run("PUT accepts what GET returned", w.testPutBack)
	t.Run("If-Match protects every change", w.testIfMatch)
	t.Run("Idempotency-Key", w.testIdempotencyKeys)
	t.Run("what does not exist is 404", func(t *testing.T) {
		other := p.newCaller(t)
		for _, m := range w.members() {
			other.Refused(t, 404, "NOT_FOUND", get, path(m.id), nil)
		}
	})
}

// testList checks the parameters and the envelope of a list of at least two items.
func (w *world) testList(t *testing.T, l list) {
	name, has := collection(l.path), func(parameter string) bool { return !strings.Contains(l.without, parameter) }
	read := func(query string) []object { return items(t, w.get(t, l.path+query), name) }
	w.testPages(t, l)
	if has("cursor") {
		w.refuses(t, "INVALID_PARAMETER", get, l.path+"?cursor=x", nil)
		w.testCursor(t, l)
	}
	if has("sort") {
		w.refuses(t, "INVALID_PARAMETER", get, l.path+"?sort=x", nil)
		newest := read("?sort=-createdAt")
		slices.Reverse(newest)
		if diff := cmp.Diff(read("?sort=createdAt"), newest); diff != "" {
			t.Errorf("by time: %s", diff)
		}
	}
	if has("updatedSince") {
		if got := read("?updatedSince=" + in(day)); len(got) != 0 {
			t.Errorf("%d items are from the future", len(got))
		}
		if got, want := len(read("?updatedSince="+in(-day))), len(read("")); got != want {
			t.Errorf("%d items of %d are from the last day", got, want)
		}
	}
	w.testConditionalRead(t, l.path)
}

// testPages reads a list page by page.
func (w *world) testPages(t *testing.T, l list) {
	name := collection(l.path)
	all := w.get(t, l.path)
	want := items(t, all, name)
	has(t, all, object{"page": 1, "perPage": 25, "total": len(want)})
	has(t, w.get(t, l.path+"?perPage=500"), object{"perPage": 100})
	for _, wrong := range []string{"perPage=0", "perPage=x", "page=0"} {
		w.refuses(t, "INVALID_PARAMETER", get, l.path+"?"+wrong, nil)
	}
	var pages []object
	for i := range want {
		page := w.get(t, fmt.Sprintf("%s?perPage=1&page=%d", l.path, i+1))
		has(t, page, object{"page": i + 1, "perPage": 1, "total": len(want)})
		pages = append(pages, items(t, page, name)...)
	}
	if diff := cmp.Diff(want, pages); diff != "" || len(want) < 2 {
		t.Errorf("%d items, by page: %s", len(want), diff)
	}
}

// testCursor reads a list by the cursors of its pages.
func (w *world) testCursor(t *testing.T, l list) {
	name := collection(l.path)
	want, next := w.list(t, l.path), ""
	var pages []object
	for range want {
		page := w.get(t, l.path+"?perPage=1"+next)
		pages = append(pages, items(t, page, name)...)
		next = "&cursor=" + text(page, "nextCursor")
	}
	if diff := cmp.Diff(want, pages); diff != "" || next != "&cursor=" {
		t.Errorf("by cursor: %s; after the last page: %q", diff, next)
	}
}

// testConditionalRead checks that a GET has an ETag and answers If-None-Match with 304.
func (w *world) testConditionalRead(t *testing.T, at string) {
	t.Helper()
	tag := w.Send(t, 200, get, at, nil).Header.Get("ETag")
	if tag == "" {
		t.Fatalf("%s has no ETag", at)
	}
	for _, match := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if answer := w.Send(t, 304, get, at, nil, "If-None-Match", match); len(answer.Body) > 0 || answer.Header.Get("ETag") != tag {
			t.Errorf("%s: %q, ETag %s", at, answer.Body, answer.Header.Get("ETag"))
		}
	}
	w.Send(t, 200, get, at, nil, "If-None-Match", `"x"`)
}

func (w *world) testPermissions(t *testing.T) {
	writer := w.newKey(t, "holds:write")
	for _, l := range w.collections() {
		has(t, writer.Read(t, 403, get, l.path, nil), object{"error.code": "FORBIDDEN", "error.details.scope": l.permission})
	}
	for _, m := range w.members() {
		has(t, writer.Read(t, 403, get, path(m.id), nil), object{"error.code": "FORBIDDEN", "error.details.scope": m.permission})
	}
}

func (w *world) testPutBack(t *testing.T) {
	for _, id := range []string{w.customer, w.event, w.eventDate, w.code, w.pass, w.customerPass, w.endpoint} {
		for _, method := range []string{put, patch} {
			before := w.get(t, path(id))
			if diff := cmp.Diff(before, w.Read(t, 200, method, path(id), before)); diff != "" {
				t.Errorf("%s %s (-GET +answer): %s", method, id, diff)
			}
			w.readable(t, before)
		}
	}
}

// testIfMatch makes every change of an existing resource with an If-Match that is not its ETag.
func (w *world) testIfMatch(t *testing.T) {
	for id, body := range map[string]object{
		w.customer: {"lastName": "King"}, w.event: {"title": "Glaze"}, w.eventDate: {"capacity": 4}, w.code: {"maxUses": 3}, w.pass: {"title": "Six"},
		w.customerPass: {"remainingUses": 1}, w.endpoint: {"description": "x"},
	} {
		for _, method := range []string{put, patch} {
			tag := w.Send(t, 200, get, path(id), nil).Header.Get("ETag")
			w.Refused(t, 412, "VERSION_MISMATCH", method, path(id), body, "If-Match", `"stale"`)
			w.Send(t, 200, method, path(id), body, "If-Match", tag)
		}
	}
	for _, action := range []struct {
		method, path string
		body         any
	}{
		{remove, path(w.customer), nil}, {remove, path(w.event), nil}, {remove, path(w.endpoint), nil}, {remove, path(w.entry), nil},
		{post, path(w.eventDate) + "/cancel", nil}, {post, path(w.registration) + "/cancel", nil}, {post, path(w.registration) + "/refund", nil},
		{post, path(w.registration) + "/attendance", object{"attendance": "attended"}}, {remove, path(w.event) + "/registrations/" + w.registration, nil},
	} {
		w.Refused(t, 412, "VERSION_MISMATCH", action.method, action.path, action.body, "If-Match", `"stale"`)
	}
	tag := w.Send(t, 200, get, path(w.registration), nil).Header.Get("ETag")
	w.Send(t, 200, post, path(w.registration)+"/cancel", nil, "If-Match", tag)
}

func (w *world) testIdempotencyKeys(t *testing.T) {
	customer := object{"firstName": "Ida", "lastName": "Once", "email": "ida@example.com"}
	ida := w.Read(t, 201, post, "/customers", customer, "Idempotency-Key", "a-key")
	t.Run("a key with another body is refused", func(t *testing.T) {
		w.Refused(t, 409, "IDEMPOTENCY_KEY_REUSED", post, "/customers", with(customer, object{"lastName": "Twice"}), "Idempotency-Key", "a-key")
	})
	t.Run("a key with another kind of resource is another key", func(t *testing.T) {
		w.Send(t, 201, post, "/discount-codes", object{"code": "IDEMPOTENT", "percent": 1}, "Idempotency-Key", "a-key")
	})
	t.Run("a key of another caller is another key", func(t *testing.T) {
		other := w.newKey(t)
		if again := other.Read(t, 201, post, "/customers", customer, "Idempotency-Key", "a-key"); again["id"] == ida["id"] {
			t.Errorf("both callers created %s", ida["id"])
		}
	})
	t.Run("the answer is kept after the resource has changed", func(t *testing.T) {
		w.Send(t, 200, patch, path(text(ida, "id")), object{"lastName": "Later"}, "Idempotency-Key", "another-key")
		if diff := cmp.Diff(ida, w.Read(t, 201, post, "/customers", customer, "Idempotency-Key", "a-key")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a key with an action on another resource is refused", func(t *testing.T) {
		first, second := w.caller.customer(t, "Ed", "One"), w.caller.customer(t, "Ed", "Two")
		w.Send(t, 200, remove, path(first), nil, "Idempotency-Key", "deletion")
		w.Refused(t, 409, "IDEMPOTENCY_KEY_REUSED", remove, path(second), nil, "Idempotency-Key", "deletion")
		w.Refused(t, 404, "NOT_FOUND", remove, path(first), nil)
	})
}
