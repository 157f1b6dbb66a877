package model

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// order is a request for spots: a registration, a transaction, a hold, or what a waitlist entry
// wishes.
type order struct {
	payer        *customer
	lines        []*line
	method, code string
	pass         *customerPass // nil: any
	single       bool          // it is the body of a registration, whose members have no lines[0]
	late         string        // why dates that have started are booked
	reference    string
}

// line is a line of an order.
type line struct {
	event  *event
	date   *date   // nil: the event's only one, or the whole course
	option *option // nil: the event's only one
	who    *customer
	spots  int
	dates  []*date // that decide has found
	paid   object  // its own payment
}

// method returns how a line is paid.
func (l *line) method(o *order) string {
	if l.paid != nil {
		return l.paid["method"].(string)
	}
	return o.method
}

// reference returns the reference of the payment of a line.
func (l *line) reference(o *order) string {
	if l.paid != nil {
		text, _ := l.paid["reference"].(string)
		return text
	}
	return o.reference
}

// purchase is a granted order.
type purchase struct {
	transaction string
	payer       *customer
	code        *discount
	regs        []*registration
	late        string // why dates that had started were booked
	auto        bool   // the platform booked it for an entry of a waitlist
}

func (o *order) field(i int, member string) refusal {
	if o.single {
		return invalid(member)
	}
	return invalid(fmt.Sprintf("lines[%d].%s", i, member))
}

// decide predicts whether an order is granted, and its bookings. It changes nothing.
func (m *machine) decide(o *order) (*purchase, refusal) {
	if want := o.payable(); want != fine {
		return nil, want
	}
	for i, l := range o.lines {
		if want := o.nameDates(i, l); want != fine {
			return nil, want
		}
	}
	if o.payer.deleted || slices.ContainsFunc(o.lines, func(l *line) bool { return l.who.deleted }) {
		return nil, missing
	}
	p := &purchase{payer: o.payer, late: o.late}
	var lines []*registration
	wanted := map[*date]int{}
	for i, l := range o.lines {
		r, want := m.decideLine(o, i, l, wanted)
		if want != fine {
			return nil, want
		}
		lines = append(lines, r)
	}
	if o.code != "" {
		var want refusal
		if p.code, want = m.reduce(o.code, lines); want != fine {
			return nil, want
		}
	}
	for i, r := range lines {
		p.regs = append(p.regs, r.spread(o.lines[i].dates)...)
	}
	if slices.ContainsFunc(p.regs, (*registration).byPass) {
		return p, m.payByPass(p, o.pass)
	}
	return p, fine
}

// payable predicts whether the payments of an order fit together.
func (o *order) payable() refusal {
	byPass := slices.ContainsFunc(o.lines, func(l *line) bool { return l.method(o) == "PASS" })
	switch own := slices.IndexFunc(o.lines, func(l *line) bool { return l.paid != nil }); {
	case o.pass != nil && !byPass:
		return invalid("payment.customerPassId")
	case o.code != "" && own >= 0:
		return o.field(own, "payment")
	case o.code != "" && (o.method == "PASS" || o.method == "FREE"):
		return refuse("DISCOUNT_INVALID")
	}
	return fine
}

// nameDates finds the dates of a line.
func (o *order) nameDates(i int, l *line) refusal {
	if l.date != nil {
		l.dates = []*date{l.date}
		if l.event.deleted {
			return missing
		}
		return fine
	}
	dates := l.event.scheduled()
	if l.event.sellsWhole(l.option) {
		dates = l.event.future()
	}
	switch {
	case l.event.deleted:
		return missing
	case len(dates) == 0:
		return refuse("EVENT_CANCELLED")
	case l.event.sellsWhole(l.option):
		l.dates = dates
	case len(dates) > 1:
		return o.field(i, "eventDateId")
	default:
		l.dates = dates
	}
	return fine
}

// sellsWhole reports whether an option, or the only one, is for the whole course.
func (e *event) sellsWhole(o *option) bool {
	if o == nil {
		return len(e.options) == 1 && e.options[0].whole
	}
	return o.whole
}

