package booking

import (
	"fmt"
	"slices"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
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
	var faults check.Fields
	if faults.Count("lines", len(o.lines), 1, maxLines) {
		for i, l := range o.lines {
			faults.Range(fmt.Sprintf("lines[%d].spaces", i), int64(l.spaces), 1, maxSpaces)
		}
	}
	if err := faults.Err(); err != nil {
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

// undatedEvents lists the events of lines that name an event and no date.
func (o *order) undatedEvents() []id.Event {
	var events []id.Event
	for _, l := range o.lines {
		if l.date.IsZero() {
			events = append(events, l.event)
		}
	}
	return distinct(events)
}

// nameDates fills in the dates of lines that name an event alone: its only one that
// takes place. dates are the first two that take place of each event that exists; a
// zero one of an event without any.
func (o *order) nameDates(dates map[id.Event][]id.EventDate) error {
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

// distinct sorts ids and drops repetitions.
func distinct[T ~[16]byte](ids []T) []T {
	slices.SortFunc(ids, func(a, b T) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}
