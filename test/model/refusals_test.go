package model

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// bad is a member with a value that is refused regardless of the rest of the request.
type bad struct {
	member string
	value  any
	field  string // that the error names; "": the member
}

// wrong returns a bad member for each of the values.
func wrong(member string, values ...any) []bad {
	var all []bad
	for _, v := range values {
		all = append(all, bad{member: member, value: v})
	}
	return all
}

func long(n int) string { return strings.Repeat("ü", n) }

func at(field, member string, values ...any) []bad {
	all := wrong(member, values...)
	for i := range all {
		all[i].field = field
	}
	return all
}

func join(lists ...[]bad) []bad {
	var all []bad
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func many(n int, v any) []any { return slices.Repeat([]any{v}, n) }

func badCustomer() []bad {
	return join(
		wrong("firstName", "", " ", long(101), 5, true, []string{"x"}, object{}, "a\x00b", "a\nb"),
		wrong("lastName", "", long(101), 5.5),
		wrong("email", "", "nobody", "a@b", "a@@example.com", "a b@example.com", "Ada <a@example.com>", strings.Repeat("a", 250)+"@example.com", 5),
		wrong("mobile", long(41), 447700900100, "\x01"),
		wrong("archived", "true", 1, object{}),
	)
}

// badEvent returns the members that are refused both when an event is created and when it is
// changed.
func badEvent() []bad {
	one := func(member string, values ...any) []bad {
		var all []bad
		for _, v := range values {
			o := object{"name": "Other", "price": 1, member: v}
			all = append(all, bad{"pricingOptions", []object{o}, "pricingOptions[0]." + member})
		}
		return all
	}
	return join(
		wrong("title", "", "  ", long(201), 5, "a\nb"),
		wrong("description", long(10_001), false, "\x02"),
		wrong("location", long(201), object{}),
		wrong("type", "party", "", "CLASS", 5),
		wrong("status", "open", "", true),
		wrong("timezone", "Mars/Olympus", "Europe/london/", "../UTC", 1),
		wrong("freeCancellationMinutes", -1, 525_601, "60", 1.5),
		wrong("dates", "tomorrow", object{}),
		one("name", "", long(201), 5),
		one("price", -1, -0.01, 1.234, "1", 1e15, true),
		one("currency", "JPY", "gbp", 5),
		one("credits", -1, 100_001, 0.5, "1"),
		one("taxRate", -1, 101, 0.001, "20"),
		at("pricingOptions[0]", "pricingOptions", []any{5}),
	)
}

func badRegistration() []bad {
	payment := func(member string, values ...any) []bad {
		var all []bad
		for _, v := range values {
			all = append(all, bad{"payment", object{member: v}, "payment." + member})
		}
		return all
	}
	return join(
		wrong("customerId", nil, "", 5, true),
		wrong("spots", 0, -1, 1001, 1<<40, 1.5, "2"),
		wrong("eventDateId", 5), wrong("pricingOptionId", object{}), wrong("discountCode", 5), wrong("purchasedById", 7),
		wrong("payment", "CARD", 5),
		payment("method", "VOUCHER", "", "card", 5), payment("reference", long(201), 5, "a\nb"), payment("customerPassId", 5),
	)
}

func badPass() []bad {
	return join(
		wrong("title", "", " ", long(201), 5), wrong("description", long(10_001), 5),
		wrong("totalUses", 0, -1, 100_001, 1.5, "5"), wrong("validityCount", 0, -1, 1001, "2"),
		wrong("validityUnit", "fortnight", "", "MONTH", 5), wrong("price", -1, 0.001, "60"), wrong("currency", "JPY", 5),
		wrong("eligibleEventTypes", "class", []int{5}), at("eligibleEventTypes[0]", "eligibleEventTypes", []string{"party"}),
	)
}

// request is a valid request to which bad members are added.
type request struct {
	method, path string
	body         object
	bad          []bad
	missing      bool // it refers to a deleted object
}

// sendWrong sends a request with one invalid member, and checks that nothing changes.
func (m *machine) sendWrong(t *rapid.T) {
	c := m.anyCustomer(t, "customer")
	e, p, h := one(t, "event", m.events), one(t, "pass", m.passes), one(t, "held", m.held)
	customer := object{"firstName": "A", "lastName": "B", "email": "a@example.com"}
	class := object{"title": "T", "startsAt": "2098-01-01T00:00:00Z", "duration": 60}
	kind := object{"title": "P", "totalUses": 1, "validityCount": 1, "validityUnit": "month"}
	all := []request{
		{http.MethodPost, "/customers", customer, join(badCustomer(), wrong("firstName", nil), wrong("email", nil)), false},
		{http.MethodPut, c.path(), object{}, badCustomer(), c.deleted},
		{http.MethodPost, "/events", class, join(badEvent(), wrong("title", nil), wrong("startsAt", nil, "soon", "2098-13-01T00:00:00Z", "2098-01-01", 5),
			wrong("duration", nil, 0, -1, 525_601, "60", 0.5), wrong("capacity", -1, "2", 1<<40, 1.5), wrong("endsAt", 5),
			at("status", "status", "cancelled"),
			wrong("dates", many(1001, object{"startsAt": "2098-01-01T00:00:00Z"})), at("dates[0].capacity", "dates", many(1000, object{"startsAt": "2098-01-01T00:00:00Z", "capacity": -1})),
			wrong("pricingOptions", many(51, object{"name": "x", "price": 1})), at("pricingOptions[0]", "pricingOptions", many(5000, 5)),
			at("startsAt", "recurrence", object{"rule": "FREQ=DAILY;COUNT=2"})), false},
		{http.MethodPost, "/events", object{"title": "T", "startsAt": "2098-01-01T09:00", "duration": 60}, join(
			wrong("recurrence", "FREQ=DAILY;COUNT=2", 5), at("recurrence.exceptions", "recurrence", object{"rule": "FREQ=DAILY;COUNT=2", "exceptions": "none"}),
			at("recurrence.exceptions[0]", "recurrence", object{"rule": "FREQ=DAILY;COUNT=2", "exceptions": []string{"2098-13-01"}}),
			at("recurrence.rule", "recurrence", object{"rule": "sometimes"}, object{"rule": ""}, object{}, object{"rule": 5}, object{"rule": "FREQ=DAILY"},
				object{"rule": "FREQ=SECONDLY;UNTIL=20990101"}, object{"rule": "FREQ=DAILY;COUNT=5000"}, object{"rule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=1"}),
		), false},
		{http.MethodPatch, e.path(), object{}, badEvent(), e.deleted},
		{http.MethodPost, e.path() + "/registrations", object{"customerId": c.id}, badRegistration(), e.deleted},
		{http.MethodPost, "/passes", kind, join(badPass(), wrong("title", nil), wrong("totalUses", nil), wrong("validityUnit", nil)), false},
		{http.MethodPost, "/customer-passes", object{}, wrong("customerId", nil, "", 5), false},
	}
	if p != nil {
		all = append(all, request{http.MethodPut, p.path(), object{}, join(badPass(), wrong("status", "open", "", 5)), false})
		if p.status == "active" {
			all = append(all, request{http.MethodPost, "/customer-passes", object{"customerId": c.id, "passId": p.id, "startDate": "2026-01-01"}, join(
				wrong("customerId", nil, "", 5), wrong("passId", nil, "", 5), wrong("startDate", nil, "", "today", "2026-02-30", "2026-1-1", "1899-12-31", "9999-01-01", 5),
				at("payment.amount", "payment", object{"amount": -1}, object{"amount": "1"}, object{"amount": 0.001}), wrong("payment", "CARD"),
			), false})
		}
	}
	if h != nil {
		all = append(all, request{http.MethodPut, h.path(), object{}, join(
			wrong("remainingUses", -1, 100_001, "5", 1.5), wrong("expiryDate", "", "never", "2026-02-30", 5), wrong("status", h.another("expired", "pending"), "", "gone", 5),
			wrong("reason", long(501), 5),
		), false})
	}
	r := all[rapid.IntRange(0, len(all)-1).Draw(t, "request")]
	if kind := r.method + fmt.Sprint(slices.Sorted(maps.Keys(r.body)), len(r.bad), r.missing); !m.sent[kind] {
		for _, b := range r.bad { // all of them once, then single ones in other states
			m.sendBad(t, r, b)
		}
		m.sent[kind] = true
		return
	}
	m.sendBad(t, r, r.bad[rapid.IntRange(0, len(r.bad)-1).Draw(t, "bad")])
}

func (m *machine) sendBad(t *rapid.T, r request, b bad) {
	body := maps.Clone(r.body)
	body[b.member] = b.value
	if b.value == nil {
		delete(body, b.member)
		if m.keys++; m.keys%2 == 0 {
			body[b.member] = nil // null means absent
		}
	}
	field := b.field
	if field == "" {
		field = b.member
	}
	want := invalid(field)
	a := m.call(t, r.method, r.path, body)
	if r.missing && a.code == http.StatusNotFound {
		want = missing // a wrong type is reported first
	}
	a.expect(t, 0, want)
}

// sendNoJSON sends bodies that cannot be decoded.
func (m *machine) sendNoJSON(t *rapid.T) {
	paths := []string{"/customers", "/events", "/passes", "/customer-passes", m.full.path() + "/registrations", "/auth/token"}
	path := choose(t, "path", paths...)
	noJSON := refuse("INVALID_JSON")
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	type request struct {
		body    string
		headers []string
		want    refusal
	}
	r := choose(t, "request", []request{
		{"", nil, noJSON}, {"{", nil, noJSON}, {"[]", nil, noJSON}, {"null", nil, noJSON}, {`"x"`, nil, noJSON}, {`{"a":1} {}`, nil, noJSON},
		{`{"title":"a","title":"b"}`, nil, noJSON}, {`{"x":"\ud800"}`, nil, noJSON}, {"{\"x\":\"\xff\"}", nil, noJSON}, {deep, nil, noJSON},
		{`{"x":01}`, nil, noJSON}, {`{'x':1}`, nil, noJSON},
		{"{}", []string{"Content-Type", "text/plain"}, refusal{http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", ""}},
		{"a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, noJSON},
		{`{"x":"` + strings.Repeat("x", 1<<20) + `"}`, nil, refusal{http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", ""}},
		{"{}", []string{"Authorization", ""}, refusal{http.StatusUnauthorized, "UNAUTHORIZED", ""}},
		{"{}", []string{"Authorization", "Bearer x.y.z"}, refusal{http.StatusUnauthorized, "UNAUTHORIZED", ""}},
		{"{}", []string{"Authorization", "Basic eDp5"}, refusal{http.StatusUnauthorized, "UNAUTHORIZED", ""}},
		{"{}", []string{"Idempotency-Key", strings.Repeat("k", 256)}, refusal{http.StatusBadRequest, "INVALID_PARAMETER", "Idempotency-Key"}},
	}...)
	if path == "/auth/token" && len(r.headers) > 0 && r.headers[0] != "Content-Type" {
		path = "/customers"
	}
	m.call(t, http.MethodPost, path, raw(r.body), r.headers...).expect(t, 0, r.want)
}

// nameMissing refers to objects that do not exist, with valid and invalid identifiers.
func (m *machine) nameMissing(t *rapid.T) {
	other := func(prefix string) string {
		return choose(t, "identifier", prefix+"01jb4x9m3vf6ksn8w2d7pq5r0t", prefix+"x", prefix, "x", prefix+"01JB4X9M3VF6KSN8W2D7PQ5R0T", "%00", "cust_%F0%9F%A4%B7")
	}
	type request struct {
		method, path string
		body         any
	}
	reg := m.full.path() + "/registrations"
	plain := func(prefix string) string {
		return choose(t, "plain", prefix+"01jb4x9m3vf6ksn8w2d7pq5r0t", prefix+"x", "x", "💥")
	}
	c := m.anyCustomer(t, "customer")
	method := choose(t, "method", http.MethodPut, http.MethodPatch)
	r := choose(t, "request", []request{
		{http.MethodGet, "/customers/" + other("cust_"), nil}, {method, "/customers/" + other("cust_"), object{"firstName": "X"}},
		{http.MethodDelete, "/customers/" + other("cust_"), nil},
		{http.MethodGet, "/events/" + other("evt_"), nil}, {method, "/events/" + other("evt_"), object{"title": "X"}}, {http.MethodDelete, "/events/" + other("evt_"), nil},
		{method, "/events/" + other("evt_"), object{"status": "open"}},
		{http.MethodGet, "/events/" + other("evt_") + "/registrations", nil}, {http.MethodPost, "/events/" + other("evt_") + "/registrations", object{"customerId": c.id}},
		{http.MethodGet, "/passes/" + other("pass_"), nil}, {method, "/passes/" + other("pass_"), object{"title": "X"}},
		{http.MethodGet, "/customer-passes/" + other("cp_"), nil}, {method, "/customer-passes/" + other("cp_"), object{"remainingUses": 1}},
		{http.MethodDelete, reg + "/" + other("reg_"), nil},
		{http.MethodPost, reg, object{"customerId": plain("cust_")}},
		{http.MethodPost, reg, object{"customerId": c.id, "eventDateId": plain("date_")}},
		{http.MethodPost, "/customer-passes", object{"customerId": c.id, "passId": plain("pass_"), "startDate": "2026-01-01"}},
		{http.MethodGet, "/nothing", nil}, {http.MethodGet, "/customers/", nil},
	}...)
	m.call(t, r.method, r.path, r.body).expect(t, 0, missing)
}

// listWrong requests lists with invalid parameters.
func (m *machine) listWrong(t *rapid.T) {
	path := choose(t, "path", "/customers", "/events", "/passes", "/customer-passes", m.full.path()+"/registrations")
	type query struct{ text, field string }
	all := []query{
		{"page=0", "page"}, {"page=-1", "page"}, {"page=x", "page"}, {"page=1.5", "page"}, {"page=99999999999", "page"}, {"page=", "page"},
		{"perPage=0", "perPage"}, {"perPage=-5", "perPage"}, {"perPage=ten", "perPage"}, {"perPage=", "perPage"},
		{"cursor=nonsense", "cursor"}, {"cursor=AAAA", "cursor"}, {"sort=price", "sort"}, {"sort=", "sort"},
		{"updatedSince=yesterday", "updatedSince"}, {"updatedSince=2026-01-01", "updatedSince"}, {"updatedSince=2026-01-01T00:00:00", "updatedSince"},
		{"page=1&page=2", "page"}, {"sort=createdAt&sort=createdAt", "sort"},
	}
	switch path {
	case "/customers":
		all = append(all, query{"archived=yes", "archived"}, query{"archived=", "archived"})
	case "/events":
		all = append(all, query{"type=party", "type"}, query{"status=open", "status"}, query{"startsFrom=soon", "startsFrom"}, query{"startsBefore=2026-01-01", "startsBefore"})
	default:
		all = append(all, query{"status=open", "status"})
	}
	q := choose(t, "query", all...)
	m.call(t, http.MethodGet, path+"?"+q.text, nil).expect(t, 0, refusal{http.StatusBadRequest, "INVALID_PARAMETER", q.field})
}

// sendStale updates with a stale ETag and then with the current one, and sends another request
// with a used idempotency key.
func (m *machine) sendStale(t *rapid.T) {
	c := one(t, "customer", m.customers)
	if c.deleted {
		t.Skip("deleted")
	}
	stale := refusal{http.StatusPreconditionFailed, "VERSION_MISMATCH", ""}
	m.call(t, http.MethodPut, c.path(), object{"firstName": "No"}, "If-Match", `"999"`).expect(t, 0, stale)
	m.call(t, http.MethodDelete, c.path(), nil, "If-Match", `"999"`).expect(t, 0, stale)
	tag := m.call(t, http.MethodGet, c.path(), nil).header.Get("ETag")
	a := m.call(t, http.MethodPut, c.path(), object{"mobile": "2"}, "If-Match", tag, "Idempotency-Key", "stale-"+c.id+tag)
	a.expect(t, http.StatusOK, fine)
	c.renamed, c.mobile = true, "2"
	a.same(t, a.body, c.view(), "createdAt", "updatedAt")
	m.call(t, http.MethodPut, c.path(), object{"mobile": "3"}, "Idempotency-Key", "stale-"+c.id+tag).
		expect(t, 0, refusal{http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", ""})
}
