package booking

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/recurrence"
)

// ReasonHasRegistrations is why an event with bookings is not deleted, nor made a
// draft again.
const ReasonHasRegistrations = "EVENT_HAS_REGISTRATIONS"

func eventCancelledFault() *fault.Error {
	return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
}

// eventChange is what a request changes of an event; what is nil, zero or "" stays.
type eventChange struct {
	title, description, timezone, location *string
	eventType                              EventType
	status                                 EventStatus
	policy                                 CancellationPolicy // its members are as those of eventChange
	dates                                  []dateChange
	together                               *dateChange            // what it says of the dates together; nil: nothing
	recurrence                             *recurrence.Recurrence // must be the event's
	options                                []optionChange
	version                                *int64
}

// optionChange changes a pricing option, or adds one.
type optionChange struct {
	id        id.PricingOption
	adds      bool
	name      *string
	price     *int64
	currency  *string
	credits   *int32
	noCredits bool
	taxRate   *int32
	ends      bool
}

// eventPlan is what becomes of an event: the event as it will be, and which parts
// of it are to be stored and told.
type eventPlan struct {
	*Event
	// said is what the event says of itself, its options included.
	said bool
	// sells reports a change of more than the texts that people read.
	sells          bool
	cancels        bool
	drafts         bool // its dates become drafts, or cease to be
	rezones        bool
	changedDates   []difference
	addedDates     []EventDate
	changedOptions []*PricingOption
	addedOptions   []PricingOption
	endedOptions   []id.PricingOption
}

func (p *eventPlan) changes() bool {
	return p.said || p.cancels || len(p.changedDates)+len(p.addedDates) > 0
}

// offers lists the dates that may have places for those who wait: those that
// changed, or all when they cease to be drafts.
func (p *eventPlan) offers() []id.EventDate {
	var dates []id.EventDate
	for _, d := range p.changedDates {
		dates = append(dates, d.date.ID)
	}
	if p.drafts {
		for i := range p.Dates {
			dates = append(dates, p.Dates[i].ID)
		}
	}
	return distinct(dates)
}

// touchesDates reports a change for which the event's dates must be locked.
func (c *eventChange) touchesDates() bool {
	return c.together != nil || len(c.dates) > 0 || c.status != "" || c.timezone != nil
}

// adding counts the dates that the change adds.
func (c *eventChange) adding() (n int) {
	for i := range c.dates {
		if c.dates[i].adds {
			n++
		}
	}
	return n
}

// check reports what is wrong whatever the event is.
func (c *eventChange) check() error {
	var faults fields
	if faults.Count("dates", len(c.dates), 0, maxEventDates) && faults.Count("dates", c.adding(), 0, maxDates) {
		named := map[id.EventDate]bool{}
		for i := range c.dates {
			d := &c.dates[i]
			d.check(&faults)
			if !d.adds && named[d.id] {
				faults.Add(d.at+"id", "unique", "is changed twice")
			}
			named[d.id] = true
		}
	}
	if c.together != nil {
		c.together.check(&faults)
	}
	changed := make(map[id.PricingOption]bool, len(c.options))
	for i, o := range c.options {
		if o.credits != nil && o.noCredits {
			faults.Add(fmt.Sprintf("pricing_options[%d].no_credits", i), "exclusive", "does not go with credits")
		}
		if o.ends && (o.adds || o.name != nil || o.price != nil || o.currency != nil || o.credits != nil || o.noCredits || o.taxRate != nil) {
			faults.Add(fmt.Sprintf("pricing_options[%d].ended", i), "exclusive", "does not go with other changes of the option")
		}
		if !o.adds && changed[o.id] {
			faults.Add(fmt.Sprintf("pricing_options[%d].id", i), "unique", "is changed twice")
		}
		changed[o.id] = true
	}
	return faults.Err()
}