// decideLine predicts whether a line is granted, without its discount. The rules apply to the first
// date of a course. wanted counts the spots of the lines before it.
func (m *machine) decideLine(o *order, i int, l *line, wanted map[*date]int) (*registration, refusal) {
	e := l.event
	if want := e.closed(l.dates[0], o.late != ""); want != fine {
		return nil, want
	}
	option := l.option
	if option == nil && len(e.options) == 1 {
		option = e.options[0]
	}
	switch {
	case option == nil:
		return nil, o.field(i, "pricingOptionId")
	case option.whole && l.date != nil:
		return nil, o.field(i, "eventDateId")
	}
	for _, d := range l.dates {
		again := slices.ContainsFunc(o.lines[:i], func(other *line) bool { return other.who == l.who && slices.Contains(other.dates, d) })
		if e.rules.once && (again || m.attends(l.who, d)) {
			return nil, refuse("ALREADY_BOOKED")
		}
		if wanted[d] += l.spots; d.capacity != nil && d.taken+wanted[d] > *d.capacity {
			return nil, refuse("EVENT_FULL")
		}
	}
	r := &registration{
		event: e, who: l.who, payer: o.payer, option: option, spots: l.spots, status: "confirmed", attendance: "unknown", method: l.method(o), reference: l.reference(o),
		currency: option.currency,
	}
	switch r.method {
	case "PASS":
		if option.credits == nil {
			return nil, refuse("PASS_NOT_APPLICABLE")
		}
		r.currency, r.credits = "GBP", *option.credits*l.spots
	case "FREE":
	default:
		r.paid = option.price * int64(l.spots)
	}
	return r, fine
}

// closed returns why nobody can book a date. With a reason, one that started in the last 31 days can be booked.
func (e *event) closed(d *date, reason bool) refusal {
	opens, closes := e.rules.window(e, d)
	switch {
	case e.status == "draft":
		return refuse("EVENT_NOT_PUBLISHED")
	case e.status == "cancelled" || d.cancelled:
		return refuse("EVENT_CANCELLED")
	case d.started():
		if reason && d.recent() {
			return fine
		}
		return refuse("EVENT_PAST")
	case !closes.IsZero() && !time.Now().Before(closes):
		return refuse("BOOKING_CLOSED")
	case time.Now().Before(opens):
		return refuse("BOOKING_NOT_OPEN")
	}
	return fine
}

// attends reports whether a customer has a registration of a date, or holds one.
func (m *machine) attends(c *customer, d *date) bool {
	has := func(r *registration) bool { return r.who == c && r.date == d && r.status == "confirmed" }
	return slices.ContainsFunc(m.regs, has) ||
		slices.ContainsFunc(m.holds, func(h *hold) bool { return h.status == "active" && slices.ContainsFunc(h.regs, has) })
}

// spread divides a registration among dates. The first ones take the remainder.
func (r *registration) spread(dates []*date) []*registration {
	n := int64(len(dates))
	var all []*registration
	for i, d := range dates {
		part := *r
		part.date = d
		part.paid, part.credits = r.paid/n, r.credits/int(n)
		if int64(i) < r.paid%n {
			part.paid++
		}
		if i < r.credits%int(n) {
			part.credits++
		}
		all = append(all, &part)
	}
	return all
}

// payByPass predicts which pass pays for a purchase.
func (m *machine) payByPass(p *purchase, named *customerPass) refusal {
	var b bill
	for _, r := range p.regs {
		if !r.byPass() {
			continue
		}
		day := r.event.localDay(r.date)
		b.credits += r.credits
		b.kinds, b.days = append(b.kinds, r.event.kind), append(b.days, day)
	}
	pass, why := m.payer(p.payer, named, b)
	if why != "" {
		return refuse(why)
	}
	for _, r := range p.regs {
		if r.byPass() {
			r.pass = pass
		}
	}
	return fine
}

// take takes the spots and the use of the code of a granted order.
func (m *machine) take(p *purchase) {
	for _, r := range p.regs {
		r.date.taken += r.spots
	}
	if p.code != nil {
		p.code.uses++
	}
}

// confirm stores a purchase whose spots are taken, and takes the credits.
func (m *machine) confirm(p *purchase) {
	for _, r := range p.regs {
		r.transaction, r.price, r.manager = p.transaction, r.paid, r.payer
		if r.byPass() {
			r.pass.give(-r.credits)
		}
	}
	m.regs = append(m.regs, p.regs...)
	p.logBooked()
	m.purchases = append(m.purchases, p)
}

// learn confirms a purchase whose registrations are read from its transaction.
func (m *machine) learn(t *rapid.T, p *purchase) {
	m.confirm(p)
	a := m.call(t, http.MethodGet, p.path(), nil)
	a.expect(t, http.StatusOK, fine)
	p.match(t, a)
}

// match learns the ids of a transaction and compares it.
func (p *purchase) match(t *rapid.T, a answer) {
	p.transaction, _ = a.body["id"].(string)
	regs, _ := a.body["registrations"].([]any)
	if len(regs) != len(p.regs) {
		t.Fatalf("want %d registrations: %s", len(p.regs), a.what)
	}
	for i, r := range regs {
		p.regs[i].transaction = p.transaction
		p.regs[i].id, _ = r.(object)["id"].(string)
	}
	a.same(t, a.body, p.view(), looseOfPurchase()...)
}

