package model

import (
	"net/http"
	"time"

	"pgregory.net/rapid"
)

// bookingRules limits when and how often an event can be booked. The zero value means no limit.
type bookingRules struct {
	opens, closes   time.Time
	notice, advance int // minutes and days before the start
	once            bool
}

// body returns the rules as a request has them.
func (r bookingRules) body() object {
	out := object{}
	if !r.opens.IsZero() {
		out["opensAt"] = instant(r.opens)
	}
	if !r.closes.IsZero() {
		out["closesAt"] = instant(r.closes)
	}
	if r.notice > 0 {
		out["minimumNoticeMinutes"] = r.notice
	}
	if r.advance > 0 {
		out["maximumAdvanceDays"] = r.advance
	}
	if r.once {
		out["oncePerCustomer"] = true
	}
	return out
}

func (r bookingRules) view() object {
	out := object{"opensAt": nil, "closesAt": nil, "minimumNoticeMinutes": 0, "maximumAdvanceDays": nil, "oncePerCustomer": false}
	for name, value := range r.body() {
		out[name] = value
	}
	return out
}

// window returns when the booking of a date opens and closes; zero means no limit.
func (r bookingRules) window(e *event, d *date) (opens, closes time.Time) {
	opens, closes = r.opens, r.closes
	if r.advance > 0 {
		loc, err := time.LoadLocation(e.zone)
		if err != nil {
			panic(err) // the model only draws valid zones
		}
		l := d.start.In(loc) // dates begin at noon, which no clock change skips
		if at := time.Date(l.Year(), l.Month(), l.Day()-r.advance, l.Hour(), l.Minute(), 0, 0, loc); at.After(opens) {
			opens = at
		}
	}
	if closes.After(d.start) {
		closes = d.start
	}
	if before := d.start.Add(-time.Duration(r.notice) * time.Minute); r.notice > 0 && (closes.IsZero() || before.Before(closes)) {
		closes = before
	}
	return opens, closes
}

// drawRules draws rules, most of which do not close the booking now.
func drawRules(t *rapid.T) bookingRules {
	const century = 100 * 365 * 24 * time.Hour
	now := time.Now().Truncate(time.Second)
	return bookingRules{
		opens:   choose(t, "opens", time.Time{}, time.Time{}, now.Add(-time.Hour), now.Add(-time.Hour), now.Add(century/50)),
		closes:  choose(t, "closes", time.Time{}, time.Time{}, now.Add(century), now.Add(century), now.Add(-time.Minute)),
		notice:  choose(t, "notice", 0, 0, 60, 525_600),
		advance: choose(t, "advance", 0, 0, 0, 3650),
		once:    rapid.Bool().Draw(t, "once"),
	}
}

// changeRules replaces the rules of an event. Entries that wait are tried again.
func (m *machine) changeRules(t *rapid.T) {
	e := m.forSale(t)
	after := drawRules(t)
	if rapid.Bool().Draw(t, "none") {
		after = bookingRules{once: rapid.Bool().Draw(t, "once")}
	}
	want := fine
	switch {
	case !after.opens.IsZero() && !after.closes.IsZero() && !after.closes.After(after.opens):
		want = invalid("bookingRules.closesAt")
	case after != e.rules && e.status == "cancelled":
		want = refuse("EVENT_CANCELLED")
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPatch, e.path(), object{"bookingRules": after.body()})
	if !ok {
		return
	}
	changed := after != e.rules
	e.rules = after
	if changed {
		m.free(t, e.dates...)
	}
	a.same(t, m.call(t, http.MethodGet, e.path(), nil).body, e.view(), "createdAt", "updatedAt")
}
