package model

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/recurrence"
)

// ReasonHasRegistrations is the reason for refusing to delete an event with bookings, or to make it
// a draft again.
const ReasonHasRegistrations = "EVENT_HAS_REGISTRATIONS"

// EventIsCancelled refuses a change of a cancelled event.
func EventIsCancelled() *fault.Error {
	return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
}

// EventChange is a request to change an event. Fields that are nil, zero or "" do not change.
type EventChange struct {
	Title, Description, Timezone, Location *string
	EventType                              EventType
	Status                                 EventStatus
	Policy                                 CancellationPolicy // nil members do not change
	Rules                                  *BookingRules
	StaffAndRooms                          *StaffAndRooms
	Dates                                  []DateChange
	Together                               *DateChange            // a change of all dates together; nil: none
	Recurrence                             *recurrence.Recurrence // must equal the event's
	Options                                []OptionChange
	Version                                *int64
}

// OptionChange changes a pricing option, or adds one.
type OptionChange struct {
	ID        id.PricingOption
	Adds      bool
	Name      *string
	Price     *int64
	Currency  *string
	Credits   *int32
	NoCredits bool
	TaxRate   *int32
	// WholeCourse is only for an option to add. For an existing one it must equal the present value.
	WholeCourse *bool
	// Length is only for an option to add to the event of an appointment type.
	Length int32
	Ends   bool
}

// EventPlan is the result of a change: the event after it, and the parts of the event to store and
// publish.
type EventPlan struct {
	*Event
	// EventChanged is true if the event's own fields or its options change.
	EventChanged bool
	// affectsSales is true if the change affects more than the texts that people read.
	affectsSales   bool
	Cancels        bool
	Drafts         bool // its dates become drafts, or stop being drafts
	Rezones        bool
	Restaffs       bool // the staff or rooms of the event change
	reopens        bool // the booking rules change
	ChangedDates   []DateDifference
	AddedDates     []EventDate
	ChangedOptions []*PricingOption
	AddedOptions   []PricingOption
	EndedOptions   []id.PricingOption
	// Staffing is what the change does to staff and rooms; nil: nothing.
	Staffing *Staffing
}

// Changes reports whether there is anything to store.
func (p *EventPlan) Changes() bool {
	return p.EventChanged || p.Cancels || len(p.ChangedDates)+len(p.AddedDates) > 0
}

// Offers returns the dates that may have spaces for the waitlist: the dates that changed, or all
// dates if they stop being drafts or the booking rules change.
func (p *EventPlan) Offers() []id.EventDate {
	dates := p.Changed()
	if p.Drafts || p.reopens {
		for i := range p.Dates {
			dates = append(dates, p.Dates[i].ID)
		}
	}
	return Distinct(dates)
}

// Changed returns the dates that the plan changes.
func (p *EventPlan) Changed() []id.EventDate {
	dates := make([]id.EventDate, len(p.ChangedDates))
	for i := range p.ChangedDates {
		dates[i] = p.ChangedDates[i].Date.ID
	}
	return dates
}

// TouchesDates reports whether the change requires a lock of the event's dates.
func (c *EventChange) TouchesDates() bool {
	return c.Together != nil || len(c.Dates) > 0 || c.Status != "" || c.Timezone != nil || c.Rules != nil || c.StaffAndRooms != nil
}

// adding returns the number of dates that the change adds.
func (c *EventChange) adding() (n int) {
	for i := range c.Dates {
		if c.Dates[i].Adds {
			n++
		}
	}
	return n
}

