package model

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"
)

// move is a request to change the date, the option or the spots of a registration.
type move struct {
	r                 *registration
	event             *event
	date              *date
	option            *option // nil: not named
	spots             int
	keep, waive       bool
	late              string // why a date that has started is left or entered
	method, reference string
	expected          *int64
	preview           bool
}

// outcome is what a move does to a payment.
type outcome struct {
	late, unchanged bool
	price, due      int64 // after the move
	rest            int64 // to be paid with the move
	credits         int   // after the move
}

// view returns the outcome as a preview shows it.
func (o outcome) view(r *registration) object {
	out := object{
		"late": o.late, "freeUntil": instant(r.freeUntil()), "priceBefore": decimal(r.price), "priceAfter": decimal(o.price), "currency": r.currency,
		"amountDue": decimal(o.rest), "refundDue": decimal(o.due), "creditsBefore": r.credits, "creditsAfter": o.credits, "unchanged": o.unchanged,
	}
	if o.unchanged {
		out["late"], out["freeUntil"] = false, nil
	}
	return out
}

// decideMove predicts a move and its outcome. It changes nothing.
func (m *machine) decideMove(v *move) (outcome, refusal) {
	r := v.r
	if r.status != "cancelled" && v.date == r.date && (v.option == nil || v.option == r.option) && v.spots == r.spots {
		return outcome{unchanged: true, price: r.price, due: r.due, credits: r.credits}, fine
	}
	if want := r.changeable(); want != fine {
		return outcome{}, want
	}
	if want := r.event.unchangeable(r.date, v.late); want != fine {
		return outcome{}, want
	}
	wanted := v.spots // of the new date
	if v.date == r.date {
		wanted -= r.spots
	}
	if want := v.event.closed(v.date, v.late != ""); wanted > 0 && want != fine {
		return outcome{}, want
	}
	if want := v.findOption(); want != fine {
		return outcome{}, want
	}
	if v.date != r.date && v.event.rules.once && m.attends(r.who, v.date) {
		return outcome{}, refuse("ALREADY_BOOKED")
	}
	out, want := v.settle()
	switch {
	case want != fine:
		return out, want
	case wanted > 0 && !v.date.fits(wanted):
		return out, refuse("EVENT_FULL")
	case v.preview:
		return out, fine
	case out.late && v.date != r.date:
		return out, refuse("LATE_CHANGE")
	case v.expected != nil && *v.expected != out.rest:
		return out, refuse("PRICE_CHANGED")
	case r.byPass() && !r.refunded:
		return out, r.pass.covers(v.event, v.date, out.credits-r.credits)
	}
	return out, fine
}

// changeable returns why a registration cannot be moved, transferred or swapped.
func (r *registration) changeable() refusal {
	switch {
	case r.status == "cancelled":
		return refuse("ALREADY_CANCELLED")
	case r.attendance == "attended":
		return refuse("ALREADY_ATTENDED")
	}
	return fine
}

// unchangeable returns why registrations of a date cannot be moved, transferred or swapped.
func (e *event) unchangeable(d *date, reason string) refusal {
	switch {
	case e.status == "cancelled" || d.cancelled:
		return refuse("EVENT_CANCELLED")
	case d.started() && (reason == "" || !d.recent()):
		return refuse("EVENT_PAST")
	}
	return fine
}

// findOption completes the option: the only one for a single date, or the present one within the event. A part
// of a course keeps the option for the whole of it.
func (v *move) findOption() refusal {
	if v.option == nil {
		single := slices.DeleteFunc(slices.Clone(v.event.options), func(o *option) bool { return o.whole })
		switch {
		case v.event == v.r.event:
			v.option = v.r.option
		case len(single) == 1:
			v.option = single[0]
		}
	}
	switch {
	case v.option != nil && !slices.Contains(v.event.options, v.option):
		return missing
	case v.option == nil || v.option.whole && v.option != v.r.option:
		return invalid("pricingOptionId")
	case v.option.whole && v.spots > v.r.spots && !v.keep:
		return invalid("spots") // the price of a whole course is not for one date
	}
	return fine
}

