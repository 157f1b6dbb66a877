package reports

import (
	"maps"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
)

// facts are facts by their identifiers.
type facts struct {
	events     map[id.Event]eventFact
	dates      map[id.EventDate]dateFact
	bookings   map[id.Booking]bookingFact
	movements  map[movementKey]movement
	passes     map[id.CustomerPass]passFact
	entries    map[entryKey]entryFact
	passTypes  map[id.PassType]passTypeFact
	plans      map[id.Plan]planFact
	subscribed map[subscriptionKey]subscriptionMovement
	customers  map[id.Customer]customerFact
}

func newFacts() *facts {
	return &facts{
		events: map[id.Event]eventFact{}, dates: map[id.EventDate]dateFact{}, bookings: map[id.Booking]bookingFact{},
		movements: map[movementKey]movement{}, passes: map[id.CustomerPass]passFact{}, entries: map[entryKey]entryFact{},
		passTypes: map[id.PassType]passTypeFact{}, plans: map[id.Plan]planFact{},
		subscribed: map[subscriptionKey]subscriptionMovement{}, customers: map[id.Customer]customerFact{},
	}
}

// A fact replaces one of a lower version.

// addEvent reports whether it changed something. A deletion has no title, so it takes one of any version.
func (f *facts) addEvent(e eventFact) bool {
	old, known := f.events[e.id]
	switch {
	case known && old.version >= e.version && (old.title != "" || e.title == ""):
		return false
	case known && old.version >= e.version:
		old.title = e.title
		e = old
	case e.title == "":
		e.title = old.title
	}
	f.events[e.id] = e
	return true
}

func (f *facts) addDate(d dateFact) {
	old, known := f.dates[d.id]
	if known && old.version >= d.version {
		return
	}
	if known && d.day == noDay {
		d.event, d.day, d.capacity = old.event, old.day, old.capacity
	}
	f.dates[d.id] = d
}

func (f *facts) addBooking(b bookingFact) {
	if old, known := f.bookings[b.id]; !known || old.version < b.version {
		f.bookings[b.id] = b
	}
}

func (f *facts) addPass(p passFact) {
	if old, known := f.passes[p.id]; !known || old.version < p.version {
		f.passes[p.id] = p
	}
}

func (f *facts) addPassType(t passTypeFact) {
	if old, known := f.passTypes[t.id]; !known || old.version < t.version {
		f.passTypes[t.id] = t
	}
}

func (f *facts) addPlan(p planFact) {
	if old, known := f.plans[p.id]; !known || old.version < p.version {
		f.plans[p.id] = p
	}
}

func (f *facts) addCustomer(c customerFact) {
	if old, known := f.customers[c.id]; !known || old.version < c.version {
		f.customers[c.id] = c
	}
}

// An entry that is only added replaces none.

func addOnce[K comparable, V any](all map[K]V, key K, value V) {
	if _, known := all[key]; !known {
		all[key] = value
	}
}

// known are the stored facts and sums that concern changed facts.
type known struct {
	facts
	// attendance is the spaces of the bookings of the changed dates.
	attendance map[id.EventDate]spaces
	// attending are the bookings that make customers active, of the dates whose active day changes.
	attending []attending
	// active are the numbers of bookings that make the changed customers active, by day.
	active map[id.Customer]map[Day]int32
}

// attending is a booking of a date that makes a customer active.
type attending struct {
	booking  id.Booking
	customer id.Customer
	date     id.EventDate
}

// moved returns the dates whose active day changes.
func (k *known) moved(c *facts) []id.EventDate {
	var all []id.EventDate
	for date, fresh := range c.dates {
		merged := k.merged(fresh)
		if merged.activeDay() != k.dayOfDate(date) {
			all = append(all, date)
		}
	}
	return all
}

// merged returns the date after a change.
func (k *known) merged(d dateFact) dateFact {
	both := facts{dates: map[id.EventDate]dateFact{}}
	if old, exists := k.dates[d.id]; exists {
		both.dates[d.id] = old
	}
	both.addDate(d)
	return both.dates[d.id]
}