// Check reports the faults that do not depend on the event.
func (c *EventChange) Check() error {
	var faults fields
	if faults.Count("dates", len(c.Dates), 0, MaxEventDates) && faults.Count("dates", c.adding(), 0, maxDates) {
		named := map[id.EventDate]bool{}
		for i := range c.Dates {
			d := &c.Dates[i]
			d.check(&faults)
			if d.StaffAndRooms != nil {
				faults.Add(d.At+"staff_and_rooms", "exclusive", "cannot be changed together with the event: change it with the date alone")
			}
			if !d.Adds && named[d.ID] {
				faults.Add(d.At+"id", "unique", "is changed twice")
			}
			named[d.ID] = true
		}
	}
	if c.Together != nil {
		c.Together.check(&faults)
		if c.Together.StaffAndRooms != nil {
			faults.Add(c.Together.At+"staff_and_rooms", "exclusive", "cannot be given for all dates together: use that of the event")
		}
	}
	changed := make(map[id.PricingOption]bool, len(c.Options))
	for i, o := range c.Options {
		if o.Credits != nil && o.NoCredits {
			faults.Add(fmt.Sprintf("pricing_options[%d].no_credits", i), "exclusive", "cannot be combined with credits")
		}
		if o.Ends && (o.Adds || o.Name != nil || o.Price != nil || o.Currency != nil || o.Credits != nil || o.NoCredits || o.TaxRate != nil || o.WholeCourse != nil) {
			faults.Add(fmt.Sprintf("pricing_options[%d].ended", i), "exclusive", "cannot be combined with other changes of the option")
		}
		if !o.Adds && changed[o.ID] {
			faults.Add(fmt.Sprintf("pricing_options[%d].id", i), "unique", "is changed twice")
		}
		changed[o.ID] = true
	}
	return faults.Err()
}