// settle predicts the price and the credits after the move, and what is due.
func (v *move) settle() (outcome, refusal) {
	r := v.r
	out := outcome{late: !v.waive && r.isLate(), price: r.price, due: r.due, credits: r.credits}
	switch {
	case v.keep || r.method == "FREE":
		return out, fine
	case r.byPass():
		return v.settleCredits(out)
	case v.option.currency != r.currency && (v.option != r.option || v.spots > r.spots):
		return out, refuse("CURRENCY_DIFFERS")
	}
	out.price = share(v, r.price, v.option.price, 1)
	if out.late {
		out.price = max(out.price, r.price)
	}
	if rise := out.price - r.price; rise > 0 {
		fromDue := min(rise, r.due)
		out.due, out.rest = r.due-fromDue, rise-fromDue
	} else {
		out.due = min(r.due-rise, r.paid-r.repaid)
	}
	return out, fine
}

func (v *move) settleCredits(out outcome) (outcome, refusal) {
	r := v.r
	if r.refunded {
		return out, fine
	}
	if v.option.credits == nil {
		return out, refuse("PASS_NOT_APPLICABLE")
	}
	out.credits = share(v, r.credits, *v.option.credits, 0)
	if out.late {
		out.credits = max(out.credits, r.credits)
	}
	return out, fine
}

// share returns a new price. While the option stays, spots that are given up lower it by an equal share, which is
// rounded by so many halves.
func share[T int | int64](v *move, before, each, halves T) T {
	spots, had := T(v.spots), T(v.r.spots)
	switch {
	case v.option != v.r.option:
		return each * spots
	case spots >= had:
		return before + each*(spots-had)
	}
	return before - (2*before*(had-spots)+halves*had)/(2*had)
}

// covers returns why a pass cannot pay a move: it must be valid on the new day, and have the credits that are
// added, if any.
func (h *customerPass) covers(e *event, d *date, added int) refusal {
	b := bill{credits: max(added, 0), kinds: []string{e.kind}, days: []time.Time{e.localDay(d)}}
	why := h.refuses(b)
	if why == "" || why == "PASS_EXHAUSTED" && added <= 0 {
		return fine
	}
	return refuse(why)
}

// body returns the request. Members that stay are sent or left out.
func (v *move) body(t *rapid.T) object {
	body := object{}
	if v.date != v.r.date || rapid.Bool().Draw(t, "naming the date") {
		body["eventDateId"] = v.date.id
	}
	if v.option != nil {
		body["pricingOptionId"] = v.option.id
	}
	if v.spots != v.r.spots || rapid.Bool().Draw(t, "naming the spots") {
		body["spots"] = v.spots
	}
	for name, set := range map[string]bool{"keepPrice": v.keep, "waivePolicy": v.waive} {
		if set {
			body[name] = true
		}
	}
	return body
}

// drawMove draws a move, in most runs to a date that takes place.
func (m *machine) drawMove(t *rapid.T, r *registration) *move {
	v := &move{r: r, event: r.event, date: r.date, spots: r.spots, method: r.method}
	to := choose(t, "to", "another date", "another date", "another event", "the same date", "fewer spots")
	switch to {
	case "another date":
		v.date = r.event.forSaleOn(t)
	case "another event":
		v.event = m.forSale(t)
		v.date = v.event.forSaleOn(t)
	}
	if to == "fewer spots" && r.spots > 1 {
		v.spots = choose(t, "fewer", indices(r.spots)[1:]...)
	} else if rapid.Bool().Draw(t, "naming the option") {
		v.option = one(t, "option", v.event.options)
		if seldom(t, "of any event", 8) {
			v.option = one(t, "other option", m.forSale(t).options)
		}
	}
	if v.spots == r.spots && rapid.Bool().Draw(t, "other spots") {
		v.spots = choose(t, "spots", 1, 1, 2, 3)
	}
	v.keep, v.waive = seldom(t, "keep the price", 5), seldom(t, "waive the policy", 3)
	started := r.date.started() || v.date.started()
	if started != seldom(t, "another reason", 5) {
		v.late = "It rained."
	}
	return v
}

// moveBooking previews a move, makes it, and compares the outcomes.
func (m *machine) moveBooking(t *rapid.T) {
	r := m.waitedFor(t)
	if r == nil {
		t.Skip("there is no registration")
	}
	v := m.drawMove(t, r)
	body := v.body(t)
	m.previewMove(t, *v, body)
	if v.late != "" {
		body["afterStartReason"] = v.late
	}
	v.drawPayment(t, m, body)
	out, want := m.decideMove(v)
	if want == fine && out.unchanged {
		want = refuse("ALREADY_MOVED")
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPost, "/registrations/"+r.id+"/move", body)
	if !ok {
		m.unchanged(t, r, v.date)
		return
	}
	from := r.date
	m.apply(v, out)
	a.same(t, a.body, r.view(), loose()...)
	if from != r.date || out.unchanged {
		m.free(t, from)
	} else {
		m.free(t, r.date)
	}
	m.unchanged(t, r, from)
}

