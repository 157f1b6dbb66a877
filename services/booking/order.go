package booking

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Reasons for which a booking is refused.
const (
	ReasonEventFull         = "EVENT_FULL"
	ReasonEventCancelled    = "EVENT_CANCELLED"
	ReasonEventPast         = "EVENT_PAST"
	ReasonEventNotPublished = "EVENT_NOT_PUBLISHED"
	// ReasonPassNotApplicable is also the pass service's.
	ReasonPassNotApplicable = "PASS_NOT_APPLICABLE"
)

const (
	maxLines            = 50
	maxSpaces           = 1000
	maxPaymentReference = 200
)

// order is what a request asks to buy: all of it or nothing.
type order struct {
	purchaser id.Customer
	lines     []line
	payment   paying
	code      string // of a discount; "": none
}

// paying is how an order is paid.
type paying struct {
	method    Method
	reference string          // the payment provider's
	pass      id.CustomerPass // zero: the pass service chooses
}

// line is one booking to make.
type line struct {
	event     id.Event         // zero: the date says all
	date      id.EventDate     // zero: the event's only one
	option    id.PricingOption // zero: the event's only one
	spaces    int32
	boughtFor id.Customer // zero: the purchaser
	agreed    bool        // the option may have ended: it was sold when it was chosen
}

// check reports every fault of an order that shows without looking anything up.
func (o *order) check() error {
	var faults fields
	if faults.count("lines", len(o.lines), 1, maxLines) {
		for i, l := range o.lines {
			if l.spaces < 1 || l.spaces > maxSpaces {
				faults.add(fmt.Sprintf("lines[%d].spaces", i), "range", fmt.Sprintf("must be 1 to %d", maxSpaces))
			}
		}
	}
	if err := faults.err(); err != nil {
		return err
	}
	if o.code != "" && o.payment.method == Pass {
		return discountWithPass()
	}
	return nil
}

// customers lists everyone an order names, the purchaser first, each once.
func (o *order) customers() []id.Customer {
	all := []id.Customer{o.purchaser}
	for _, l := range o.lines {
		if !l.boughtFor.IsZero() && !slices.Contains(all, l.boughtFor) {
			all = append(all, l.boughtFor)
		}
	}
	return all
}

// offer is what orders are decided on: the dates they name, locked against other
// bookings, the pricing options of those dates' events, and the customers.
type offer struct {
	company   Company // as the copy has it; zero: it has none
	dates     map[id.EventDate]*offeredDate
	options   map[id.Event][]PricingOption
	ended     map[id.Event][]PricingOption // sold no more
	customers map[id.Customer]knownCustomer
	codes     map[string]*discountCode // by the code in lower case
}

// knownCustomer is a customer as the copy has it.
type knownCustomer struct {
	Customer
	deleted bool
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

// unknownCustomers is the refusal of an order that names customers whom the copy
// does not have. They may exist nevertheless: the caller fetches them and tries
// again, once.
type unknownCustomers struct{ ids []id.Customer }

func (e *unknownCustomers) Error() string {
	return fmt.Sprintf("%d customers are not in the copy", len(e.ids))
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
			return nil, fault.Refuse(ReasonEventFull, "the event does not have that many spaces left").
				With("event_date_id", l.date.String())
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

func noSuch(i int, member, what string) error {
	missing := fault.Missing(what)
	missing.Fields = []fault.Field{{
		Field: fmt.Sprintf("lines[%d].%s", i, member), Rule: "exists", Message: "does not exist",
	}}
	return missing
}

// netOf takes the tax that gross includes off it. The net amount of a booking,
// all its spaces together, is rounded half up to the minor unit; the tax is what
// is left, so that net and tax always sum up to gross.
//
//	net = gross × 10000 / (10000 + rate)
//
// gross is at most maxPrice × maxSpaces, for which twice the numerator fits 64 bits.
func netOf(gross int64, basisPoints int32) int64 {
	divisor := 10_000 + int64(basisPoints)
	return (2*10_000*gross + divisor) / (2 * divisor)
}

const onlyDatesSQL = `select e.id, d.id from unnest($2::uuid[]) n(id)
		join events e on e.company_id = $1 and e.id = n.id and e.deleted_at is null
		left join lateral (select d.id from event_dates d where d.company_id = $1 and d.event_id = e.id and d.status = 'scheduled'
			order by d.starts_at limit 2) d on true`

// onlyDates returns, of events that exist, the first two dates that take place; a
// zero one where there is none. Requests for one event share round trips.
func (s *store) onlyDates(ctx context.Context, company id.Company, events []id.Event) (map[id.Event][]id.EventDate, error) {
	if len(events) > 1 {
		return s.readOnlyDates(ctx, company, events)
	}
	dates, _, err := s.dates.Get(ctx, company, events[0])
	return map[id.Event][]id.EventDate{events[0]: dates}, err
}

func (s *store) readOnlyDates(ctx context.Context, company id.Company, events []id.Event) (map[id.Event][]id.EventDate, error) {
	dates := map[id.Event][]id.EventDate{}
	err := s.read(ctx, company, pg.Query{SQL: onlyDatesSQL, Args: []any{company, events}, Scan: each(func(rows pgx.Rows) error {
		var event id.Event
		var date id.EventDate
		if err := rows.Scan(&event, &date); err != nil {
			return err
		}
		dates[event] = append(dates[event], date)
		return nil
	})})
	return dates, err
}

// nameDates finds the dates of lines that name an event alone: its only one that
// takes place.
func (s *store) nameDates(ctx context.Context, company id.Company, o *order) error {
	var events []id.Event
	for _, l := range o.lines {
		if l.date.IsZero() {
			events = append(events, l.event)
		}
	}
	if len(events) == 0 {
		return nil
	}
	dates, err := s.onlyDates(ctx, company, distinct(events))
	if err != nil {
		return err
	}
	for i := range o.lines {
		l := &o.lines[i]
		if !l.date.IsZero() {
			continue
		}
		found := dates[l.event]
		switch {
		case len(found) == 0:
			return fault.Missing("event")
		case len(found) > 1:
			return fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("lines[%d].event_date_id", i), Rule: "required", Message: "is required, because the event has several dates",
			})
		case found[0].IsZero():
			return fault.Refuse(ReasonEventCancelled, "the event is cancelled").With("event_id", l.event.String())
		}
		l.date = found[0]
	}
	return nil
}