// logBooked begins the histories of a purchase.
func (p *purchase) logBooked() {
	started := slices.ContainsFunc(p.regs, func(r *registration) bool { return r.date.started() })
	for _, r := range p.regs {
		entry := object{"amount": decimal(r.paid), "paymentMethod": r.method, "paymentReference": r.reference}
		if started {
			entry["reason"] = p.late
		}
		if p.auto {
			entry["actor"], entry["via"] = "booking", "platform"
		}
		r.log("booked", nil, entry)
	}
}

func (p *purchase) path() string { return "/transactions/" + p.transaction }

// looseOfPurchase returns the members of a transaction that are checked separately.
func looseOfPurchase() []string {
	all := []string{"createdAt", "updatedAt"}
	for _, name := range loose() {
		all = append(all, "registrations."+name)
	}
	return all
}

func (p *purchase) view() object {
	out := object{
		"id": p.transaction, "purchasedById": p.payer.id, "currency": p.regs[0].currency, "paymentMethod": p.regs[0].method, "discountCode": nil,
	}
	total, regs := int64(0), []object{}
	for _, r := range p.regs {
		if r.currency == p.regs[0].currency { // other currencies cannot be added
			total += r.paid
		}
		regs = append(regs, r.view())
		if r.code != "" {
			out["discountCode"] = r.code
		}
	}
	out["total"], out["registrations"] = decimal(total), regs
	return out
}

// buy makes a transaction of one to three lines.
func (m *machine) buy(t *rapid.T) {
	o := &order{payer: m.anyCustomer(t, "payer")}
	body := m.drawLines(t, o)
	o.method = drawMethod(t)
	payment := object{"method": o.method}
	body["payment"] = payment
	if o.method != "PASS" {
		o.reference, _ = optional(t, "with reference", payment, "reference", "ch_3")
	}
	m.drawLinePayments(t, o, body)
	started := slices.ContainsFunc(o.lines, func(l *line) bool { return l.date != nil && l.date.started() })
	if started != seldom(t, "another reason", 5) {
		o.late = "They came in late."
		body["afterStartReason"] = o.late
	}
	p, want := m.decide(o)
	a, ok := m.write(t, http.StatusCreated, want, http.MethodPost, "/transactions", body)
	if !ok {
		return
	}
	m.take(p)
	m.confirm(p)
	p.match(t, a)
}

// drawLinePayments gives some lines a payment of their own, and in some runs names the pass.
func (m *machine) drawLinePayments(t *rapid.T, o *order, body object) {
	if !seldom(t, "own payments", 3) {
		return
	}
	for i, l := range o.lines {
		if rapid.Bool().Draw(t, "own payment") {
			l.paid = object{"method": drawMethod(t)}
			if l.paid["method"] != "PASS" {
				optional(t, "with reference", l.paid, "reference", "till 2")
			}
			body["lines"].([]object)[i]["payment"] = l.paid
		}
	}
	if h := one(t, "named pass", m.held); h != nil && rapid.Bool().Draw(t, "naming a pass") {
		body["payment"].(object)["customerPassId"], o.pass = h.id, h
	}
}

// drawMethod draws a payment method. Half of the payments are by pass.
func drawMethod(t *rapid.T) string {
	if rapid.Bool().Draw(t, "by pass") {
		return "PASS"
	}
	return choose(t, "method", "CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", "FREE")
}

// drawLines draws the lines and the discount code of an order.
func (m *machine) drawLines(t *rapid.T, o *order) object {
	var lines []object
	for range choose(t, "lines", 1, 1, 2, 3) {
		l := &line{event: m.forSale(t), who: o.payer, spots: 1}
		body := object{}
		if v, ok := optional(t, "with spots", body, "spots", 1, 1, 2, 3); ok {
			l.spots = v
		}
		if seldom(t, "for somebody else", 4) {
			l.who = m.anyCustomer(t, "who")
			body["customerId"] = l.who.id
		}
		if !seldom(t, "without option", 6) {
			l.option = one(t, "option", l.event.options)
			body["pricingOptionId"] = l.option.id
		}
		if whole := l.event.sellsWhole(l.option); whole == seldom(t, "another way", 6) {
			l.date = l.event.forSaleOn(t)
			body["eventDateId"] = l.date.id
		} else {
			body["eventId"] = l.event.id
		}
		o.lines, lines = append(o.lines, l), append(lines, body)
	}
	body := object{"purchasedById": o.payer.id, "lines": lines}
	if seldom(t, "with a code", 4) {
		o.code = strings.ToLower(choose(t, "code", m.codes()...))
		body["discountCode"] = o.code
	}
	return body
}

// bought lists the transactions by their ids: one that was a hold is listed where the hold was
// created.
func (m *machine) bought() []*purchase {
	return slices.SortedFunc(slices.Values(m.purchases), func(a, b *purchase) int { return cmp.Compare(a.transaction, b.transaction) })
}
