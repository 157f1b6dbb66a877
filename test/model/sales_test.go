package model

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// TestSales sells few spots of few events in all ways, so that customers compete for them.
func TestSales(t *testing.T) {
	p := newPlatform(t)
	check(t, "8", "60", func(r *rapid.T) {
		m := p.newShop(r)
		r.Repeat(map[string]func(*rapid.T){"": m.look, "sell": m.sell})
		m.compareAll(r)
		m.verify(r)
	})
}

// newShop is a machine with customers, passes and two events.
func (p *platform) newShop(t *rapid.T) *machine {
	m := p.newMachine(t)
	for range 2 {
		m.addCustomer(t)
	}
	for _, kind := range []*passType{
		{title: "Three", uses: 3, count: 100, unit: "year"},
		{title: "Unlimited", uses: 999_999, count: 100, unit: "year", unlimited: true},
		{title: "Endless", uses: 20, count: 1000, unit: "year", endless: true, types: []string{"class"}},
	} {
		m.sellPass(t, kind)
	}
	m.createSale(t)
	m.createSale(t)
	return m
}

// sellPass gives a pass of a new type to a customer.
func (m *machine) sellPass(t *rapid.T, p *passType) {
	p.currency, p.status = "GBP", "active"
	body := object{"title": p.title, "eligibleEventTypes": p.view()["eligibleEventTypes"]}
	if p.unlimited {
		body["unlimitedUses"] = true
	} else {
		body["totalUses"] = p.uses
	}
	if p.endless {
		body["neverExpires"] = true
	} else {
		body["validityCount"], body["validityUnit"] = p.count, p.unit
	}
	a, _ := m.write(t, http.StatusCreated, fine, http.MethodPost, "/passes", body)
	p.id, _ = a.body["id"].(string)
	a.same(t, a.body, p.view(), "createdAt", "updatedAt")
	m.passes = append(m.passes, p)
	c := m.anyCustomer(t, "holder")
	h := &customerPass{holder: c, pass: p, remaining: p.uses, total: p.uses, start: today().AddDate(0, 0, -5), stored: "active"}
	h.expiry = p.end(h.start)
	a, _ = m.write(t, http.StatusCreated, fine, http.MethodPost, "/customer-passes",
		object{"customerId": c.id, "passId": p.id, "startDate": h.start.Format(time.DateOnly)})
	h.id, _ = a.body["id"].(string)
	a.same(t, a.body, h.view(), looseOfHeld()...)
	m.held = append(m.held, h)
}

// createSale creates an event with few spots.
func (m *machine) createSale(t *rapid.T) {
	e := &event{title: "Sale", kind: choose(t, "type", "class", "class", "course"), status: "published", zone: "Europe/London"}
	body := object{"title": e.title, "type": e.kind, "timezone": e.zone}
	if v, ok := optional(t, "with free time", body, "freeCancellationMinutes", 0, 525_600, 525_600, 525_600); ok {
		e.free = &v
	}
	var dates []object
	if e.kind == "class" && seldom(t, "started", 3) {
		ago := choose(t, "hours ago", 2, 240, 960)
		d := &date{start: time.Now().Add(-time.Duration(ago) * time.Hour).Truncate(time.Minute), duration: 60, capacity: new(3)}
		e.dates = append(e.dates, d)
		dates = append(dates, object{"startsAt": instant(d.start), "duration": d.duration, "capacity": d.capacity})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "dates") {
		d := &date{start: eventDay(i).Add(12 * time.Hour), duration: 60}
		if n := choose(t, "capacity", 1, 2, 2, 3, 3, 5, -1); n > 0 {
			d.capacity = &n
		}
		if i == 0 && rapid.Bool().Draw(t, "soon") {
			d.start = time.Now().Add(48 * time.Hour).Truncate(24 * time.Hour).Add(12 * time.Hour)
		}
		e.dates = append(e.dates, d)
		dates = append(dates, object{"startsAt": instant(d.start), "duration": d.duration, "capacity": d.capacity})
	}
	body["dates"] = dates
	if e.kind == "course" {
		e.options = append(e.options, &option{name: "Term", currency: "GBP", price: 10_001, credits: new(4), whole: true})
	}
	if e.kind == "class" || rapid.Bool().Draw(t, "single dates") {
		e.options = append(e.options, drawOption(t, "Drop in"))
		if o := e.options[len(e.options)-1]; !seldom(t, "in euros", 6) {
			o.currency = "GBP"
		}
	}
	var options []object
	for _, o := range e.options {
		options = append(options, o.body())
	}
	body["pricingOptions"] = options
	if rapid.Bool().Draw(t, "once") {
		e.rules.once = true
		body["bookingRules"] = e.rules.body()
	}
	m.addEvent(t, e, body)
	if e.dates[0].started() { // an event shows only dates to come
		a := m.call(t, http.MethodGet, "/event-dates?eventId="+e.id, nil)
		e.dates[0].id, _ = a.body["eventDates"].([]any)[0].(object)["id"].(string)
	}
}

