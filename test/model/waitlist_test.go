package model

import (
	"cmp"
	"net/http"
	"slices"

	"pgregory.net/rapid"
)

// entry is a customer who waits for spots of a date.
type entry struct {
	id, method, status, passedOver string
	date                           *date
	event                          *event
	who                            *customer
	spots                          int
	auto, closed                   bool
	option                         *option
	minutes                        int   // of an offer
	hold                           *hold // of an offer
	bought                         *purchase
}

func (w *entry) path() string { return "/waitlist-entries/" + w.id }

// looseOfEntry returns the members of an entry that the model does not know.
func looseOfEntry() []string {
	return []string{"createdAt", "updatedAt", "offerExpiresAt", "passedOver.at"}
}

func (m *machine) viewEntry(w *entry) object {
	out := object{
		"id": w.id, "eventId": w.event.id, "eventDateId": w.date.id, "customerId": w.who.id, "spots": w.spots, "pricingOptionId": w.option.id,
		"autoBook": w.auto, "paymentMethod": w.method, "customerPassId": nil, "status": w.status, "position": nil, "offerMinutes": nil,
		"holdId": nil, "transactionId": nil,
	}
	if !w.auto {
		out["offerMinutes"] = w.minutes
	}
	switch w.status {
	case "waiting":
		out["position"] = 1 + slices.Index(m.waiting(w.date), w)
	case "offered":
		out["holdId"] = w.hold.id()
	case "booked":
		out["transactionId"] = w.transaction()
	}
	if w.passedOver != "" {
		out["passedOver"] = object{"reason": w.passedOver}
	}
	return out
}

// transaction returns the transaction of an entry that is booked.
func (w *entry) transaction() string {
	if w.bought != nil {
		return w.bought.transaction
	}
	return w.hold.transaction
}

// waiting lists the entries that wait for a date, in their order.
func (m *machine) waiting(d *date) []*entry {
	return slices.DeleteFunc(slices.Clone(m.entries), func(w *entry) bool { return w.date != d || w.status != "waiting" })
}

func (m *machine) join(t *rapid.T) {
	e, d := m.soldOut(t)
	w := &entry{event: e, date: d, who: m.anyCustomer(t, "who"), spots: 1, method: "CARD", status: "waiting", minutes: 15}
	body := object{"customerId": w.who.id}
	if v, ok := optional(t, "with spots", body, "spots", 1, 1, 2, 3); ok {
		w.spots = v
	}
	if len(e.options) > 1 || rapid.Bool().Draw(t, "naming the option") {
		w.option = one(t, "option", e.options)
		body["pricingOptionId"] = w.option.id
	}
	if w.auto, _ = optional(t, "with autoBook", body, "autoBook", true, false); w.auto {
		w.method = choose(t, "method", "CARD", "CASH", "FREE")
		body["payment"] = object{"method": w.method}
	} else if v, ok := optional(t, "with minutes", body, "offerMinutes", 20, 10_080); ok {
		w.minutes = v
	}
	want := m.admits(w)
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, "/event-dates/"+w.date.id+"/waitlist", body)
	if !ok {
		return
	}
	w.id, _ = a.body["id"].(string)
	m.entries = append(m.entries, w)
	a.same(t, withoutNil(a.body), m.viewEntry(w), looseOfEntry()...)
}

// soldOut draws an event and one of its dates, mostly a full one.
func (m *machine) soldOut(t *rapid.T) (*event, *date) {
	var events []*event
	var dates []*date
	for _, e := range m.events[1:] {
		for _, d := range e.scheduled() {
			if !d.fits(1) {
				events, dates = append(events, e), append(dates, d)
			}
		}
	}
	if len(dates) == 0 || seldom(t, "any date", 4) {
		e := m.forSale(t)
		return e, e.forSaleOn(t)
	}
	i := choose(t, "full date", indices(len(dates))...)
	return events[i], dates[i]
}

// withoutNil removes passedOver if it is null, which means that it is absent.
func withoutNil(got object) object {
	if got["passedOver"] == nil {
		delete(got, "passedOver")
	}
	return got
}

// admits predicts whether an entry can join, and completes it.
func (m *machine) admits(w *entry) refusal {
	open := func(x *entry) bool {
		return x.who == w.who && x.date == w.date && (x.status == "waiting" || x.status == "offered")
	}
	if w.event.deleted {
		return missing
	}
	if want := w.event.closed(w.date, false); want != fine {
		return want
	}
	switch {
	case w.event.rules.once && m.attends(w.who, w.date):
		return refuse("ALREADY_BOOKED")
	case w.date.fits(w.spots):
		return refuse("EVENT_NOT_FULL")
	}
	if w.option == nil {
		w.option = w.event.options[0]
	}
	switch {
	case w.option.whole:
		return invalid("pricingOptionId")
	case w.who.deleted:
		return missing
	case slices.ContainsFunc(m.entries, open):
		return refuse("ALREADY_WAITING")
	}
	return fine
}

