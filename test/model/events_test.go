package model

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"
)

type event struct {
	id, title, description, kind, status, zone, location string
	duration                                             int
	dates                                                []*date // by start
	options                                              []*option
	free                                                 *int
	rule                                                 string
	rules                                                bookingRules
	deleted                                              bool
}

type date struct {
	id        string
	start     time.Time
	duration  int
	capacity  *int
	taken     int
	cancelled bool
}

type option struct {
	id, name, currency string
	price              int64 // minor units
	credits            *int
	taxRate            int // percent
	whole              bool
}

func (e *event) path() string { return "/events/" + e.id }

func instant(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (e *event) view() object { return e.show(100) }

// show returns the event as it is shown with at most so many dates.
func (e *event) show(most int) object {
	dates, options := []object{}, []object{}
	shown, unlimited := e.shown(most), e.shown(len(e.dates))
	for _, d := range shown {
		status := "scheduled"
		if d.cancelled {
			status = "cancelled"
		}
		dates = append(dates, object{
			"id": d.id, "startsAt": instant(d.start), "duration": d.duration, "timezone": e.zone, "capacity": d.capacity,
			"spotsTaken": d.taken, "status": status,
		})
	}
	for _, o := range e.options {
		options = append(options, object{
			"id": o.id, "name": o.name, "price": decimal(o.price), "currency": o.currency, "credits": o.credits, "taxRate": o.taxRate, "wholeCourse": o.whole,
		})
	}
	first, end := e.span()
	capacity, taken := e.sums()
	var available any
	if capacity != nil {
		available = *capacity - taken
	}
	out := object{
		"id": e.id, "title": e.title, "description": e.description, "type": e.kind, "status": e.status, "timezone": e.zone,
		"location": e.location, "startsAt": instant(first.start), "duration": first.duration, "endsAt": instant(end),
		"capacity": capacity, "spotsTaken": taken, "spotsAvailable": available, "dates": dates, "pricingOptions": options,
		"freeCancellationMinutes": e.free, "dateCount": len(e.dates), "datesTruncated": len(shown) < len(unlimited),
		"staffIds": []any{}, "roomIds": []any{}, "appointmentTypeId": nil,
	}
	if next := e.next(); next != nil {
		out["nextDate"] = object{"id": next.id, "startsAt": instant(next.start)}
	}
	if e.rules != (bookingRules{}) {
		out["bookingRules"] = e.rules.view()
	}
	if e.rule != "" {
		out["recurrence"] = object{"rule": e.rule, "exceptions": []string{}}
	}
	return out
}

// span returns the first date that takes place and the end of the last one. If no date takes
// place, it considers all dates.
func (e *event) span() (first *date, end time.Time) {
	dates := e.scheduled()
	if len(dates) == 0 {
		dates = e.dates
	}
	for _, d := range dates {
		if over := d.start.Add(time.Duration(d.duration) * time.Minute); over.After(end) {
			end = over
		}
	}
	return dates[0], end
}

// sums adds up the future dates. A nil capacity means unlimited.
func (e *event) sums() (capacity *int, taken int) {
	places, limited := 0, true
	for _, d := range e.toCome() {
		taken += d.taken
		if d.capacity == nil {
			limited = false
		} else {
			places += *d.capacity
		}
	}
	if !limited {
		return nil, taken
	}
	return &places, taken
}

// toCome lists the future dates that an event's sums include.
func (e *event) toCome() []*date {
	if len(e.dates) == 1 {
		return e.dates
	}
	return e.future()
}

// next returns the first future date, or nil if there is none.
func (e *event) next() *date {
	for _, d := range e.scheduled() {
		if d.start.After(time.Now()) {
			return d
		}
	}
	return nil
}

// shown lists the dates that an event shows: the first future ones, or the last dates if there are
// none. most is the limit.
func (e *event) shown(most int) []*date {
	future := e.future()
	if len(future) == 0 {
		return e.dates[max(0, len(e.dates)-most):]
	}
	return future[:min(most, len(future))]
}

func (e *event) scheduled() []*date {
	return slices.DeleteFunc(slices.Clone(e.dates), func(d *date) bool { return d.cancelled })
}

// future lists the dates that take place and have not started.
func (e *event) future() []*date { return slices.DeleteFunc(e.scheduled(), (*date).started) }

func (d *date) started() bool { return !d.start.After(time.Now()) }

// recent reports whether a date started in the last 31 days.
func (d *date) recent() bool { return d.started() && time.Since(d.start) < 31*24*time.Hour }

func (e *event) taken() bool {
	return slices.ContainsFunc(e.dates, func(d *date) bool { return d.taken > 0 })
}

// learn stores the identifiers of an answer.
func (e *event) learn(t *rapid.T, a answer) {
	e.id, _ = a.body["id"].(string)
	dates, _ := a.body["dates"].([]any)
	options, _ := a.body["pricingOptions"].([]any)
	shown := e.shown(100)
	if len(dates) != len(shown) || len(options) != len(e.options) {
		t.Fatalf("%d dates and %d options, not %d and %d: %s", len(dates), len(options), len(shown), len(e.options), a.what)
	}
	for i, d := range dates {
		shown[i].id, _ = d.(object)["id"].(string)
	}
	for i, o := range options {
		e.options[i].id, _ = o.(object)["id"].(string)
	}
	a.same(t, a.body, e.view(), "createdAt", "updatedAt")
}

func (m *machine) addEvent(t *rapid.T, e *event, body object) {
	if len(e.options) == 0 {
		e.options = []*option{{name: "Free", currency: "GBP"}}
	}
	a, _ := m.write(t, http.StatusCreated, fine, http.MethodPost, "/events", body)
	e.learn(t, a)
	m.events = append(m.events, e)
}

func drawCapacity(t *rapid.T) *int {
	if n := choose(t, "capacity", -1, 0, 1, 2, 3, 5, 1000); n >= 0 {
		return &n
	}
	return nil
}

func (m *machine) createEvent(t *rapid.T) {
	e := &event{title: choose(t, "title", "Clay", "Vinyasa"), kind: "class", status: "published", zone: "Europe/London"}
	body := object{"title": e.title}
	if v, ok := optional(t, "with type", body, "type", "class", "event", "workshop", "course", "appointment"); ok {
		e.kind = v
	}
	if v, ok := optional(t, "with status", body, "status", "draft", "published", "published"); ok {
		e.status = v
	}
	if v, ok := optional(t, "with zone", body, "timezone", "UTC", "America/New_York", "Asia/Kolkata", "Europe/London"); ok {
		e.zone = v
	}
	e.description, _ = optional(t, "with description", body, "description", "", "Bring\na mat")
	e.location, _ = optional(t, "with location", body, "location", "Studio 1")
	if v, ok := optional(t, "with free time", body, "freeCancellationMinutes", 0, 720, 525_600); ok {
		e.free = &v
	}
	m.drawDates(t, e, body)
	if n := rapid.IntRange(0, 2).Draw(t, "options"); n > 0 {
		var options []object
		for i := range n {
			o := drawOption(t, fmt.Sprintf("Option %d", i))
			e.options = append(e.options, o)
			options = append(options, o.body())
		}
		body["pricingOptions"] = options
	}
	m.addEvent(t, e, body)
}

func drawOption(t *rapid.T, name string) *option {
	o := &option{
		name: name, price: choose[int64](t, "price", 0, 1, 999, 1250, 1235, 100_000), currency: choose(t, "currency", "GBP", "GBP", "EUR"),
		taxRate: choose(t, "tax", 0, 20),
	}
	if n := choose(t, "credits", -1, 0, 1, 1, 2, 200, 200); n >= 0 {
		o.credits = &n
	}
	return o
}

func (o *option) body() object {
	out := object{"name": o.name, "price": decimal(o.price), "currency": o.currency, "credits": o.credits, "taxRate": o.taxRate}
	if o.whole {
		out["wholeCourse"] = true
	}
	return out
}

// eventDay returns a day for an event's future dates, n days after the first one.
func eventDay(n int) time.Time { return time.Date(2098, 6, 1+n, 0, 0, 0, 0, time.UTC) }

// localDay returns the day of a date in the event's zone, as midnight UTC.
func (e *event) localDay(d *date) time.Time {
	loc, err := time.LoadLocation(e.zone)
	if err != nil {
		panic(err) // the model only draws valid zones
	}
	y, m, day := d.start.In(loc).Date()
	return time.Date(y, m, day, 0, 0, 0, 0, time.UTC)
}

// drawDates gives an event its dates in one of several ways.
func (m *machine) drawDates(t *rapid.T, e *event, body object) {
	duration := choose(t, "duration", 1, 60, 90)
	capacity := drawCapacity(t)
	loc, err := time.LoadLocation(e.zone)
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) time.Time {
		y, m, d := eventDay(n).Date()
		return time.Date(y, m, d, 12, 0, 0, 0, loc)
	}
	add := func(at time.Time, minutes int, places *int) {
		e.dates = append(e.dates, &date{start: at, duration: minutes, capacity: places})
	}
	body["duration"], body["capacity"] = duration, capacity
	switch choose(t, "dates", "one", "local", "ends", "soon", "past", "several", "recurring") {
	case "one":
		add(day(0), duration, capacity)
		body["startsAt"] = instant(day(0))
	case "local":
		add(day(0), duration, capacity)
		body["startsAt"] = day(0).Format("2006-01-02T15:04:05")
	case "ends":
		add(day(0), duration, capacity)
		delete(body, "duration")
		body["startsAt"], body["endsAt"] = day(0).Format(time.RFC3339), instant(day(0).Add(time.Duration(duration)*time.Minute))
	case "soon":
		at := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
		add(at, duration, capacity)
		body["startsAt"] = instant(at)
	case "past":
		at := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
		add(at, duration, capacity)
		body["startsAt"] = instant(at)
	case "several":
		var dates []object
		for i := range rapid.IntRange(1, 4).Draw(t, "count") {
			d := object{"startsAt": instant(day(10 - i))}
			minutes, places := duration, capacity
			if v, ok := optional(t, "own duration", d, "duration", 30, 45); ok {
				minutes = v
			}
			if rapid.Bool().Draw(t, "own capacity") {
				places = drawCapacity(t)
				d["capacity"] = places
			}
			add(day(10-i), minutes, places)
			dates = append(dates, d)
		}
		body["dates"] = dates
		slices.Reverse(e.dates)
	case "recurring":
		n := rapid.IntRange(1, 5).Draw(t, "count")
		e.rule = fmt.Sprintf("FREQ=DAILY;INTERVAL=3;COUNT=%d", n)
		for i := range n {
			add(day(3*i), duration, capacity)
		}
		body["startsAt"], body["recurrence"] = day(0).Format("2006-01-02T15:04"), object{"rule": e.rule}
	}
}