// sell takes one step of a sale, of those that are possible: rapid ends a run that skips many.
func (m *machine) sell(t *rapid.T) {
	booked, held, waited, open := len(m.regs) > 0, len(m.holds) > 0, len(m.entries) > 0, len(m.open()) > 0
	active := slices.ContainsFunc(m.holds, func(h *hold) bool { return h.status == "active" })
	var names []string
	runs := map[string]func(*rapid.T){}
	for _, s := range []struct {
		name     string
		weight   int
		possible bool
		run      func(*rapid.T)
	}{
		{"create an event", 2, len(m.open()) < 5, m.createSale}, {"cancel an event", 1, open, m.cancelEvent},
		{"change the rules", 2, open, m.changeRules}, {"add a date", 1, open, m.addDate}, {"change a date", 2, open, m.changeDate},
		{"cancel a date", 1, open, m.cancelDate}, {"change a discount code", 1, true, m.changeCode},
		{"book", 2, true, m.bookByCard}, {"book by pass", 2, true, m.bookByPass}, {"buy", 5, open, m.buy},
		{"hold", 4, open, m.hold}, {"confirm a hold", 3, held, m.confirmHold}, {"release a hold", 2, held, m.releaseHold},
		{"let a hold expire", 1, active && !m.expired, m.expireHold},
		{"join a waitlist", 5, open, m.join}, {"leave a waitlist", 1, waited, m.leave}, {"accept an offer", 3, waited, m.accept},
		{"cancel", 2, booked, m.cancelBooking}, {"cancel with a preview", 4, booked, m.cancelWithPreview}, {"refund", 4, booked, m.refund},
		{"record attendance", 2, booked, m.attend}, {"change a price", 1, open, m.changePrice},
		{"move", 8, booked, m.moveBooking}, {"transfer", 3, booked, m.transfer}, {"swap", 4, booked, m.swap},
	} {
		if runs[s.name] = s.run; s.possible {
			names = append(names, slices.Repeat([]string{s.name}, s.weight)...)
		}
	}
	runs[choose(t, "step", names...)](t)
}

// open lists the events that take place, without the full one.
func (m *machine) open() []*event {
	return slices.DeleteFunc(slices.Clone(m.events[1:]), func(e *event) bool { return len(e.scheduled()) == 0 })
}

// forSale draws an event, mostly one that takes place.
func (m *machine) forSale(t *rapid.T) *event {
	if open := m.open(); len(open) > 0 && !seldom(t, "any event", 8) {
		return one(t, "event", open)
	}
	return one(t, "event", m.events)
}

// forSaleOn draws a date, mostly one that takes place.
func (e *event) forSaleOn(t *rapid.T) *date {
	if dates := e.scheduled(); len(dates) > 0 && !seldom(t, "any date", 8) {
		return one(t, "date", dates)
	}
	return one(t, "date", e.dates)
}

