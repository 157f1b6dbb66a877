package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/eventdates"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Offer is the data on which orders are decided: the dates they name, locked against other
// bookings, the pricing options of their events, and the customers.
type Offer struct {
	Dates     map[id.EventDate]*OfferedDate
	Options   map[id.Event][]PricingOption
	Ended     map[id.Event][]PricingOption // no longer sold
	Customers map[id.Customer]KnownCustomer
	Codes     map[string]*DiscountCode // by the code in lower case
	Courses   map[id.Event][]CourseDate
	// attendees are the customers who cannot book a date again.
	attendees map[attendee]bool
}

// OfferedDate is a date with the number of its spaces that are taken.
type OfferedDate struct {
	BookedDate
	Status      DateStatus
	EventStatus EventStatus
	Rules       BookingRules
	Capacity    *int32
	Booked      int32
	granted     int32 // spaces of the orders granted so far
}

func (d *OfferedDate) free() int32 {
	limit := int32(unlimited)
	if d.Capacity != nil {
		limit = *d.Capacity
	}
	return limit - d.Booked - d.granted
}

// grant decides one order. If the order is granted, it returns the bookings and takes their spaces
// from the offer. If not, it takes nothing, so that a smaller order can still be granted
// afterwards.
func (of *Offer) grant(o *Order, now time.Time) ([]Booking, error) {
	if err := of.CheckCustomers(o.customers()); err != nil {
		return nil, err
	}
	wanted := map[id.EventDate]int32{}
	var attending []attendee // of dates with one booking per customer
	lines, dates := make([]Booking, len(o.Lines)), make([][]*OfferedDate, len(o.Lines))
	for i, l := range o.Lines {
		booked, option, err := of.lineDates(i, o, now)
		if err != nil {
			return nil, err
		}
		for _, date := range booked {
			if refusal := of.refusesAgain(date, o.attendee(l), attending); refusal != nil {
				return nil, refusal
			}
			if date.Rules.OncePerCustomer {
				attending = append(attending, attendee{date.ID, o.attendee(l)})
			}
			wanted[date.ID] += l.Spaces
			if wanted[date.ID] > date.free() {
				return nil, EventFull().With("event_date_id", date.ID.String())
			}
		}
		if o.payment(l).Method == Pass && option.Credits == nil {
			return nil, fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", option.ID.String())
		}
		lines[i], dates[i] = of.booking(o, l, booked[0], option), booked
	}
	if err := of.discount(o, lines, now); err != nil {
		return nil, err
	}
	for date, spaces := range wanted {
		of.Dates[date].granted += spaces
	}
	for _, a := range attending {
		of.AddAttendee(a.date, a.customer)
	}
	return of.spread(lines, dates), nil
}