// updateEvent changes one or more members of an event.
func (m *machine) updateEvent(t *rapid.T) {
	e := one(t, "event", m.events[1:])
	if e == nil {
		t.Skip("there is no event")
	}
	body := object{}
	if rapid.Bool().Draw(t, "as read") {
		body = m.call(t, http.MethodGet, e.path(), nil).body
	}
	var after []func()
	// Only the texts of a cancelled event can be changed.
	want, changed := fine, false
	set := func(label, name string, sells bool, to *string, from ...string) {
		if v, ok := optional(t, label, body, name, from...); ok {
			changed = changed || sells && v != *to
			after = append(after, func() { *to = v })
		}
	}
	set("with title", "title", false, &e.title, "Clay", "Glaze")
	set("with location", "location", false, &e.location, "", "Studio 2")
	set("with type", "type", true, &e.kind, "class", "workshop")
	set("with zone", "timezone", true, &e.zone, "UTC", "Europe/London")
	switch choose(t, "what", "none", "status", "capacity", "a date", "another date", "a price", "another option") {
	case "status":
		v := choose(t, "status", "draft", "published")
		body["status"] = v
		switch {
		case v == e.status:
		case v == "draft" && e.status != "cancelled" && e.taken():
			want = refuse("EVENT_HAS_REGISTRATIONS")
		default:
			changed = true
			after = append(after, func() { e.status = v })
		}
	case "capacity":
		places := drawCapacity(t)
		body["capacity"] = places
		if _, asRead := body["dates"]; asRead && len(e.dates) > 1 {
			// It must be the sum that was read, because dates gives the capacities too.
			if sum, _ := e.sums(); !same(places, sum) {
				want = invalid("capacity")
			}
			break
		}
		var did bool
		did, want = e.resizeAll(places, &after)
		changed = changed || did
	case "a date":
		d := one(t, "date", e.dates)
		places := drawCapacity(t)
		body["dates"] = []object{{"id": d.id, "capacity": places}}
		var did bool
		did, want = e.resize(d, places, "dates[0].capacity", &after)
		changed = changed || did
	case "another date":
		at := time.Date(2098, 9, choose(t, "day", 1, 2, 3, 4), 12, 0, 0, 0, time.UTC)
		d := &date{start: at, duration: 30, capacity: drawCapacity(t)}
		body["dates"] = []object{{"startsAt": instant(at), "duration": d.duration, "capacity": d.capacity}}
		if slices.ContainsFunc(e.dates, func(d *date) bool { return d.start.Equal(at) }) {
			want = invalid("dates[0].startsAt")
		}
		changed = true
		after = append(after, func() {
			e.dates = append(e.dates, d)
			e.sortDates()
		})
	case "a price":
		o := one(t, "option", e.options)
		price := choose[int64](t, "price", 0, 999, 2000)
		body["pricingOptions"] = []object{{"id": o.id, "price": decimal(price)}}
		changed = changed || price != o.price
		after = append(after, func() { o.price = price })
	case "another option":
		o := drawOption(t, choose(t, "name", "Option 0", "Late"))
		body["pricingOptions"] = []object{o.body()}
		if slices.ContainsFunc(e.options, func(other *option) bool { return other.name == o.name }) {
			want = invalid("pricingOptions[0].name")
		}
		changed = true
		after = append(after, func() { e.options = append(e.options, o) })
	}
	if want == fine && changed && e.status == "cancelled" {
		want = refuse("EVENT_CANCELLED")
	}
	if e.deleted {
		want = missing
	}
	a, ok := m.write(t, http.StatusOK, want, choose(t, "method", http.MethodPut, http.MethodPatch), e.path(), body)
	if !ok {
		return
	}
	for _, f := range after {
		f()
	}
	e.learn(t, a)
}

