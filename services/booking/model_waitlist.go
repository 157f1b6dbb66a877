package booking

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons around waiting.
const (
	// ReasonEventNotFull is said to who wants to wait for places that are free.
	ReasonEventNotFull = "EVENT_NOT_FULL"
	// ReasonAlreadyWaiting is said to who waits already.
	ReasonAlreadyWaiting = "ALREADY_WAITING"
	// ReasonNotOffered is an entry without an open offer.
	ReasonNotOffered = "NOT_OFFERED"

	// Why others were served before.

	passedOverTooFew   = "NOT_ENOUGH_PLACES"
	passedOverPassAway = "PASS_UNAVAILABLE"
)

const (
	defaultOfferMinutes = 15
	maxOfferMinutes     = 7 * 24 * 60
)

// waitMode says what happens when places become free. The value is what is stored.
type waitMode string

const (
	modeOffer waitMode = "offer"
	modeBook  waitMode = "book"
)

// waitState is where an entry is in its life. The value is what is stored.
//
//	join ──▶ waiting ── places, mode offer ──▶ offered ── accepted ──▶ booked
//	           │ ▲  └── places, mode book ───▶ booking ── paid ──────────┘ (by card at once)
//	           │ └──────────── refused ───────────┘
//	           └──▶ left           offered ── time is up ──▶ expired, or closed with its date
type waitState string

const (
	entryWaiting waitState = "waiting"
	entryOffered waitState = "offered"
	// entryBooking is a purchase by pass that is pending. Readers see it waiting.
	entryBooking waitState = "booking"
	entryBooked  waitState = "booked"
	entryExpired waitState = "expired"
	entryLeft    waitState = "left"
	entryClosed  waitState = "closed"
)

// waiter is somebody who waits for places of a date.
type waiter struct {
	ID       id.WaitlistEntry
	Event    id.Event
	Date     id.EventDate
	Customer id.Customer
	Spaces   int32
	Mode     waitMode
	Option   id.PricingOption
	Method   Method
	Pass     id.CustomerPass // zero: chosen when it is booked
	// OfferMinutes is for how long places are held; nil: mode book.
	OfferMinutes *int32
	Timezone     string // the company's

	State          waitState
	Transaction    id.Transaction // of the offer or the booking; zero: none
	OfferExpiresAt time.Time
	PassedOver     string
	PassedOverAt   time.Time
	JoinedAt       time.Time

	seq        int64
	position   int64
	startsAt   time.Time
	dateStatus DateStatus
}

// at is the state as readers see it: nobody waits for a date that does not take
// place, or has begun.
func (w *waiter) at(now time.Time) waitState {
	if w.State != entryWaiting && w.State != entryBooking {
		return w.State
	}
	if w.dateStatus == DateCancelled || !now.Before(w.startsAt) {
		return entryClosed
	}
	return entryWaiting
}

// purchase is what w buys when there are places at an instant.
func (w *waiter) purchase(now time.Time) Purchase {
	p := Purchase{
		order: order{
			purchaser: w.Customer, payment: paying{method: w.Method, pass: w.Pass},
			lines: []line{{date: w.Date, option: w.Option, spaces: w.Spaces, agreed: true}},
		},
	}
	switch {
	case w.Mode == modeOffer:
		p.status = held
		p.expiresAt = now.Add(time.Duration(*w.OfferMinutes) * time.Minute).Truncate(time.Microsecond)
		if p.expiresAt.After(w.startsAt) {
			p.expiresAt = w.startsAt
		}
	case w.Method == Pass:
		p.status, p.expiresAt = pending, now.Add(pendingTime)
	default:
		p.status = confirmed
	}
	return p
}

// takes moves w to what p, which was granted, made of it.
func (w *waiter) takes(p *Purchase) {
	w.Transaction, w.OfferExpiresAt = p.bought.ID, time.Time{}
	switch p.status {
	case held:
		w.State, w.OfferExpiresAt = entryOffered, p.expiresAt
	case pending:
		// Why it is refused, if it is, is not known yet.
		w.State, w.PassedOver, w.PassedOverAt = entryBooking, "", time.Time{}
	default:
		w.State = entryBooked
	}
}

// admits decides whether w may wait, and for what.
func (of *offer) admits(w *waiter, now time.Time) error {
	date, ok := of.dates[w.Date]
	if !ok {
		return fault.Missing("event date")
	}
	if refusal := date.refuses(now); refusal != nil {
		return refusal
	}
	if date.free() >= w.Spaces {
		return fault.Refuse(ReasonEventNotFull, "there are enough places: book them")
	}
	w.Event, w.startsAt, w.dateStatus = date.Event, date.StartsAt, date.status
	for _, o := range of.options[date.Event] {
		if o.ID != w.Option && (!w.Option.IsZero() || len(of.options[date.Event]) > 1) {
			continue
		}
		if w.Method == Pass && o.Credits == nil {
			return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", o.ID.String())
		}
		w.Option = o.ID
		return nil
	}
	if w.Option.IsZero() {
		return fault.InvalidFields(fault.Field{Field: "pricing_option_id", Rule: "required", Message: "is required, because the event has several"})
	}
	return fault.Missing("pricing option")
}

// whyNot returns the reason for which a waiting customer is not served.
func whyNot(refused error) string {
	if _, unknown := asUnknown(refused); unknown {
		return "NOT_FOUND"
	}
	f := fault.From(refused)
	if f.Reason != "" {
		return f.Reason
	}
	return "REFUSED"
}

// promotion is a date with free places, which are offered to waiting customers.
type promotion struct {
	date id.EventDate
	// behind is the entry after which the search for candidates begins; zero: at the
	// first entry.
	behind int64
	// refused is the entry whose purchase was refused; zero: there is none. Of the
	// entries before it, only those that there were too few places for are served.
	refused int64
}

// promotions returns a promotion for each date.
func promotions(dates []id.EventDate) []promotion {
	all := make([]promotion, len(dates))
	for i, d := range dates {
		all[i].date = d
	}
	return all
}

// alreadyWaiting is the fault of a second entry of a customer for a date.
func alreadyWaiting() *fault.Error {
	return fault.Refuse(ReasonAlreadyWaiting, "the customer waits for this date already")
}

// remaining returns the promotions that go on after candidates, of whom up to a batch of
// each date were read: a full batch may have others behind it.
func remaining(from []promotion, candidates []*waiter, batch int) []promotion {
	asked, refused := map[id.EventDate]int{}, map[id.EventDate]int64{}
	for _, p := range from {
		refused[p.date] = p.refused
	}
	var next []promotion
	for _, w := range candidates {
		if asked[w.Date]++; asked[w.Date] == batch {
			next = append(next, promotion{date: w.Date, behind: w.seq, refused: refused[w.Date]})
		}
	}
	return next
}