// CheckCustomers returns an error if one of the customers is deleted or unknown.
func (of *Offer) CheckCustomers(everyone []id.Customer) error {
	var unknown []id.Customer
	for _, c := range everyone {
		known, ok := of.Customers[c]
		if ok && known.Deleted {
			return fault.Missing("customer")
		}
		if !ok {
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		return &UnknownCustomers{Ids: unknown}
	}
	return nil
}

// refuses returns why a date cannot be booked now; nil if it can.
func (d *OfferedDate) refuses(now time.Time) *fault.Error {
	if refusal := d.unbookable(now); refusal != nil {
		return refusal
	}
	return d.Rules.refuses(d.StartsAt, d.Timezone, now)
}

// refusesFor is refuses, except that it ignores the booking window of a date that has started if there is a
// reason to book it after its start.
func (d *OfferedDate) refusesFor(afterStart string, now time.Time) *fault.Error {
	if !d.StartsAt.Before(now) {
		return d.refuses(now)
	}
	if refusal := d.closed(); refusal != nil {
		return refusal
	}
	return d.refusesAfterStart(afterStart != "", now)
}

// unbookable returns why a date cannot be booked under any booking rules; nil if it can.
func (d *OfferedDate) unbookable(now time.Time) *fault.Error {
	if refusal := d.closed(); refusal != nil {
		return refusal
	}
	if d.StartsAt.Before(now) {
		return EventPast()
	}
	return nil
}

// closed returns why a date cannot be booked at any time; nil if it can.
func (d *OfferedDate) closed() *fault.Error {
	switch {
	case d.EventStatus == Draft:
		return fault.Refuse(ReasonEventNotPublished, "the event is not published")
	case d.EventStatus == Cancelled || d.Status == DateCancelled:
		return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
	}
	return nil
}

// refusesAfterStart returns why a date cannot be booked or changed because of its start; nil if it can.
func (d *OfferedDate) refusesAfterStart(reasoned bool, now time.Time) *fault.Error {
	switch {
	case !d.StartsAt.Before(now):
		return nil
	case !StartedLately(d.StartsAt, now):
		return fault.Refuse(ReasonEventPast, fmt.Sprintf("the event started more than %d days ago", MaxAfterStart/(24*time.Hour)))
	case !reasoned:
		return fault.Refuse(ReasonEventPast, "the event has started, so it can only be booked or changed with a reason")
	}
	return nil
}

// MaxAfterStart is how long after its start a date can be booked, or its bookings moved or transferred, with a
// reason.
const MaxAfterStart = eventdates.MaxAfterStart

// StartedLately reports whether a date that starts at start has started, at most MaxAfterStart before now.
func StartedLately(start, now time.Time) bool {
	return start.Before(now) && !start.Before(now.Add(-MaxAfterStart))
}

// EventPast refuses to book a date that has started, if no reason allows it.
func EventPast() *fault.Error { return fault.Refuse(ReasonEventPast, "the event has started") }

// option returns the pricing option of line i among those of the date's event. A date of an appointment has
// only the prices of its length.
func (of *Offer) option(i int, l Line, date *OfferedDate) (PricingOption, error) {
	options := of.Options[date.Event]
	if l.Option.IsZero() {
		if options = date.priced(options); len(options) == 1 {
			return options[0], nil
		}
		return PricingOption{}, fault.InvalidFields(fault.Field{
			Field: fmt.Sprintf("lines[%d].pricing_option_id", i), Rule: "required",
			Message: "is required, because the event has several pricing options",
		})
	}
	if l.agreed {
		options = slices.Concat(options, of.Ended[date.Event])
	}
	for _, o := range options {
		if o.ID != l.Option {
			continue
		}
		if !l.agreed && !o.appliesTo(date.Minutes) {
			return o, otherLength(fmt.Sprintf("lines[%d].pricing_option_id", i))
		}
		return o, nil
	}
	return PricingOption{}, MissingInLine(i, "pricing_option_id", "pricing option")
}

// priced returns those of the options of its event that apply to the date.
func (d *OfferedDate) priced(options []PricingOption) []PricingOption {
	return slices.DeleteFunc(slices.Clone(options), func(o PricingOption) bool { return !o.appliesTo(d.Minutes) })
}

// appliesTo reports whether p is a price of dates of a length in minutes.
func (p *PricingOption) appliesTo(minutes int32) bool { return p.Length == 0 || p.Length == minutes }

// otherLength refuses the price of appointments of another length.
func otherLength(field string) error {
	return fault.InvalidFields(fault.Field{Field: field, Rule: "length", Message: "is the price of another length"})
}

func (of *Offer) booking(o *Order, l Line, date *OfferedDate, option PricingOption) Booking {
	b := Booking{Spaces: l.Spaces, Date: date.BookedDate, Option: option.ID}
	how := o.payment(l)
	if how.Method == Pass {
		b.Payment = Payment{Method: Pass, Credits: *option.Credits * l.Spaces}
	} else {
		b.Payment = Payment{
			Method: how.Method, Currency: option.Currency, Reference: how.Reference,
			Gross: option.Price * int64(l.Spaces), TaxRate: option.TaxRate,
		}
		if how.Method == Free {
			b.Payment.Gross = 0
		}
		b.Payment.Net = netOf(b.Payment.Gross, option.TaxRate)
	}
	if !l.BoughtFor.IsZero() && l.BoughtFor != o.Purchaser {
		c := of.Customers[l.BoughtFor].Customer
		b.BoughtFor = &c
	}
	return b
}

// discount applies the order's discount code to its bookings, and counts a use of the code.
//
// A share is taken off every line, rounded half up to the minor unit. An amount is taken off the
// lines in their order, never below 0. The net price is computed from the remaining gross price, as
// without a discount.
func (of *Offer) discount(o *Order, bookings []Booking, now time.Time) error {
	if o.Code == "" {
		return nil
	}
	c := of.Codes[strings.ToLower(o.Code)]
	if c == nil {
		return invalidDiscount("unknown", "the discount code does not exist")
	}
	if refusal := c.refuses(now); refusal != nil {
		return refusal
	}
	lowered, foreign := false, false
	var left int64
	if c.Amount != nil {
		left = *c.Amount
	}
	for i := range bookings {
		b := &bookings[i]
		if len(c.Events) > 0 && !slices.Contains(c.Events, b.Date.Event) {
			continue
		}
		if c.Amount != nil && b.Payment.Currency != c.Currency {
			foreign = true
			continue
		}
		lowered = true
		off := min(left, b.Payment.Gross)
		if c.BasisPoints != nil {
			off = shareOf(b.Payment.Gross, *c.BasisPoints)
		} else {
			left -= off
		}
		b.Payment.Discount, b.Payment.Code = off, c.Code
		b.Payment.Gross -= off
		b.Payment.Net = netOf(b.Payment.Gross, of.taxRate(b))
	}
	switch {
	case lowered:
	case foreign:
		return invalidDiscount("currency", "the amount of the discount code is not in the currency of the price").With("currency", c.Currency)
	default:
		return invalidDiscount("not_applicable", "the discount code does not apply to any of these bookings")
	}
	c.NewUses++
	return nil
}

// taxRate returns the tax rate of a granted booking's pricing option.
func (of *Offer) taxRate(b *Booking) int32 {
	for _, o := range of.Options[b.Date.Event] {
		if o.ID == b.Option {
			return o.TaxRate
		}
	}
	return 0
}

// Taken returns the spaces that the granted orders take, by date.
func (of *Offer) Taken() map[id.EventDate]int32 {
	spaces := make(map[id.EventDate]int32, len(of.Dates))
	for _, d := range of.Dates {
		if d.granted > 0 {
			spaces[d.ID] = d.granted
		}
	}
	return spaces
}

// Demand is the rows to lock for orders.
type Demand struct {
	Dates     []id.EventDate
	Customers []id.Customer
	Attendees []id.Customer // those of the customers who attend
	Codes     []string      // in lower case
	Courses   []id.Event    // booked as a whole
	Moved     []id.Booking  // that leave their dates, so that their customers can book these again
}

// Add adds the dates, customers and discount code of an order.
func (d *Demand) Add(o *Order) {
	if IsDiscountCode(o.Code) {
		d.Codes = append(d.Codes, strings.ToLower(o.Code))
	}
	d.Customers = append(d.Customers, o.customers()...)
	d.Dates = append(d.Dates, o.Dates()...)
	for _, l := range o.Lines {
		d.Attendees = append(d.Attendees, o.attendee(l))
		if len(l.Course) > 0 {
			d.Courses = append(d.Courses, l.Event)
		}
	}
}

// Distinct sorts the dates, customers and courses and removes duplicates.
func (d *Demand) Distinct() {
	d.Dates, d.Customers, d.Attendees, d.Courses = Distinct(d.Dates), Distinct(d.Customers), Distinct(d.Attendees), Distinct(d.Courses)
}

// EventFull refuses an order for more spaces than the date has left.
func EventFull() *fault.Error {
	return fault.Refuse(ReasonEventFull, "the event does not have that many spaces left")
}
