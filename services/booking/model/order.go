package model

import (
	"fmt"
	"slices"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons for refusing a booking.
const (
	ReasonEventFull         = "EVENT_FULL"
	ReasonEventCancelled    = "EVENT_CANCELLED"
	ReasonEventPast         = "EVENT_PAST"
	ReasonEventNotPublished = "EVENT_NOT_PUBLISHED"
	// ReasonPassNotApplicable is also a reason of the pass service.
	ReasonPassNotApplicable = "PASS_NOT_APPLICABLE"
)

const (
	MaxLines            = 50
	MaxSpaces           = 1000
	MaxPaymentReference = 200
)

// Order is a request to book all of its lines or nothing.
type Order struct {
	Purchaser id.Customer
	Lines     []Line
	Payment   PaymentChoice
	Code      string // of a discount code; "": none
	// AfterStart is why dates that have started are booked. "": they are refused.
	AfterStart string
}

// payment returns how a line is paid.
func (o *Order) payment(l Line) PaymentChoice {
	if l.Payment.Method == "" {
		return o.Payment
	}
	return l.Payment
}

// ByPass reports whether a line is paid by pass.
func (o *Order) ByPass() bool {
	return slices.ContainsFunc(o.Lines, func(l Line) bool { return o.payment(l).Method == Pass })
}

// PaymentChoice is how an order is paid.
type PaymentChoice struct {
	Method    Method
	Reference string          // the payment provider's
	Pass      id.CustomerPass // zero: the pass service chooses
}

// Line requests one booking.
type Line struct {
	Event     id.Event         // zero: the date determines it
	Date      id.EventDate     // zero: the event's only one
	Option    id.PricingOption // zero: the event's only one
	Spaces    int32
	BoughtFor id.Customer // zero: the purchaser
	// Payment is how the line is paid, without a pass. Without a method, it is paid as the order says.
	Payment PaymentChoice
	// Course is the dates to come of a course that is booked as a whole; empty: Date alone.
	Course []id.EventDate
	agreed bool // the option was sold when it was chosen, so it can have ended
}

// Check reports every fault of an order that does not depend on stored data.
func (o *Order) Check() error {
	var faults check.Fields
	if faults.Count("lines", len(o.Lines), 1, MaxLines) {
		for i, l := range o.Lines {
			faults.Range(fmt.Sprintf("lines[%d].spaces", i), int64(l.Spaces), 1, MaxSpaces)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if o.Code == "" {
		return nil
	}
	for i, l := range o.Lines {
		if l.Payment.Method != "" {
			faults.Add(fmt.Sprintf("lines[%d].payment", i), "exclusive", "must be omitted, because the order has a discount code")
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return refuseDiscount(o.Payment.Method)
}

// customers returns the customers of an order, each once, the purchaser first.
func (o *Order) customers() []id.Customer {
	all := []id.Customer{o.Purchaser}
	for _, l := range o.Lines {
		if !l.BoughtFor.IsZero() && !slices.Contains(all, l.BoughtFor) {
			all = append(all, l.BoughtFor)
		}
	}
	return all
}

// attendee returns the customer who attends.
func (o *Order) attendee(l Line) id.Customer {
	if l.BoughtFor.IsZero() {
		return o.Purchaser
	}
	return l.BoughtFor
}

// Dates returns the dates of an order, each once.
func (o *Order) Dates() []id.EventDate {
	dates := make([]id.EventDate, 0, len(o.Lines))
	add := func(d id.EventDate) {
		if !slices.Contains(dates, d) {
			dates = append(dates, d)
		}
	}
	for _, l := range o.Lines {
		if len(l.Course) == 0 {
			add(l.Date)
		}
		for _, d := range l.Course {
			add(d)
		}
	}
	return dates
}

// MissingInLine is the fault of line i of an order that names something that does not exist.
func MissingInLine(i int, member, what string) error {
	missing := fault.Missing(what)
	missing.Fields = []fault.Field{{
		Field: fmt.Sprintf("lines[%d].%s", i, member), Rule: "exists", Message: "does not exist",
	}}
	return missing
}

// netOf returns gross without the tax that it includes. The net amount of a booking, all its spaces
// together, is rounded half up to the minor unit. The tax is the difference, so net and tax always
// add up to gross.
//
//	net = gross × 10000 / (10000 + rate)
//
// gross is at most MaxPrice × MaxSpaces, so twice the numerator fits in 64 bits.
func netOf(gross int64, basisPoints int32) int64 {
	divisor := 10_000 + int64(basisPoints)
	return (2*10_000*gross + divisor) / (2 * divisor)
}

// UndatedEvents returns the events of lines that give an event but no date.
func (o *Order) UndatedEvents() []id.Event {
	var events []id.Event
	for _, l := range o.Lines {
		if l.Date.IsZero() {
			events = append(events, l.Event)
		}
	}
	return Distinct(events)
}

// UndatedEvent is an event of lines that give no date. The zero value means that it does not exist.
type UndatedEvent struct {
	Dates    []id.EventDate // up to two dates that take place, or one zero date if there is none
	IsCourse bool           // it is sold as a whole too
	// OfAppointments means that it is the event of an appointment type.
	OfAppointments bool
}

// NameDates fills in the dates of lines that give only an event. The event must have exactly one
// date that takes place, or the line's option must be for the whole course.
func (o *Order) NameDates(events map[id.Event]UndatedEvent, courses map[id.Event]*WholeCourse) error {
	for i := range o.Lines {
		l := &o.Lines[i]
		if !l.Date.IsZero() {
			continue
		}
		found := events[l.Event].Dates
		course := courses[l.Event]
		switch {
		case len(found) == 0:
			return fault.Missing("event")
		case events[l.Event].OfAppointments:
			return bookAppointment(l.Event)
		case found[0].IsZero():
			return fault.Refuse(ReasonEventCancelled, "the event is cancelled").With("event_id", l.Event.String())
		case course != nil && course.sells(l.Option):
			l.Course = course.Dates
			if len(l.Course) == 0 {
				l.Course = found[:1] // has started, or the event is cancelled: the commit says which
			}
			continue
		case len(found) > 1:
			return fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("lines[%d].event_date_id", i), Rule: "required", Message: "is required, because the event has several dates",
			})
		}
		l.Date = found[0]
	}
	return o.checkBookings()
}

// Distinct sorts ids and removes duplicates.
func Distinct[T ~[16]byte](ids []T) []T {
	slices.SortFunc(ids, func(a, b T) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}
