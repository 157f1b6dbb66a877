package model

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"reservation.dev/test/harness"
)

// check reads a resource or a whole list after each step, and compares it with the model.
func (m *machine) check(t *rapid.T) {
	switch choose(t, "look at", "event", "pass", "customer", "customers", "events", "passes", "customer-passes", "registrations", "nothing", "nothing") {
	case "event":
		e := one(t, "event", m.events)
		m.read(t, e.path(), e.deleted, e.view, "createdAt", "updatedAt")
	case "customer":
		c := one(t, "customer", m.customers)
		m.read(t, c.path(), c.deleted, c.view, "createdAt", "updatedAt")
	case "pass":
		if h := one(t, "held", m.held); h != nil {
			m.read(t, h.path(), false, h.view, looseOfHeld()...)
		}
		if p := one(t, "pass", m.passes); p != nil {
			m.read(t, p.path(), false, p.view, "createdAt", "updatedAt")
		}
	case "customers":
		m.listCustomers(t)
	case "events":
		m.listEvents(t)
	case "passes":
		m.listPasses(t)
	case "customer-passes":
		m.listHeld(t)
	case "registrations":
		m.listRegistrations(t)
	}
}

// read compares one resource. Returned credits can take a moment to reach a pass.
func (m *machine) read(t *rapid.T, path string, deleted bool, view func() object, without ...string) {
	a := m.call(t, http.MethodGet, path, nil)
	if deleted {
		a.expect(t, 0, missing)
		return
	}
	a.expect(t, http.StatusOK, fine)
	want, _ := plain(t, view()).(object)
	for deadline := time.Now().Add(soon); want["remainingUses"] != nil && a.body["remainingUses"] != want["remainingUses"] && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		a = m.call(t, http.MethodGet, path, nil)
	}
	a.same(t, a.body, want, without...)
}

func (m *machine) listCustomers(t *rapid.T) {
	q := url.Values{}
	email, byEmail := filter(t, q, "email", "a@example.com", "b@example.com", "nobody@example.com")
	archived, byArchived := filter(t, q, "archived", "true", "false")
	var want []object
	for _, c := range m.customers {
		if !c.deleted && (!byEmail || c.email == email) && (!byArchived || strconv.FormatBool(c.archived) == archived) {
			want = append(want, c.view())
		}
	}
	m.list(t, "/customers", "customers", q, want, true, "createdAt", "updatedAt")
}

func (m *machine) listEvents(t *rapid.T) {
	q := url.Values{}
	kind, byKind := filter(t, q, "type", "class", "workshop", "course")
	status, byStatus := filter(t, q, "status", "draft", "published", "cancelled")
	from, byFrom := filter(t, q, "startsFrom", "2098-06-02T00:00:00Z", "2025-01-01T00:00:00Z")
	before, byBefore := filter(t, q, "startsBefore", "2098-06-03T00:00:00+05:30", "2021-01-01T00:00:00Z")
	bound := func(text string) time.Time { at, _ := time.Parse(time.RFC3339, text); return at }
	var want []object
	for _, e := range m.events {
		within := slices.ContainsFunc(e.dates, func(d *date) bool {
			return (!byFrom || !d.start.Before(bound(from))) && (!byBefore || d.start.Before(bound(before)))
		})
		if !e.deleted && within && (!byKind || e.kind == kind) && (!byStatus || e.status == status) {
			want = append(want, e.show(3))
		}
	}
	m.list(t, "/events", "events", q, want, true, "createdAt", "updatedAt")
}

func (m *machine) listPasses(t *rapid.T) {
	q := url.Values{}
	status, byStatus := filter(t, q, "status", "active", "archived")
	var want []object
	for _, p := range m.passes {
		if !byStatus || p.status == status {
			want = append(want, p.view())
		}
	}
	m.list(t, "/passes", "passes", q, want, true, "createdAt", "updatedAt")
}

func (m *machine) listHeld(t *rapid.T) {
	for _, h := range m.held { // returned credits may not have arrived yet
		harness.Eventually(m.t, soon, func() error {
			if a := m.call(t, http.MethodGet, h.path(), nil); fmt.Sprint(a.body["remainingUses"]) != strconv.Itoa(h.remaining) {
				return fmt.Errorf("want %d remaining uses: %s", h.remaining, a.what)
			}
			return nil
		})
	}
	q := url.Values{}
	status, byStatus := filter(t, q, "status", "active", "pending", "exhausted", "expired", "paused", "cancelled")
	c, p := m.anyCustomer(t, "holder"), one(t, "of pass", m.passes)
	_, byHolder := filter(t, q, "customerId", c.id)
	byPass := false
	if p != nil {
		_, byPass = filter(t, q, "passId", p.id)
	}
	var want []object
	for _, h := range m.held {
		if (!byStatus || h.status() == status) && (!byHolder || h.holder == c) && (!byPass || h.pass == p) {
			want = append(want, h.view())
		}
	}
	m.list(t, "/customer-passes", "customerPasses", q, want, true, looseOfHeld()...)
}