// resize predicts the effect of another capacity for a date.
func (e *event) resize(d *date, places *int, field string, after *[]func()) (changed bool, want refusal) {
	changed = !same(places, d.capacity)
	switch {
	case changed && d.cancelled:
		return changed, refuse("EVENT_CANCELLED")
	case places != nil && *places < d.taken:
		return changed, invalid(field)
	}
	*after = append(*after, func() { d.capacity = places })
	return changed, fine
}

// resizeAll predicts the effect of another capacity for all future dates.
func (e *event) resizeAll(places *int, after *[]func()) (changed bool, want refusal) {
	dates := e.toCome()
	switch {
	case len(e.dates) > 1 && e.status == "cancelled":
		return true, refuse("EVENT_CANCELLED")
	case len(dates) == 0:
		return false, invalid("capacity")
	}
	for _, d := range dates {
		did, want := e.resize(d, places, "capacity", after)
		if want != fine {
			return did, want
		}
		changed = changed || did
	}
	return changed, fine
}

func same(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func (m *machine) cancelEvent(t *rapid.T) {
	e := one(t, "event", m.events[1:])
	if e == nil {
		t.Skip("there is no event")
	}
	want := fine
	if e.deleted {
		want = missing
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPut, e.path(), object{"status": "cancelled"})
	if !ok {
		return
	}
	if e.status != "cancelled" {
		e.status = "cancelled"
		m.close(t, "", slices.DeleteFunc(slices.Clone(e.dates), func(d *date) bool { return !d.start.After(time.Now()) || d.cancelled })...)
	}
	e.learn(t, a)
}

func (m *machine) deleteEvent(t *rapid.T) {
	e := one(t, "event", m.events[1:])
	if e == nil {
		t.Skip("there is no event")
	}
	want := fine
	switch {
	case e.deleted:
		want = missing
	case e.taken():
		want = refuse("EVENT_HAS_REGISTRATIONS")
	}
	a := m.call(t, http.MethodDelete, e.path(), nil)
	if a.expect(t, http.StatusOK, want) {
		a.same(t, a.body, object{"id": e.id, "deleted": true})
		e.deleted = true
	}
}