func (k *known) dayOfDate(date id.EventDate) Day {
	if d, exists := k.dates[date]; exists {
		return d.activeDay()
	}
	return noDay
}

// people returns the customers whose activity can change, without those of the moved dates.
func (k *known) people(c *facts) []id.Customer {
	all := map[id.Customer]bool{}
	for booking, fresh := range c.bookings {
		all[fresh.customer] = true
		if old, exists := k.bookings[booking]; exists {
			all[old.customer] = true
		}
	}
	for customer := range c.customers {
		all[customer] = true
	}
	return slices.Collect(maps.Keys(all))
}

// outcome is what a change stores: facts, and changes of sums.
type outcome struct {
	facts
	sums   *sums
	active []activeDay
}

// activeDay is the new number of bookings that make a customer active on a day.
type activeDay struct {
	customer id.Customer
	day      Day
	bookings int32
}

// outcomeOf returns what is to be stored so that the facts c are known too. It changes k. Facts that are
// already known in a higher version change nothing. timezone is that of the generation.
func outcomeOf(k *known, c *facts, timezone string) *outcome {
	out := &outcome{facts: *newFacts(), sums: newSums()}
	days, dates := newDayChanges(k), maps.Clone(k.dates)
	for _, e := range c.events {
		if k.addEvent(e) {
			out.events[e.id] = k.events[e.id]
		}
	}
	out.changeDates(k, c, days)
	out.changeBookings(k, c, days)
	out.changeAttendance(k, dates)
	out.changePasses(k, c, timezone)
	for key, m := range c.subscribed {
		if _, exists := k.subscribed[key]; !exists {
			out.subscribed[key] = m
			out.sums.addSubscription(m, 1)
		}
	}
	for _, t := range c.passTypes {
		if old, exists := k.passTypes[t.id]; !exists || old.version < t.version {
			out.passTypes[t.id] = t
		}
	}
	for _, p := range c.plans {
		if old, exists := k.plans[p.id]; !exists || old.version < p.version {
			out.plans[p.id] = p
		}
	}
	out.changeCustomers(k, c, days, timezone)
	out.sums.clean()
	return out
}

// changeDates moves the activity of the bookings of dates. changeAttendance moves their attendance.
func (o *outcome) changeDates(k *known, c *facts, days *dayChanges) {
	changed := map[id.EventDate]Day{} // the days before
	for _, d := range c.dates {
		if old, exists := k.dates[d.id]; exists && old.version >= d.version {
			continue
		}
		before := k.dayOfDate(d.id)
		k.addDate(d)
		o.dates[d.id] = k.dates[d.id]
		if k.dayOfDate(d.id) != before {
			changed[d.id] = before
		}
	}
	for _, a := range k.attending {
		if before, moves := changed[a.date]; moves {
			days.add(a.customer, before, -1)
			days.add(a.customer, k.dayOfDate(a.date), 1)
		}
	}
}

func (o *outcome) changeBookings(k *known, c *facts, days *dayChanges) {
	movements := map[id.Booking][]movement{}
	for _, m := range k.movements {
		movements[m.booking] = append(movements[m.booking], m)
	}
	fresh := map[id.Booking][]movement{}
	for key, m := range c.movements {
		if _, exists := k.movements[key]; !exists {
			fresh[m.booking] = append(fresh[m.booking], m)
			o.movements[key] = m
		}
	}
	for booking, b := range c.bookings {
		old, exists := k.bookings[booking]
		if exists && old.version >= b.version {
			b = old
		}
		if exists {
			o.sums.addBooking(old, movements[booking], -1)
			days.addBooking(k, old, -1)
		}
		o.sums.addBooking(b, append(movements[booking], fresh[booking]...), 1)
		days.addBooking(k, b, 1)
		if !exists || old.version < b.version {
			o.bookings[booking] = b
		}
	}
}