// Apply applies the change to e and returns the plan to store it.
func (c *EventChange) Apply(e *Event, currency string, now time.Time) (*EventPlan, error) {
	if c.Version != nil && *c.Version != e.Version {
		return nil, fault.Stale("event", e.Version)
	}
	if err := c.namesDatesOf(e); err != nil {
		return nil, err
	}
	p := &EventPlan{Event: e}
	cancelled := e.Status == Cancelled
	var faults fields
	if err := c.changeEventFields(p, &faults); err != nil {
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
	if cancelled && (p.affectsSales || len(p.ChangedDates)+len(p.AddedDates) > 0) {
		return nil, EventIsCancelled()
	}
	return p, nil
}

// changeEventFields changes the event's own fields.
func (c *EventChange) changeEventFields(p *EventPlan, f *fields) error {
	e := p.Event
	before := *e
	for _, text := range []struct{ from, to *string }{
		{c.Title, &e.Title}, {c.Description, &e.Description}, {c.Timezone, &e.Timezone}, {c.Location, &e.Location},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if c.EventType != "" {
		e.Type = c.EventType
	}
	e.Policy = e.Policy.changed(c.Policy)
	if c.Rules != nil {
		e.Rules = *c.Rules
	}
	if c.StaffAndRooms != nil {
		e.StaffAndRooms = c.StaffAndRooms.over(&e.StaffAndRooms)
	}
	f.checkEvent(e)
	if c.Recurrence != nil && !e.Recurrence.Matches(c.Recurrence) {
		f.Add("recurrence", "immutable", "can only be set when the event is created. Change, add or cancel its dates instead")
	}
	p.Rezones = e.Timezone != before.Timezone
	p.reopens = !e.Rules.equal(&before.Rules)
	p.Restaffs = !e.StaffAndRooms.equal(&before.StaffAndRooms)
	p.affectsSales = p.Rezones || p.reopens || p.Restaffs || e.Type != before.Type || !e.Policy.equal(before.Policy)
	p.EventChanged = p.affectsSales || e.Title != before.Title || e.Description != before.Description || e.Location != before.Location
	if c.Status == "" || c.Status == e.Status {
		return nil
	}
	if c.Status == Cancelled {
		p.Cancels = true
	} else {
		p.EventChanged, p.affectsSales = true, true
		p.Drafts = e.Status == Draft || c.Status == Draft
	}
	if c.Status == Draft && e.Status != Cancelled && e.taken() {
		return fault.Refuse(ReasonHasRegistrations, "the event has registrations, so it cannot become a draft")
	}
	e.Status = c.Status
	return nil
}

// taken reports whether the event has booked or held spaces.
func (e *Event) taken() bool {
	return slices.ContainsFunc(e.Dates, func(d EventDate) bool { return d.Booked > 0 })
}

func (c *EventChange) changeOptions(p *EventPlan, currency string, f *fields) error {
	e := p.Event
	if err := c.endOptions(p); err != nil {
		return err
	}
	old := len(e.Options)
	if e.Type != Course && slices.ContainsFunc(e.Options, func(o PricingOption) bool { return o.WholeCourse }) {
		f.Add("type", "exclusive", "must be course while the event has a pricing option for the whole course: end that option first")
	}
	for i := range c.Options {
		o := &c.Options[i]
		if o.Adds {
			e.Options = append(e.Options, PricingOption{Currency: currency, WholeCourse: o.WholeCourse != nil && *o.WholeCourse, Length: o.Length})
		}
	}
	added := old
	changed := make(map[int]int, len(c.Options)) // by index in the event
	for i := range c.Options {
		o := &c.Options[i]
		if o.Ends {
			continue
		}
		at := added
		if o.Adds {
			added++
			if o.Price == nil {
				f.Add(fmt.Sprintf("pricing_options[%d].price", i), "required", "is required")
			}
		} else if at = slices.IndexFunc(e.Options[:old], func(p PricingOption) bool { return p.ID == o.ID }); at < 0 {
			return MissingPart(fmt.Sprintf("pricing_options[%d].id", i), "pricing option")
		}
		before := e.Options[at]
		o.change(&e.Options[at])
		f.option(fmt.Sprintf("pricing_options[%d].", i), &e.Options[at])
		f.wholeCourse(fmt.Sprintf("pricing_options[%d].", i), o, &e.Options[at], e.Type)
		changed[at] = i
		if !o.Adds && before.differs(&e.Options[at]) {
			p.ChangedOptions = append(p.ChangedOptions, &e.Options[at])
		}
	}
	f.namesOnce(e.Options, changed)
	if len(e.Options) > maxOptions {
		f.Add("pricing_options", "max_items", fmt.Sprintf("must be at most %d, including the existing ones", maxOptions))
	}
	if len(e.Options) == 0 && len(p.EndedOptions) > 0 {
		f.Add("pricing_options", "items", "must not all end: at least one must remain")
	}
	p.AddedOptions = e.Options[old:]
	offers := len(p.ChangedOptions)+len(p.AddedOptions)+len(p.EndedOptions) > 0
	p.EventChanged, p.affectsSales = p.EventChanged || offers, p.affectsSales || offers
	return nil
}

// endOptions removes the options that end from the event. Their names can be used again in the same
// request.
func (c *EventChange) endOptions(p *EventPlan) error {
	for i := range c.Options {
		o := &c.Options[i]
		if !o.Ends {
			continue
		}
		at := slices.IndexFunc(p.Options, func(p PricingOption) bool { return p.ID == o.ID })
		if at < 0 {
			return MissingPart(fmt.Sprintf("pricing_options[%d].id", i), "pricing option")
		}
		p.EndedOptions = append(p.EndedOptions, o.ID)
		p.Options = slices.Delete(p.Options, at, at+1)
	}
	return nil
}

// namesOnce reports options that have the same name as another option. changed maps their index in
// the event to their index in the request.
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

func (o *OptionChange) change(to *PricingOption) {
	if o.Name != nil {
		to.Name = *o.Name
	}
	if o.Price != nil {
		to.Price = *o.Price
	}
	if o.Currency != nil {
		to.Currency = *o.Currency
	}
	if o.Credits != nil {
		to.Credits = o.Credits
	}
	if o.NoCredits {
		to.Credits = nil
	}
	if o.TaxRate != nil {
		to.TaxRate = *o.TaxRate
	}
}

func (p *PricingOption) differs(other *PricingOption) bool {
	return p.Name != other.Name || p.Price != other.Price || p.Currency != other.Currency ||
		!same(p.Credits, other.Credits) || p.TaxRate != other.TaxRate
}

// MissingPart is the fault of a date or pricing option that does not exist. field is the path of
// its identifier in the request.
func MissingPart(field, what string) error {
	missing := fault.Missing(what)
	missing.Fields = []fault.Field{{Field: field, Rule: "exists", Message: "does not exist"}}
	return missing
}

func (c *EventChange) changeDates(p *EventPlan, loc *time.Location, now time.Time, f *fields) error {
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
	for i := range c.Dates {
		change := &c.Dates[i]
		if change.Adds {
			p.AddedDates = append(p.AddedDates, change.after(last, loc, f))
			continue
		}
		i, ok := at[change.ID]
		if !ok {
			return MissingPart(change.At+"id", "event date")
		}
		if _, refusal := change.change(&e.Dates[i], loc, f); refusal != nil {
			return refusal
		}
	}
	changes := c.Dates
	if c.Together != nil {
		spread, err := c.spread(p, before, loc, now, f)
		if err != nil {
			return err
		}
		changes = append(slices.Clone(changes), spread...)
	}
	for i := range e.Dates {
		if before[i].differs(&e.Dates[i]) {
			p.ChangedDates = append(p.ChangedDates, DateDifference{Date: e.Dates[i], Changed: true})
		}
	}
	f.startsOnce(e.Dates, p.AddedDates, changes, loc)
	if len(p.AddedDates) > 0 && len(e.Dates)+len(p.AddedDates) > MaxEventDates {
		f.Add("dates", "max_items", fmt.Sprintf("must be at most %d, including the existing ones", MaxEventDates))
	}
	return nil
}

// startsOnce reports changes to a start that another date of the event has.
func (f *fields) startsOnce(dates, added []EventDate, changes []DateChange, loc *time.Location) {
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
			at[start.Unix()] = 0 // report it once
			if changes[i].At == byRule {
				return // report a fault of the rule once
			}
		}
	}
}

