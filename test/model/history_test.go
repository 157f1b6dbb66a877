package model

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"pgregory.net/rapid"
)

// facts returns the members of the registration that its history has before and after each change.
func (r *registration) facts() object {
	return object{
		"eventDateId": r.date.id, "eventDate": instant(r.date.start), "timezone": r.event.zone, "eventId": r.event.id, "eventTitle": r.event.title,
		"pricingOptionId": r.option.id, "spots": r.spots, "customerId": r.who.id, "managedById": r.manager.id, "attendance": r.attendance,
		"price": decimal(r.price), "credits": r.credits,
	}
}

// log adds a change to the history. before is what facts returned before it; members replace those of an
// entry without a payment and a reason.
func (r *registration) log(action string, before, members object) {
	entry := object{
		"action": action, "after": r.facts(), "reason": "", "amount": decimal(0), "paymentMethod": nil, "paymentReference": "",
		"policyWaived": false, "swappedWith": nil,
	}
	if before != nil {
		entry["before"] = before
	}
	maps.Copy(entry, members)
	r.history = append(r.history, entry)
}

// compareHistory reads the history of a registration in pages, and compares it.
func (m *machine) compareHistory(t *rapid.T, r *registration, perPage int, byCursor bool) {
	want := make([]object, len(r.history))
	for i, entry := range r.history {
		want[i] = object{"actor": m.key, "via": "interface_b"}
		maps.Copy(want[i], entry)
	}
	path := "/registrations/" + r.id + "/history?perPage=" + strconv.Itoa(perPage)
	var got []any
	query, last := "", time.Time{}
	for page := 1; ; page++ {
		a := m.call(t, http.MethodGet, path+query, nil)
		a.expect(t, http.StatusOK, fine)
		if fmt.Sprint(a.body["total"]) != strconv.Itoa(len(want)) {
			t.Fatalf("want %d entries: %s", len(want), a.what)
		}
		entries, _ := a.body["history"].([]any)
		for _, entry := range entries {
			text, _ := entry.(object)["at"].(string)
			at, err := time.Parse(time.RFC3339, text) // as texts, 05.5Z is before 05Z
			if err != nil || at.Before(last) {
				t.Fatalf("an entry is older than the one before it, %v: %s", err, a.what)
			}
			last = at
		}
		got = append(got, entries...)
		next, more := a.body["nextCursor"].(string)
		if more != (len(got) < len(want)) {
			t.Fatalf("%d of %d, and nextCursor is %q: %s", len(got), len(want), next, a.what)
		}
		if !more {
			break
		}
		if query = "&page=" + strconv.Itoa(page+1); byCursor {
			query = "&cursor=" + next
		}
	}
	m.compare(t, path, got, want, false, []string{"at"})
}