// fits reports whether so many spots of a date are free.
func (d *date) fits(spots int) bool { return d.capacity == nil || d.taken+spots <= *d.capacity }

// free gives the free spots of dates to the customers who wait for them, in their order.
func (m *machine) free(t *rapid.T, dates ...*date) {
	for _, d := range dates {
		m.serve(t, d)
	}
}

// serve gives the free spots of a date to the entries that they are enough for. An entry that is
// refused, or that wants more than is free while a later one is served, is passed over.
func (m *machine) serve(t *rapid.T, d *date) {
	waiting := m.waiting(d)
	if len(waiting) == 0 || d.cancelled || waiting[0].event.status != "published" {
		return
	}
	last := -1
	room := *d // the entries that fit are chosen before the first one is served
	for i, w := range waiting {
		if !room.fits(w.spots) {
			continue
		}
		o := &order{payer: w.who, method: w.method, lines: []*line{{event: w.event, date: d, option: w.option, who: w.who, spots: w.spots}}}
		p, want := m.decide(o)
		switch want {
		case fine:
			last = i
			m.grant(t, w, p)
		case refuse("EVENT_FULL"):
		default:
			w.passedOver = want.code
		}
	}
	for _, w := range waiting[:max(last, 0)] {
		if w.status == "waiting" && w.passedOver == "" {
			w.passedOver = "NOT_ENOUGH_PLACES"
		}
	}
}

// grant offers or books spots for an entry, and learns the identifiers.
func (m *machine) grant(t *rapid.T, w *entry, p *purchase) {
	m.take(p)
	if !w.auto {
		w.status, w.hold = "offered", &hold{purchase: *p, status: "active", entry: w}
		a := m.call(t, http.MethodGet, w.path(), nil)
		id, _ := a.body["holdId"].(string)
		if len(id) < len("hold_") {
			t.Fatalf("want an offer: %s", a.what)
		}
		w.hold.transaction = "txn_" + id[len("hold_"):]
		m.holds = append(m.holds, w.hold)
		return
	}
	a := m.call(t, http.MethodGet, w.path(), nil)
	w.status, w.bought, p.auto = "booked", p, true
	p.transaction, _ = a.body["transactionId"].(string)
	if p.transaction == "" {
		t.Fatalf("want a booking: %s", a.what)
	}
	m.learn(t, p)
}

func (m *machine) leave(t *rapid.T) {
	w := one(t, "entry", m.entries)
	if w == nil {
		t.Skip("nobody waits")
	}
	want := fine
	if w.status != "waiting" && w.status != "offered" {
		want = refuse("WAITLIST_ENDED")
	}
	a := m.call(t, http.MethodDelete, w.path(), nil)
	if !a.expect(t, http.StatusOK, want) {
		return
	}
	a.same(t, a.body, object{"id": w.id, "deleted": true, "status": "left"})
	w.status = "left"
	if w.hold != nil {
		m.drop(w.hold, "released")
		w.hold = nil
		m.free(t, w.date)
	}
}

func (m *machine) accept(t *rapid.T) {
	w := one(t, "entry", m.entries)
	if w == nil {
		t.Skip("nobody waits")
	}
	if open := slices.DeleteFunc(slices.Clone(m.entries), func(w *entry) bool { return w.status != "offered" }); len(open) > 0 && !seldom(t, "any", 4) {
		w = one(t, "offered", open)
	}
	want := fine
	switch {
	case w.status == "offered":
	case w.status == "expired" && w.closed:
		want = refuse("EVENT_CANCELLED")
	case w.status == "expired":
		want = refuse("HOLD_EXPIRED")
	default:
		want = refuse("NOT_OFFERED")
	}
	h := w.hold
	if h == nil {
		h = &hold{}
	}
	m.pay(t, h, w.path()+"/accept", want)
}

// closeWaitlist ends the entries of a cancelled date.
func (m *machine) closeWaitlist(d *date) {
	for _, w := range m.entries {
		if w.date == d && (w.status == "waiting" || w.status == "offered") {
			w.status, w.closed, w.hold = "expired", true, nil
		}
	}
}

// listed lists the entries in the order of their ids.
func (m *machine) listed() []*entry {
	return slices.SortedFunc(slices.Values(m.entries), func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
}
