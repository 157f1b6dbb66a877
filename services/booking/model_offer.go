package booking

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// offer is what orders are decided on: the dates they name, locked against other
// bookings, the pricing options of those dates' events, and the customers.
type offer struct {
	dates     map[id.EventDate]*offeredDate
	options   map[id.Event][]PricingOption
	ended     map[id.Event][]PricingOption // sold no more
	customers map[id.Customer]knownCustomer
	codes     map[string]*discountCode // by the code in lower case
}

// offeredDate is a date and what of it is taken.
type offeredDate struct {
	BookedDate
	status      DateStatus
	eventStatus EventStatus
	capacity    *int32
	booked      int32
	takes       int32 // by the orders decided so far
}

func (d *offeredDate) free() int32 {
	limit := int32(unlimited)
	if d.capacity != nil {
		limit = *d.capacity
	}
	return limit - d.booked - d.takes
}

// grant decides one order. On yes it returns the bookings and takes their spaces
// from the offer; on no it takes nothing, so that an order which does not fit is
// no obstacle to a smaller one after it.
func (of *offer) grant(o *order, now time.Time) ([]Booking, error) {
	if err := of.meets(o.customers()); err != nil {
		return nil, err
	}
	wanted := map[id.EventDate]int32{}
	bookings := make([]Booking, 0, len(o.lines))
	for i, l := range o.lines {
		date, ok := of.dates[l.date]
		if !ok || !l.event.IsZero() && l.event != date.Event {
			return nil, noSuch(i, "event_date_id", "event date")
		}
		if refusal := date.refuses(now); refusal != nil {
			return nil, refusal.With("event_date_id", l.date.String())
		}
		option, err := of.option(i, l, date.Event)
		if err != nil {
			return nil, err
		}
		wanted[l.date] += l.spaces
		if wanted[l.date] > date.free() {
			return nil, eventFull().With("event_date_id", l.date.String())
		}
		if o.payment.method == Pass && option.Credits == nil {
			return nil, fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", option.ID.String())
		}
		bookings = append(bookings, of.booking(o, l, date, option))
	}
	if err := of.discount(o, bookings, now); err != nil {
		return nil, err
	}
	for date, spaces := range wanted {
		of.dates[date].takes += spaces
	}
	return bookings, nil
}

// meets checks that everyone is a customer.
func (of *offer) meets(everyone []id.Customer) error {
	var unknown []id.Customer
	for _, c := range everyone {
		known, ok := of.customers[c]
		if ok && known.deleted {
			return fault.Missing("customer")
		}
		if !ok {
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		return &unknownCustomers{ids: unknown}
	}
	return nil
}

// refuses says why a date cannot be booked at all; nil: it can.
func (d *offeredDate) refuses(now time.Time) *fault.Error {
	switch {
	case d.eventStatus == Draft:
		return fault.Refuse(ReasonEventNotPublished, "the event is not published")
	case d.eventStatus == Cancelled || d.status == DateCancelled:
		return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
	case d.StartsAt.Before(now):
		return fault.Refuse(ReasonEventPast, "the event has started")
	}
	return nil
}

// option finds the pricing option of a line among those of the date's event.
func (of *offer) option(i int, l line, event id.Event) (PricingOption, error) {
	options := of.options[event]
	if l.option.IsZero() {
		if len(options) == 1 {
			return options[0], nil
		}
		return PricingOption{}, fault.InvalidFields(fault.Field{
			Field: fmt.Sprintf("lines[%d].pricing_option_id", i), Rule: "required",
			Message: "is required, because the event has several",
		})
	}
	if l.agreed {
		options = slices.Concat(options, of.ended[event])
	}
	for _, o := range options {
		if o.ID == l.option {
			return o, nil
		}
	}
	return PricingOption{}, noSuch(i, "pricing_option_id", "pricing option")
}

func (of *offer) booking(o *order, l line, date *offeredDate, option PricingOption) Booking {
	b := Booking{Spaces: l.spaces, Date: date.BookedDate, Option: option.ID}
	if o.payment.method == Pass {
		b.Payment = Payment{Method: Pass, Credits: *option.Credits * l.spaces}
	} else {
		b.Payment = Payment{
			Method: Card, Currency: option.Currency, Reference: o.payment.reference,
			Gross: option.Price * int64(l.spaces),
		}
		b.Payment.Net = netOf(b.Payment.Gross, option.TaxRate)
	}
	if !l.boughtFor.IsZero() && l.boughtFor != o.purchaser {
		c := of.customers[l.boughtFor].Customer
		b.BoughtFor = &c
	}
	return b
}

// discount lowers the prices of an order's bookings by its code, and counts a use.
//
// A share is taken of every line, rounded half up to the minor unit. An amount is
// taken off the lines in their order, never below 0. The net price is made of what
// is left, as it is without a discount.
func (of *offer) discount(o *order, bookings []Booking, now time.Time) error {
	if o.code == "" {
		return nil
	}
	c := of.codes[strings.ToLower(o.code)]
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
		return invalidDiscount("currency", "the discount code is an amount in another currency than the price").With("currency", c.Currency)
	default:
		return invalidDiscount("not_applicable", "the discount code is not for any of these bookings")
	}
	c.takes++
	return nil
}

// taxRate is that of the pricing option of a booking that was granted.
func (of *offer) taxRate(b *Booking) int32 {
	for _, o := range of.options[b.Date.Event] {
		if o.ID == b.Option {
			return o.TaxRate
		}
	}
	return 0
}

// taken returns the spaces that the orders granted so far take, by date.
func (of *offer) taken() map[id.EventDate]int32 {
	spaces := make(map[id.EventDate]int32, len(of.dates))
	for _, d := range of.dates {
		if d.takes > 0 {
			spaces[d.ID] = d.takes
		}
	}
	return spaces
}

// demand is what is to be locked for orders.
type demand struct {
	dates     []id.EventDate
	customers []id.Customer
	codes     []string // in lower case
}

// add adds what an order names.
func (d *demand) add(o *order) {
	if isCode(o.code) {
		d.codes = append(d.codes, strings.ToLower(o.code))
	}
	d.customers = append(d.customers, o.customers()...)
	for _, l := range o.lines {
		d.dates = append(d.dates, l.date)
	}
}

// distinct drops repetitions and sorts the rest.
func (d *demand) distinct() { d.dates, d.customers = distinct(d.dates), distinct(d.customers) }

// eventFull is the fault of spaces that a date does not have.
func eventFull() *fault.Error {
	return fault.Refuse(ReasonEventFull, "the event does not have that many spaces left")
}