// drawPayment draws how what is due is paid, and the amount that the caller expects.
func (v *move) drawPayment(t *rapid.T, m *machine, body object) {
	payment := object{}
	if method, ok := optional(t, "with method", payment, "method", "CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER"); ok {
		v.method = method
	}
	v.reference, _ = optional(t, "with reference", payment, "reference", "ch_2")
	if len(payment) > 0 {
		body["payment"] = payment
	}
	if rapid.Bool().Draw(t, "expecting an amount") {
		probe := *v
		out, _ := m.decideMove(&probe)
		v.expected = new(out.rest)
		if seldom(t, "another amount", 5) {
			*v.expected++
		}
		body["expectedAmountDue"] = decimal(*v.expected)
	}
}

// previewMove compares a preview with the model. It changes nothing.
func (m *machine) previewMove(t *rapid.T, v move, body object) {
	path := "/registrations/" + v.r.id
	before := m.call(t, http.MethodGet, path, nil)
	q := url.Values{}
	for name, value := range body {
		switch value := value.(type) {
		case string:
			q.Set(name, value)
		case int:
			q.Set(name, strconv.Itoa(value))
		case bool:
			q.Set(name, strconv.FormatBool(value))
		}
	}
	if v.late != "" {
		q.Set("afterStart", "true")
	}
	v.preview = true
	out, want := m.decideMove(&v)
	a := m.call(t, http.MethodGet, path+"/move-preview?"+q.Encode(), nil)
	if a.expect(t, http.StatusOK, want) {
		a.same(t, a.body, out.view(v.r))
	}
	if after := m.call(t, http.MethodGet, path, nil); after.header.Get("ETag") != before.header.Get("ETag") {
		t.Fatalf("%s\nchanged the registration from %s\nto %s", a.what, before.what, after.what)
	}
}

// apply moves the registration.
func (m *machine) apply(v *move, out outcome) {
	r, before, reason := v.r, v.r.facts(), v.late
	late := r.isLate()
	if !r.date.started() && !v.date.started() {
		reason = ""
	}
	r.date.taken -= r.spots
	v.date.taken += v.spots
	if r.byPass() {
		r.pass.give(r.credits - out.credits)
	}
	r.event, r.date, r.option, r.spots = v.event, v.date, v.option, v.spots
	r.price, r.due, r.credits, r.paid = out.price, out.due, out.credits, r.paid+out.rest
	r.attendance = "unknown"
	members := object{"reason": reason, "policyWaived": v.waive && late}
	if out.rest > 0 {
		members["amount"], members["paymentMethod"], members["paymentReference"] = decimal(out.rest), v.method, v.reference
	}
	r.log("moved", before, members)
}

// unchanged compares a registration, its pass and a date after a move.
func (m *machine) unchanged(t *rapid.T, r *registration, d *date) {
	m.read(t, "/registrations/"+r.id, false, r.view, loose()...)
	if r.pass != nil {
		m.read(t, r.pass.path(), false, r.pass.view, looseOfHeld()...)
	}
	e := m.eventOf(d)
	m.read(t, d.path(), e.deleted, func() object { return m.viewDate(e, d) }, "updatedAt")
}

func (m *machine) eventOf(d *date) *event {
	return m.events[slices.IndexFunc(m.events, func(e *event) bool { return slices.Contains(e.dates, d) })]
}

// changePrice changes the price and the credits of an option. Registrations keep theirs.
func (m *machine) changePrice(t *rapid.T) {
	e := m.forSale(t)
	o := one(t, "option", e.options)
	after := *o
	body := object{"id": o.id}
	if v, ok := optional(t, "with price", body, "price", 5, 12.5, 20); ok {
		after.price = int64(v * 100)
	}
	if v, ok := optional(t, "with credits", body, "credits", 1, 2, 3); ok {
		after.credits = &v
	}
	want := fine
	if e.status == "cancelled" && (after.price != o.price || !same(after.credits, o.credits)) {
		want = refuse("EVENT_CANCELLED")
	}
	a, ok := m.write(t, http.StatusOK, want, http.MethodPatch, e.path(), object{"pricingOptions": []object{body}})
	if ok {
		*o = after
		a.same(t, a.body, e.view(), "createdAt", "updatedAt")
	}
}
