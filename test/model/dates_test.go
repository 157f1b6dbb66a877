package model

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"
)

func (d *date) path() string { return "/event-dates/" + d.id }

// viewDate returns a date as the calendar shows it.
func (m *machine) viewDate(e *event, d *date) object {
	opens, closes := e.rules.window(e, d)
	out := object{
		"id": d.id, "eventId": e.id, "title": e.title, "type": e.kind, "eventStatus": e.status, "status": "scheduled", "startsAt": instant(d.start),
		"endsAt": instant(d.start.Add(time.Duration(d.duration) * time.Minute)), "duration": d.duration, "timezone": e.zone, "location": e.location,
		"capacity": d.capacity, "spotsTaken": d.taken, "spotsAvailable": nil, "staff": []any{}, "rooms": []any{}, "waitlistLength": len(m.waiting(d)),
		"available": e.closed(d, false) == fine && d.fits(1), "opensAt": instantOrNil(opens), "closesAt": instantOrNil(closes),
	}
	if d.cancelled {
		out["status"] = "cancelled"
	}
	if d.capacity != nil {
		out["spotsAvailable"] = *d.capacity - d.taken
	}
	lowest := slices.MinFunc(e.options, func(a, b *option) int {
		if a.whole != b.whole { // the price of a single date is shown, if there is one
			if b.whole {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.price, b.price)
	})
	out["lowestPrice"], out["currency"] = decimal(lowest.price), lowest.currency
	return out
}

func instantOrNil(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return instant(at)
}

// changeDate changes the size of a date. Spots that it adds go to those who wait.
func (m *machine) changeDate(t *rapid.T) {
	e := m.forSale(t)
	d := e.forSaleOn(t)
	body, after := object{}, *d
	if rapid.Bool().Draw(t, "with capacity") {
		after.capacity = drawCapacity(t)
		body["capacity"] = after.capacity
	}
	if v, ok := optional(t, "with duration", body, "duration", 30, 60); ok {
		after.duration = v
	}
	changed := after.duration != d.duration || !same(after.capacity, d.capacity)
	want := fine
	switch {
	case changed && (d.cancelled || e.status == "cancelled"):
		want = refuse("EVENT_CANCELLED")
	case after.capacity != nil && *after.capacity < d.taken:
		want = invalid("capacity")
	}
	a, ok := m.write(t, http.StatusOK, want, choose(t, "method", http.MethodPut, http.MethodPatch), d.path(), body)
	if !ok {
		return
	}
	a.sized(t, &after)
	*d = after
	if changed {
		m.serve(t, d)
	}
	m.read(t, d.path(), false, func() object { return m.viewDate(e, d) }, "updatedAt")
}

// sized compares the size of a date that a change returns. Waiting customers may get spots
// afterwards.
func (a answer) sized(t *rapid.T, d *date) {
	want := object{"id": d.id, "duration": d.duration, "capacity": d.capacity, "startsAt": instant(d.start)}
	got := object{}
	for name := range want {
		got[name] = a.body[name]
	}
	a.same(t, got, want)
}

func (m *machine) cancelDate(t *rapid.T) {
	e := m.forSale(t)
	d := e.forSaleOn(t)
	want := fine
	if d.cancelled {
		want = refuse("ALREADY_CANCELLED")
	}
	body := object{}
	reason, _ := optional(t, "with reason", body, "reason", "The teacher is ill.")
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, d.path()+"/cancel", body)
	if !ok {
		return
	}
	m.close(t, reason, d)
	a.sized(t, d)
	m.read(t, d.path(), false, func() object { return m.viewDate(e, d) }, "updatedAt")
}

// close cancels dates with their registrations, holds and waitlist entries. Holds can have spots of
// other dates, which go to those who wait.
func (m *machine) close(t *rapid.T, reason string, dates ...*date) {
	var freed []*date
	for _, d := range dates {
		d.cancelled = true
		for _, r := range m.regs {
			if r.date == d && r.status != "cancelled" {
				r.cancel(false, object{"reason": reason})
			}
		}
		for _, h := range m.holds {
			if h.status == "active" && slices.Contains(h.dates(), d) {
				m.drop(h, "expired")
				freed = append(freed, h.dates()...)
			}
		}
		m.closeWaitlist(d)
	}
	m.free(t, freed...)
}

func (m *machine) addDate(t *rapid.T) {
	e := m.forSale(t)
	d := &date{start: eventDay(choose(t, "day", 0, 30, 31, 32, 33)).Add(12 * time.Hour), duration: 45, capacity: drawCapacity(t)}
	want := fine
	switch {
	case e.status == "cancelled":
		want = refuse("EVENT_CANCELLED")
	case slices.ContainsFunc(e.dates, func(other *date) bool { return other.start.Equal(d.start) }):
		want = invalid("startsAt")
	}
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, e.path()+"/dates",
		object{"startsAt": instant(d.start), "duration": d.duration, "capacity": d.capacity})
	if !ok {
		return
	}
	d.id, _ = a.body["id"].(string)
	e.dates = append(e.dates, d)
	e.sortDates()
	a.same(t, a.body, m.viewDate(e, d), "updatedAt")
}

func (e *event) sortDates() {
	slices.SortFunc(e.dates, func(a, b *date) int { return a.start.Compare(b.start) })
}