// Cancel cancels an event and its upcoming dates.
func (e *Event) Cancel(now time.Time) {
	e.Status = Cancelled
	for i := range e.Dates {
		if d := &e.Dates[i]; d.StartsAt.After(now) {
			d.Cancel()
		}
	}
}

// Cancel cancels a date. Its bookings are cancelled before the response.
func (d *EventDate) Cancel() { d.Status, d.Booked = DateCancelled, 0 }

// ClearCancelled removes the booked spaces of cancelled dates, as the response shows them.
func (e *Event) ClearCancelled() {
	for i := range e.Dates {
		if d := &e.Dates[i]; d.Status == DateCancelled {
			d.Booked = 0
		}
	}
}

// Upcoming returns the dates that cancelling the event at now cancels.
func (e *Event) Upcoming(now time.Time) []id.EventDate {
	var dates []id.EventDate
	for _, d := range e.Dates {
		if d.Status == Scheduled && d.StartsAt.After(now) {
			dates = append(dates, d.ID)
		}
	}
	return dates
}

// Occupied reports whether the event has bookings that prevent its deletion: any booking until it
// is cancelled, and then bookings that are still being cancelled. Past dates do not prevent the
// deletion of a cancelled event.
func (e *Event) Occupied() bool {
	return slices.ContainsFunc(e.Dates, func(d EventDate) bool {
		return d.Booked > 0 && (e.Status != Cancelled || d.Status == DateCancelled)
	})
}

// CheckAdded reports the faults of dates to add that do not depend on their event.
func CheckAdded(c *EventChange, rule *recurrence.Recurrence) error {
	var faults fields
	most := maxDates
	if rule != nil {
		most = 1
	}
	if !faults.Count("dates", len(c.Dates), 1, most) {
		return faults.Err()
	}
	if rule == nil {
		return c.Check()
	}
	c.Dates[0].checkSize(&faults)
	return faults.Err()
}

// Recurring returns the change that adds the dates of a rule, with the duration and capacity of
// model.
func Recurring(r *recurrence.Recurrence, model DateChange, timezone string) (*EventChange, error) {
	loc, err := zone.Load(timezone)
	if err != nil {
		return nil, err
	}
	var faults fields
	again := *r // a copy, because the database transaction can be repeated
	again.Exceptions = slices.Clone(r.Exceptions)
	return &EventChange{Dates: faults.occurrences(&again, model, loc, timezone)}, faults.Err()
}