// changeAttendance changes the attendance of the events of the dates that have changed, or whose bookings have. before
// are the dates before the change. A booking can arrive before its date, whose contributions then wait for it.
func (o *outcome) changeAttendance(k *known, before map[id.EventDate]dateFact) {
	changed := map[id.EventDate]bool{}
	for date := range o.dates {
		changed[date] = true
	}
	for date := range o.sums.attendance {
		changed[date] = true
	}
	for date := range changed {
		// Of a date that has not changed, these are not known, and cancel each other out.
		stored := k.attendance[date]
		if d, exists := before[date]; exists {
			o.sums.addDate(d, stored, -1)
		}
		if d, exists := k.dates[date]; exists {
			o.sums.addDate(d, stored.plus(o.sums.attendance[date], 1), 1)
		}
	}
}

func (o *outcome) changePasses(k *known, c *facts, timezone string) {
	entries := map[id.CustomerPass][]entryFact{}
	for _, e := range k.entries {
		entries[e.pass] = append(entries[e.pass], e)
	}
	fresh := map[id.CustomerPass][]entryFact{}
	for key, e := range c.entries {
		if _, exists := k.entries[key]; !exists {
			fresh[e.pass] = append(fresh[e.pass], e)
			o.entries[key] = e
		}
	}
	for pass, p := range c.passes {
		if p.createdOn == noDay {
			p.createdOn = localDay(p.createdAt, timezone)
		}
		old, exists := k.passes[pass]
		if exists && old.version >= p.version {
			p = old
		}
		if exists {
			o.sums.addPass(old, entries[pass], -1)
		}
		o.sums.addPass(p, append(entries[pass], fresh[pass]...), 1)
		if !exists || old.version < p.version {
			o.passes[pass] = p
		}
	}
}

// changeCustomers changes the activity of the customers whose days or facts change.
func (o *outcome) changeCustomers(k *known, c *facts, days *dayChanges, timezone string) {
	for customer, fresh := range c.customers {
		if old, exists := k.customers[customer]; exists && old.version >= fresh.version {
			continue
		}
		fresh.createdOn = localDay(fresh.createdAt, timezone)
		o.customers[customer] = fresh
		days.touch(customer)
	}
	for customer := range days.changes {
		before, after := k.active[customer], days.after(customer)
		if old, exists := k.customers[customer]; exists {
			o.sums.addCustomer(old, slices.Sorted(maps.Keys(before)), -1)
		}
		now, exists := o.customers[customer]
		if !exists {
			now, exists = k.customers[customer]
		}
		if exists {
			o.sums.addCustomer(now, slices.Sorted(maps.Keys(after)), 1)
		}
		for day := range days.changes[customer] {
			if after[day] != before[day] {
				o.active = append(o.active, activeDay{customer: customer, day: day, bookings: after[day]})
			}
		}
	}
}

// dayChanges are changes of the numbers of bookings that make customers active.
type dayChanges struct {
	known   *known
	changes map[id.Customer]map[Day]int32
}

func newDayChanges(k *known) *dayChanges {
	return &dayChanges{known: k, changes: map[id.Customer]map[Day]int32{}}
}

// touch makes the activity of a customer be computed again.
func (d *dayChanges) touch(customer id.Customer) {
	if d.changes[customer] == nil {
		d.changes[customer] = map[Day]int32{}
	}
}

func (d *dayChanges) add(customer id.Customer, day Day, n int32) {
	if day == noDay {
		return
	}
	d.touch(customer)
	d.changes[customer][day] += n
}

// addBooking adds the day on which a booking makes its customer active.
func (d *dayChanges) addBooking(k *known, b bookingFact, n int32) {
	if !b.isActive() {
		return
	}
	day := b.day
	if !b.isAppointment() {
		day = k.dayOfDate(b.date)
	}
	d.add(b.customer, day, n)
}

// after returns the numbers of bookings of a customer after the changes, without days that have none.
func (d *dayChanges) after(customer id.Customer) map[Day]int32 {
	after := map[Day]int32{}
	maps.Copy(after, d.known.active[customer])
	for day, n := range d.changes[customer] {
		if after[day] += n; after[day] == 0 {
			delete(after, day)
		}
	}
	return after
}

// zoneOf returns the name of a zone that can be loaded: UTC if name cannot.
func zoneOf(name string) string {
	if _, err := zone.Load(name); err != nil {
		return time.UTC.String()
	}
	return name
}