// look reads a resource or a list after a step.
func (m *machine) look(t *rapid.T) {
	switch choose(t, "look at", "date", "dates", "registration", "registrations", "transaction", "hold", "entry", "entries", "code", "nothing", "nothing") {
	case "date":
		e := one(t, "event", m.events)
		d := one(t, "date", e.dates)
		m.read(t, d.path(), false, func() object { return m.viewDate(e, d) }, "updatedAt")
	case "dates":
		m.listDates(t)
	case "registration":
		if r := one(t, "registration", m.regs); r != nil {
			m.read(t, r.path(), false, r.view, loose()...)
			m.read(t, "/registrations/"+r.id, false, r.view, loose()...)
			m.compareHistory(t, r, choose(t, "perPage", 1, 2, 100), rapid.Bool().Draw(t, "by cursor"))
		}
	case "registrations":
		m.listAllRegistrations(t)
	case "transaction":
		if p := one(t, "transaction", m.purchases); p != nil {
			m.read(t, p.path(), false, p.view, looseOfPurchase()...)
		}
	case "hold":
		if h := one(t, "hold", m.holds); h != nil {
			m.read(t, h.path(), false, h.view, "expiresAt", "createdAt")
		}
	case "entry":
		if w := one(t, "entry", m.entries); w != nil {
			m.read(t, w.path(), false, func() object { return m.viewEntry(w) }, looseOfEntry()...)
		}
	case "entries":
		m.listEntries(t)
	case "code":
		d := one(t, "code", m.discounts)
		m.read(t, d.path(), false, d.view, "createdAt", "updatedAt")
	}
}

func (m *machine) listDates(t *rapid.T) {
	q := url.Values{}
	kind, byKind := filter(t, q, "type", "class", "course")
	status, byStatus := filter(t, q, "status", "scheduled", "cancelled")
	_, available := filter(t, q, "available", "true")
	e := one(t, "of", m.events)
	_, byEvent := filter(t, q, "eventId", e.id)
	from, byFrom := filter(t, q, "startsFrom", instant(eventDay(1)))
	var want []object
	for _, of := range m.events {
		for _, d := range of.dates {
			view := m.viewDate(of, d)
			if !of.deleted && (!byKind || of.kind == kind) && (!byStatus || view["status"] == status) && (!available || view["available"] == true) &&
				(!byEvent || of == e) && (!byFrom || instant(d.start) >= from) {
				want = append(want, view)
			}
		}
	}
	slices.SortFunc(want, func(a, b object) int {
		return compareTexts(a["startsAt"], b["startsAt"], a["id"], b["id"])
	})
	m.pages(t, "/event-dates", "eventDates", q, want, false, "updatedAt")
}

func (m *machine) listAllRegistrations(t *rapid.T) {
	q := url.Values{}
	status, byStatus := filter(t, q, "status", "confirmed", "cancelled")
	attendance, byAttendance := filter(t, q, "attendance", "attended", "no_show", "unknown")
	c, e := m.anyCustomer(t, "customer"), one(t, "of", m.events)
	_, byWho := filter(t, q, "customerId", c.id)
	_, byPayer := filter(t, q, "purchasedById", c.id)
	_, byEvent := filter(t, q, "eventId", e.id)
	from, byFrom := filter(t, q, "startsFrom", instant(eventDay(1)))
	var want []object
	for _, r := range m.registered() {
		if (!byStatus || r.status == status) && (!byAttendance || r.attendance == attendance) && (!byWho || r.who == c) &&
			(!byPayer || r.payer == c) && (!byEvent || r.event == e) && (!byFrom || instant(r.date.start) >= from) {
			want = append(want, r.view())
		}
	}
	m.list(t, "/registrations", "registrations", q, want, true, loose()...)
}

func (m *machine) listEntries(t *rapid.T) {
	q := url.Values{}
	status, byStatus := filter(t, q, "status", "waiting", "offered", "booked", "expired", "left")
	c, d := m.anyCustomer(t, "customer"), one(t, "date", one(t, "of", m.events).dates)
	_, byWho := filter(t, q, "customerId", c.id)
	_, byDate := filter(t, q, "eventDateId", d.id)
	var want []object
	for _, w := range m.listed() {
		if (!byStatus || w.status == status) && (!byWho || w.who == c) && (!byDate || w.date == d) {
			want = append(want, m.viewEntry(w))
		}
	}
	m.list(t, "/waitlist-entries", "waitlistEntries", q, want, true, looseOfEntry()...)
}

// expire moves the end of a hold to the present and waits until its spots are free.
func (m *machine) expire(t *rapid.T, transaction string) {
	which, err := id.Parse[id.Transaction](transaction)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.db.Exec(m.t.Context(), `update transactions set expires_at = now(), hold_expires_at = now() where id = $1`, which); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(m.t, soon, func() error {
		var status string
		if err := m.db.QueryRow(m.t.Context(), `select status from transactions where id = $1`, which).Scan(&status); err != nil || status != "released" {
			return fmt.Errorf("the hold is %s: %w", status, err)
		}
		return nil
	})
}