// apply decides what becomes of e, which is changed in place.
func (c *eventChange) apply(e *Event, currency string, now time.Time) (*eventPlan, error) {
	if c.version != nil && *c.version != e.Version {
		return nil, fault.Stale("event", e.Version)
	}
	p := &eventPlan{Event: e}
	cancelled := e.Status == Cancelled
	var faults fields
	if err := c.say(p, &faults); err != nil {
		return nil, err
	}
	if err := c.changeOptions(p, currency, &faults); err != nil {
		return nil, err
	}
	if loc, err := zone.Load(e.Timezone); err == nil {
		if err := c.changeDates(p, loc, now, &faults); err != nil {
			return nil, err
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if cancelled && (p.sells || len(p.changedDates)+len(p.addedDates) > 0) {
		return nil, eventCancelledFault()
	}
	return p, nil
}

// say changes what the event says of itself.
func (c *eventChange) say(p *eventPlan, f *fields) error {
	e := p.Event
	before := *e
	for _, text := range []struct{ from, to *string }{
		{c.title, &e.Title}, {c.description, &e.Description}, {c.timezone, &e.Timezone}, {c.location, &e.Location},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if c.eventType != "" {
		e.Type = c.eventType
	}
	e.Policy = e.Policy.changed(c.policy)
	f.about(e)
	if c.recurrence != nil && !e.Recurrence.Matches(c.recurrence) {
		f.Add("recurrence", "immutable", "is given when the event is created. Change, add or cancel its dates instead")
	}
	p.rezones = e.Timezone != before.Timezone
	p.sells = p.rezones || e.Type != before.Type || !e.Policy.equal(before.Policy)
	p.said = p.sells || e.Title != before.Title || e.Description != before.Description || e.Location != before.Location
	if c.status == "" || c.status == e.Status {
		return nil
	}
	if c.status == Cancelled {
		p.cancels = true
	} else {
		p.said, p.sells = true, true
		p.drafts = e.Status == Draft || c.status == Draft
	}
	if c.status == Draft && e.Status != Cancelled && e.taken() {
		return fault.Refuse(ReasonHasRegistrations, "the event has registrations")
	}
	e.Status = c.status
	return nil
}

// taken reports places that are booked or held.
func (e *Event) taken() bool {
	return slices.ContainsFunc(e.Dates, func(d EventDate) bool { return d.Booked > 0 })
}

func same(a, b *int32) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func (c *eventChange) changeOptions(p *eventPlan, currency string, f *fields) error {
	e := p.Event
	if err := c.endOptions(p); err != nil {
		return err
	}
	old := len(e.Options)
	for i := range c.options {
		o := &c.options[i]
		if o.adds {
			e.Options = append(e.Options, PricingOption{Currency: currency})
		}
	}
	added := old
	changed := make(map[int]int, len(c.options)) // by their place in the event
	for i := range c.options {
		o := &c.options[i]
		if o.ends {
			continue
		}
		at := added
		if o.adds {
			added++
			if o.price == nil {
				f.Add(fmt.Sprintf("pricing_options[%d].price", i), "required", "is required")
			}
		} else if at = slices.IndexFunc(e.Options[:old], func(p PricingOption) bool { return p.ID == o.id }); at < 0 {
			return noSuchPart(fmt.Sprintf("pricing_options[%d].id", i), "pricing option")
		}
		before := e.Options[at]
		o.change(&e.Options[at])
		f.option(fmt.Sprintf("pricing_options[%d].", i), &e.Options[at])
		changed[at] = i
		if !o.adds && before.differs(&e.Options[at]) {
			p.changedOptions = append(p.changedOptions, &e.Options[at])
		}
	}
	f.namesOnce(e.Options, changed)
	if len(e.Options) > maxOptions {
		f.Add("pricing_options", "max_items", fmt.Sprintf("must be at most %d with those in place", maxOptions))
	}
	if len(e.Options) == 0 && len(p.endedOptions) > 0 {
		f.Add("pricing_options", "items", "must not all end, because a booking has one")
	}
	p.addedOptions = e.Options[old:]
	offers := len(p.changedOptions)+len(p.addedOptions)+len(p.endedOptions) > 0
	p.said, p.sells = p.said || offers, p.sells || offers
	return nil
}

// endOptions takes those that end off the event; their names are free at once.
func (c *eventChange) endOptions(p *eventPlan) error {
	for i := range c.options {
		o := &c.options[i]
		if !o.ends {
			continue
		}
		at := slices.IndexFunc(p.Options, func(p PricingOption) bool { return p.ID == o.id })
		if at < 0 {
			return noSuchPart(fmt.Sprintf("pricing_options[%d].id", i), "pricing option")
		}
		p.endedOptions = append(p.endedOptions, o.id)
		p.Options = slices.Delete(p.Options, at, at+1)
	}
	return nil
}

// namesOnce reports options whose name another one has; changed holds the place in
// the request of those that it names.
func (f *fields) namesOnce(options []PricingOption, changed map[int]int) {
	last := map[string]int{}
	for at := range options {
		other, taken := last[options[at].Name]
		last[options[at].Name] = at
		if !taken {
			continue
		}
		if i, ok := changed[at]; ok {
			f.nameTaken(i)
		} else if i, ok := changed[other]; ok {
			f.nameTaken(i)
		}
	}
}

func (o *optionChange) change(to *PricingOption) {
	if o.name != nil {
		to.Name = *o.name
	}
	if o.price != nil {
		to.Price = *o.price
	}
	if o.currency != nil {
		to.Currency = *o.currency
	}
	if o.credits != nil {
		to.Credits = o.credits
	}
	if o.noCredits {
		to.Credits = nil
	}
	if o.taxRate != nil {
		to.TaxRate = *o.taxRate
	}
}

func (p *PricingOption) differs(other *PricingOption) bool {
	return p.Name != other.Name || p.Price != other.Price || p.Currency != other.Currency ||
		!same(p.Credits, other.Credits) || p.TaxRate != other.TaxRate
}

func noSuchPart(field, what string) error {
	missing := fault.Missing(what)
	missing.Fields = []fault.Field{{Field: field, Rule: "exists", Message: "does not exist"}}
	return missing
}

func (c *eventChange) changeDates(p *eventPlan, loc *time.Location, now time.Time, f *fields) error {
	e := p.Event
	before := slices.Clone(e.Dates)
	at := make(map[id.EventDate]int, len(e.Dates))
	for i := range e.Dates {
		at[e.Dates[i].ID] = i
	}
	var last EventDate
	for _, d := range before {
		if d.StartsAt.After(last.StartsAt) {
			last = d
		}
	}
	for i := range c.dates {
		change := &c.dates[i]
		if change.adds {
			p.addedDates = append(p.addedDates, change.after(last, loc, f))
			continue
		}
		i, ok := at[change.id]
		if !ok {
			return noSuchPart(change.at+"id", "event date")
		}
		if _, refusal := change.change(&e.Dates[i], loc, f); refusal != nil {
			return refusal
		}
	}
	changes := c.dates
	if c.together != nil {
		spread, err := c.spread(p, before, loc, now, f)
		if err != nil {
			return err
		}
		changes = append(slices.Clone(changes), spread...)
	}
	for i := range e.Dates {
		if before[i].differs(&e.Dates[i]) {
			p.changedDates = append(p.changedDates, difference{date: e.Dates[i], changed: true})
		}
	}
	f.startsOnce(e.Dates, p.addedDates, changes, loc)
	if len(p.addedDates) > 0 && len(e.Dates)+len(p.addedDates) > maxEventDates {
		f.Add("dates", "max_items", fmt.Sprintf("must be at most %d with those in place", maxEventDates))
	}
	return nil
}

// startsOnce reports changes to a start at which another date of the event is.
func (f *fields) startsOnce(dates, added []EventDate, changes []dateChange, loc *time.Location) {
	at := map[int64]int{}
	for _, list := range [][]EventDate{dates, added} {
		for i := range list {
			at[list[i].StartsAt.Unix()]++
		}
	}
	for i := range changes {
		start := changes[i].start(loc)
		if !start.IsZero() && at[start.Unix()] > 1 {
			f.startTaken(&changes[i])
			at[start.Unix()] = 0 // once is enough
			if changes[i].at == byRule {
				return // what is said of a rule is said once
			}
		}
	}
}

// cancel takes an event off the offer, with its dates that are still to come.
func (e *Event) cancel(now time.Time) {
	e.Status = Cancelled
	for i := range e.Dates {
		if d := &e.Dates[i]; d.StartsAt.After(now) {
			d.cancel()
		}
	}
}

// cancel takes a date off the offer. What was booked of it is cancelled before
// anybody is told.
func (d *EventDate) cancel() { d.Status, d.Booked = DateCancelled, 0 }

// emptied shows cancelled dates as they are when the answer is given.
func (e *Event) emptied() {
	for i := range e.Dates {
		if d := &e.Dates[i]; d.Status == DateCancelled {
			d.Booked = 0
		}
	}
}

// upcoming lists the dates that cancelling the event at now cancels.
func (e *Event) upcoming(now time.Time) []id.EventDate {
	var dates []id.EventDate
	for _, d := range e.Dates {
		if d.Status == Scheduled && d.StartsAt.After(now) {
			dates = append(dates, d.ID)
		}
	}
	return dates
}

// occupied reports bookings for which an event is not deleted: any, until it is
// cancelled, and then those that are still being cancelled. What took place is no
// obstacle to deleting a cancelled event.
func (e *Event) occupied() bool {
	return slices.ContainsFunc(e.Dates, func(d EventDate) bool {
		return d.Booked > 0 && (e.Status != Cancelled || d.Status == DateCancelled)
	})
}

// checkAdded reports what is wrong with dates to be added whatever their event is.
func checkAdded(c *eventChange, rule *recurrence.Recurrence) error {
	var faults fields
	most := maxDates
	if rule != nil {
		most = 1
	}
	if !faults.Count("dates", len(c.dates), 1, most) {
		return faults.Err()
	}
	if rule == nil {
		return c.check()
	}
	c.dates[0].checkSize(&faults)
	return faults.Err()
}