func (m *machine) listRegistrations(t *rapid.T) {
	e := one(t, "event", m.events)
	path := e.path() + "/registrations"
	if e.deleted {
		m.call(t, http.MethodGet, path, nil).expect(t, 0, missing)
		return
	}
	q := url.Values{}
	status, byStatus := filter(t, q, "status", "confirmed", "cancelled")
	c, d := m.anyCustomer(t, "who"), one(t, "date", e.dates)
	_, byWho := filter(t, q, "customerId", c.id)
	_, byDate := filter(t, q, "eventDateId", d.id)
	var want []object
	for _, r := range m.registered() {
		if r.event == e && (!byStatus || r.status == status) && (!byWho || r.who == c) && (!byDate || r.date == d) {
			want = append(want, r.view())
		}
	}
	m.list(t, path, "registrations", q, want, false, loose()...)
}

// filter adds a filter to a list in one run of three.
func filter(t *rapid.T, q url.Values, name string, from ...string) (string, bool) {
	if rapid.IntRange(0, 2).Draw(t, "by "+name) > 0 {
		return "", false
	}
	v := choose(t, name, from...)
	q.Set(name, v)
	return v, true
}

// list reads a whole list, by cursor or by page number, and compares it with want, which is in
// order of creation.
func (m *machine) list(t *rapid.T, path, collection string, q url.Values, want []object, byChange bool, without ...string) {
	sorts := []string{"", "createdAt", "-createdAt"}
	if byChange {
		sorts = append(sorts, "updatedAt", "-updatedAt")
	}
	sort := choose(t, "sort", sorts...)
	if sort != "" {
		q.Set("sort", sort)
	}
	if sort == "-createdAt" {
		slices.Reverse(want)
	}
	m.pages(t, path, collection, q, want, sort == "updatedAt" || sort == "-updatedAt", without...)
}

// pages reads the pages of a list. In some runs it asks for changes since long ago, which are all.
func (m *machine) pages(t *rapid.T, path, collection string, q url.Values, want []object, anyOrder bool, without ...string) {
	size := 25
	if n := choose(t, "perPage", 0, 1, 2, 7, 100, 101, 5000); n > 0 {
		q.Set("perPage", strconv.Itoa(n))
		size = min(n, 100)
	}
	if rapid.IntRange(0, 3).Draw(t, "changed since") == 0 {
		q.Set("updatedSince", choose(t, "since", "2020-01-01T00:00:00Z", "2020-01-01T05:30:00+05:30"))
	}
	byCursor := rapid.Bool().Draw(t, "by cursor")
	var got []any
	for page := 1; ; page++ {
		a := m.call(t, http.MethodGet, path+"?"+q.Encode(), nil)
		a.expect(t, http.StatusOK, fine)
		items, _ := a.body[collection].([]any)
		number := page
		if byCursor {
			number = 1
		}
		if fmt.Sprintln(a.body["total"], a.body["page"], a.body["perPage"]) != fmt.Sprintln(len(want), number, size) || len(items) > size {
			t.Fatalf("want a total of %d, page %d and perPage %d: %s", len(want), number, size, a.what)
		}
		got = append(got, items...)
		next, more := a.body["nextCursor"].(string)
		if more != (len(got) < len(want)) {
			t.Fatalf("%d of %d, and nextCursor is %q: %s", len(got), len(want), next, a.what)
		}
		if !more {
			break
		}
		if byCursor {
			q.Set("cursor", next)
		} else {
			q.Set("page", strconv.Itoa(page+1))
		}
	}
	m.compare(t, path+"?"+q.Encode(), got, want, anyOrder, without)
}

func (m *machine) compare(t *rapid.T, what string, got []any, want []object, anyOrder bool, without []string) {
	expected := make([]any, len(want))
	for i := range want {
		expected[i] = plain(t, want[i])
	}
	for _, item := range got {
		remove(item, without)
	}
	if anyOrder {
		byID := func(a, b any) int {
			return cmp.Compare(fmt.Sprint(a.(object)["id"]), fmt.Sprint(b.(object)["id"]))
		}
		slices.SortFunc(got, byID)
		slices.SortFunc(expected, byID)
	}
	if diff := gocmp.Diff(expected, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
