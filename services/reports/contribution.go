package reports

import (
	"maps"
	"slices"

	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

// A contribution is what a fact adds to a sum. The functions here are pure. They add the contributions of a
// fact to sums, times a sign: 1 adds them and -1 takes them off.

// takingKey identifies a row of takings.
type takingKey struct {
	day              Day
	currency, method string
	taxRate          int32
}

// productKind is the kind of a product, by the number that messages and rows have for it.
type productKind int16

const (
	productEvent productKind = 1
	productPass  productKind = 2
	productPlan  productKind = 3
)

// productKey identifies a row of takings by product.
type productKey struct {
	day      Day
	currency string
	kind     productKind
	product  id.UUID
}

// taking is a sum of money.
type taking struct{ paid, refunded, net, payments, refunds int64 }

func (t taking) plus(o taking, sign int64) taking {
	return taking{
		t.paid + sign*o.paid, t.refunded + sign*o.refunded, t.net + sign*o.net, t.payments + sign*o.payments, t.refunds + sign*o.refunds,
	}
}

// takingOf returns the contribution of one payment or refund. An amount of 0 contributes nothing.
func takingOf(gross, net int64) taking {
	switch {
	case gross > 0:
		return taking{paid: gross, net: net, payments: 1}
	case gross < 0:
		return taking{refunded: -gross, net: net, refunds: 1}
	}
	return taking{net: net}
}

// spaces are the numbers of spaces of bookings, and of their dates.
type spaces struct{ dates, booked, attended, noShows, cancelled, cancelledLate int64 }

func (s spaces) plus(o spaces, sign int64) spaces {
	return spaces{
		s.dates + sign*o.dates, s.booked + sign*o.booked, s.attended + sign*o.attended, s.noShows + sign*o.noShows,
		s.cancelled + sign*o.cancelled, s.cancelledLate + sign*o.cancelledLate,
	}
}

// counted is spaces of dates, with their capacity.
type counted struct {
	spaces
	capacity, bookedOfCapacity int64
}

func (c counted) plus(o counted, sign int64) counted {
	return counted{c.spaces.plus(o.spaces, sign), c.capacity + sign*o.capacity, c.bookedOfCapacity + sign*o.bookedOfCapacity}
}

// eventKey identifies the attendance of an event on a day, apart from that of appointments.
type eventKey struct {
	day           Day
	event         id.Event
	isAppointment bool
}

// creditKey identifies a row of changes of credits. The currency is that of the worth.
type creditKey struct {
	day      Day
	passType id.PassType
	currency string
}

// creditChange is a change of outstanding credits by its reasons, and of what they are worth.
type creditChange struct{ added, used, expired, adjusted, worth int64 }

func (c creditChange) plus(o creditChange, sign int64) creditChange {
	return creditChange{
		c.added + sign*o.added, c.used + sign*o.used, c.expired + sign*o.expired, c.adjusted + sign*o.adjusted, c.worth + sign*o.worth,
	}
}

// balance returns by how much the credits change.
func (c creditChange) balance() int64 { return c.added - c.used - c.expired + c.adjusted }

// pair is a day on which customers are active, and the next one.
type pair struct{ day, next Day }

// sums are changes of sums.
type sums struct {
	takings    map[takingKey]taking
	products   map[productKey]taking
	attendance map[id.EventDate]spaces
	events     map[eventKey]counted
	credits    map[creditKey]creditChange
	created    map[Day]int64
	activity   map[pair]int64
}

func newSums() *sums {
	return &sums{
		takings: map[takingKey]taking{}, products: map[productKey]taking{}, attendance: map[id.EventDate]spaces{},
		events: map[eventKey]counted{}, credits: map[creditKey]creditChange{}, created: map[Day]int64{}, activity: map[pair]int64{},
	}
}

// clean removes the changes that are zero.
func (s *sums) clean() {
	maps.DeleteFunc(s.takings, func(_ takingKey, t taking) bool { return t == taking{} })
	maps.DeleteFunc(s.products, func(_ productKey, t taking) bool { return t == taking{} })
	maps.DeleteFunc(s.attendance, func(_ id.EventDate, n spaces) bool { return n == spaces{} })
	maps.DeleteFunc(s.events, func(_ eventKey, n counted) bool { return n == counted{} })
	maps.DeleteFunc(s.credits, func(_ creditKey, c creditChange) bool { return c == creditChange{} })
	maps.DeleteFunc(s.created, func(_ Day, n int64) bool { return n == 0 })
	maps.DeleteFunc(s.activity, func(_ pair, n int64) bool { return n == 0 })
}

// take adds money to both sums of takings.
func (s *sums) take(k takingKey, kind productKind, product id.UUID, t taking, sign int64) {
	s.takings[k] = s.takings[k].plus(t, sign)
	p := productKey{day: k.day, currency: k.currency, kind: kind, product: product}
	s.products[p] = s.products[p].plus(t, sign)
}

// addBooking adds the contributions of a booking and its movements. Money counts for the event that the
// booking has now.
func (s *sums) addBooking(b bookingFact, movements []movement, sign int64) {
	for _, m := range movements {
		k := takingKey{day: m.day, currency: m.currency, method: m.method, taxRate: m.taxRate}
		s.take(k, productEvent, id.UUID(b.event), takingOf(m.gross, m.net), sign)
	}
	n := spacesOf(b)
	if !b.isAppointment() {
		s.attendance[b.date] = s.attendance[b.date].plus(n, sign)
		return
	}
	// A cancelled appointment is a cancelled date, which does not count.
	if b.status != bookingCancelled {
		n.dates = 1
		k := eventKey{day: b.day, event: b.event, isAppointment: true}
		s.events[k] = s.events[k].plus(counted{spaces: n, capacity: n.booked, bookedOfCapacity: n.booked}, sign)
	}
}

// addDate adds the contributions of a date, whose bookings have the spaces n. The date of an event that is a draft or
// deleted contributes too: reports leave such events out.
func (s *sums) addDate(d dateFact, n spaces, sign int64) {
	if d.activeDay() == noDay {
		return
	}
	n.dates = 1
	c := counted{spaces: n}
	if d.capacity != nil {
		c.capacity, c.bookedOfCapacity = int64(*d.capacity), n.booked
	}
	k := eventKey{day: d.day, event: d.event}
	s.events[k] = s.events[k].plus(c, sign)
}

// spacesOf returns the spaces of a booking by its status.
func spacesOf(b bookingFact) spaces {
	n := int64(b.spaces)
	switch b.status {
	case bookingAttended:
		return spaces{booked: n, attended: n}
	case bookingNoShow:
		return spaces{booked: n, noShows: n}
	case bookingCancelled:
		if b.late {
			return spaces{cancelled: n, cancelledLate: n}
		}
		return spaces{cancelled: n}
	}
	return spaces{booked: n}
}

// addPass adds the contributions of a customer pass and all entries of its ledger that are known.
func (s *sums) addPass(p passFact, entries []entryFact, sign int64) {
	if p.paid != 0 && p.method != "" && p.method != money.MethodFree && !p.ofSubscription {
		k := takingKey{day: p.createdOn, currency: p.currency, method: p.method}
		s.take(k, productPass, id.UUID(p.passType), takingOf(p.paid, p.paid), sign)
	}
	if p.isCancelled || p.isUnlimited {
		return
	}
	for day, change := range creditChanges(p, entries) {
		k := creditKey{day: day, passType: p.passType, currency: p.currency}
		s.credits[k] = s.credits[k].plus(change, sign)
	}
}

// creditChanges returns how the outstanding credits of a pass change on each day. After the expiry date, no
// credits are outstanding: those that are left expire on the next day, and those that are returned later
// expire at once. Changes of credits that are already used after the expiry date are undone in the same way.
func creditChanges(p passFact, entries []entryFact) map[Day]creditChange {
	changes := map[Day]creditChange{}
	for _, e := range entries {
		changes[e.day] = changes[e.day].plus(changeOf(e), 1)
	}
	days := slices.Sorted(maps.Keys(changes))
	var balance int64
	for _, day := range days {
		c := changes[day]
		if day > p.expires {
			c.expired += c.balance()
			changes[day] = c
			continue
		}
		before := balance
		balance += c.balance()
		c.worth = p.worth(balance) - p.worth(before)
		changes[day] = c
	}
	if p.expires < afterAll {
		end := creditChange{expired: balance, worth: -p.worth(balance)}
		changes[p.expires+1] = changes[p.expires+1].plus(end, 1)
	}
	return changes
}

// changeOf returns the change of credits of a ledger entry.
func changeOf(e entryFact) creditChange {
	n := int64(e.credits)
	switch e.kind {
	case entryAssigned, entryGranted:
		return creditChange{added: n}
	case entryRedeemed, entryReturned:
		return creditChange{used: -n}
	case entryExpired:
		return creditChange{expired: -n}
	}
	return creditChange{adjusted: n}
}

// worth returns what a number of credits of the pass is worth: its share of what was paid for the pass.
// Credits beyond those that were paid for are worth nothing. Credits of a subscription are valued when they
// are read, by the price of the plan.
func (p passFact) worth(credits int64) int64 {
	assigned := int64(p.assigned)
	if p.ofSubscription || assigned <= 0 {
		return 0
	}
	return p.paid * min(max(credits, 0), assigned) / assigned
}

// addSubscription adds the contribution of a movement of a subscription.
func (s *sums) addSubscription(m subscriptionMovement, sign int64) {
	k := takingKey{day: m.day, currency: m.currency, method: m.method}
	s.take(k, productPlan, id.UUID(m.plan), takingOf(m.amount, m.amount), sign)
}

// addCustomer adds the contributions of a customer and the days on which the customer is active.
func (s *sums) addCustomer(c customerFact, days []Day, sign int64) {
	if c.isDeleted {
		return
	}
	s.created[c.createdOn] += sign
	for _, p := range pairs(days) {
		s.activity[p] += sign
	}
}

// pairs returns the pairs of consecutive days, which are ascending, with an open pair at each end.
//
// Every customer who is ever active has exactly one pair with day < x <= next, for any x. So for a span from
// f to t and the span before, which is from b to f-1:
//
//	active in the span:    day < f, f <= next <= t
//	lost:                  b <= day < f, next > t
//	returned:              beforeAll < day < b, f <= next <= t
func pairs(days []Day) []pair {
	if len(days) == 0 {
		return nil
	}
	all := make([]pair, 0, len(days)+1)
	last := beforeAll
	for _, day := range days {
		all = append(all, pair{last, day})
		last = day
	}
	return append(all, pair{last, afterAll})
}
