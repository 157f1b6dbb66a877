package model

import (
	"cmp"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons for refusing waitlist requests.
const (
	// ReasonEventNotFull refuses an entry for spaces that are free.
	ReasonEventNotFull = "EVENT_NOT_FULL"
	// ReasonAlreadyWaiting refuses a second entry of a customer for a date.
	ReasonAlreadyWaiting = "ALREADY_WAITING"
	// ReasonNotOffered refuses to accept an offer that is not open.
	ReasonNotOffered = "NOT_OFFERED"

	// Reasons why a later entry was served first.

	PassedOverTooFew   = "NOT_ENOUGH_PLACES"
	PassedOverPassAway = "PASS_UNAVAILABLE"
)

const (
	DefaultOfferMinutes = 15
	MaxOfferMinutes     = 7 * 24 * 60
)

// WaitlistMode says what happens when spaces become free. Its values are stored.
type WaitlistMode string

const (
	ModeOffer WaitlistMode = "offer"
	ModeBook  WaitlistMode = "book"
)

// WaitlistState is the state of a waitlist entry. Its values are stored.
//
//	join ──▶ waiting ── spaces, mode offer ──▶ offered ── accepted ──▶ booked
//	           │ ▲  └── spaces, mode book ───▶ booking ── paid ──────────┘ (by card: immediately)
//	           │ └──────────── refused ───────────┘
//	           └──▶ left, or closed with its date      offered ── expires ──▶ expired, left or closed
type WaitlistState string

const (
	EntryWaiting WaitlistState = "waiting"
	EntryOffered WaitlistState = "offered"
	// EntryBooking is a pending purchase by pass. Readers see EntryWaiting.
	EntryBooking WaitlistState = "booking"
	EntryBooked  WaitlistState = "booked"
	EntryExpired WaitlistState = "expired"
	EntryLeft    WaitlistState = "left"
	EntryClosed  WaitlistState = "closed"
)

// WaitlistEntry is a customer who waits for spaces on a date.
type WaitlistEntry struct {
	ID       id.WaitlistEntry
	Event    id.Event
	Date     id.EventDate
	Customer id.Customer
	Spaces   int32
	Mode     WaitlistMode
	Option   id.PricingOption
	Method   Method
	Pass     id.CustomerPass // zero: chosen when the entry is booked
	// OfferMinutes is how long spaces are held for an offer; nil in mode book.
	OfferMinutes *int32
	Timezone     string // the company's

	State          WaitlistState
	Transaction    id.Transaction // the offer's or the booking's; zero: none
	OfferExpiresAt time.Time
	PassedOver     string
	PassedOverAt   time.Time
	JoinedAt       time.Time
	UpdatedAt      time.Time
	Version        int64 // increases with every change

	Seq        int64
	Position   int64
	StartsAt   time.Time
	DateStatus DateStatus
	// CustomerGone reports that the customer is deleted. It is only read when the transaction is released.
	CustomerGone bool
}

// At returns the state as readers see it. An entry for a date that is cancelled or has started is
// not waiting.
func (w *WaitlistEntry) At(now time.Time) WaitlistState {
	if w.State != EntryWaiting && w.State != EntryBooking {
		return w.State
	}
	if w.DateStatus == DateCancelled || !now.Before(w.StartsAt) {
		return EntryClosed
	}
	return EntryWaiting
}

// Purchase returns the purchase that w makes when spaces become free.
func (w *WaitlistEntry) Purchase(now time.Time) Purchase {
	p := Purchase{
		CreatedBy: PlatformActor,
		Order: Order{
			Purchaser: w.Customer, Payment: PaymentChoice{Method: w.Method, Pass: w.Pass},
			Lines: []Line{{Date: w.Date, Option: w.Option, Spaces: w.Spaces, agreed: true}},
		},
	}
	switch {
	case w.Mode == ModeOffer:
		p.Status = Held
		p.ExpiresAt = now.Add(time.Duration(*w.OfferMinutes) * time.Minute).Truncate(time.Microsecond)
		if p.ExpiresAt.After(w.StartsAt) {
			p.ExpiresAt = w.StartsAt
		}
	case w.Method == Pass:
		p.Status = Pending
	default:
		p.Status = Confirmed
	}
	return p
}

// Ended reports whether w is booked or will not be.
func (w *WaitlistEntry) Ended() bool {
	return w.State != EntryWaiting && w.State != EntryOffered && w.State != EntryBooking
}

// raise records a change of w.
func (w *WaitlistEntry) raise(now time.Time) { w.Version, w.UpdatedAt = w.Version+1, instant(now) }

// instant returns t with the precision in which times are stored.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// End ends w without a booking.
func (w *WaitlistEntry) End(state WaitlistState, now time.Time) {
	w.State, w.Transaction, w.OfferExpiresAt = state, id.Transaction{}, time.Time{}
	w.raise(now)
}

// Book ends w with the booking of its transaction.
func (w *WaitlistEntry) Book(now time.Time) {
	w.State, w.OfferExpiresAt = EntryBooked, time.Time{}
	w.raise(now)
}

// PassOver records why w was not served.
func (w *WaitlistEntry) PassOver(reason string, now time.Time) {
	w.PassedOver, w.PassedOverAt = reason, instant(now)
	w.raise(now)
}

// Free updates w after its offer or its purchase was released. If the purchase has no refusal, it was
// interrupted, and w is tried again.
func (w *WaitlistEntry) Free(now time.Time) {
	refusal := w.PassedOver
	if w.State == EntryBooking { // it counts only if w waits again
		w.PassedOver = ""
	}
	switch {
	case w.DateStatus == DateCancelled:
		w.End(EntryClosed, now)
	case w.CustomerGone:
		w.End(EntryLeft, now)
	case w.State == EntryOffered:
		w.End(EntryExpired, now)
	default:
		w.State, w.Transaction, w.OfferExpiresAt = EntryWaiting, id.Transaction{}, time.Time{}
		w.PassOver(cmp.Or(refusal, PassedOverPassAway), now)
	}
}

// Takes updates w after its purchase p was granted.
func (w *WaitlistEntry) Takes(p *Purchase, now time.Time) {
	w.Transaction, w.OfferExpiresAt = p.Bought.ID, time.Time{}
	w.raise(now)
	switch p.Status {
	case Held:
		w.State, w.OfferExpiresAt = EntryOffered, p.ExpiresAt
	case Pending:
		// The pass service can still refuse it.
		w.State, w.PassedOver, w.PassedOverAt = EntryBooking, "", time.Time{}
	default:
		w.State = EntryBooked
	}
}

// Admits returns an error if w cannot join the waitlist, and completes w if it can.
func (of *Offer) Admits(w *WaitlistEntry, now time.Time) error {
	date, ok := of.Dates[w.Date]
	if !ok {
		return fault.Missing("event date")
	}
	if refusal := date.refuses(now); refusal != nil {
		return refusal
	}
	if refusal := of.refusesAgain(date, w.Customer, nil); refusal != nil {
		return refusal
	}
	if date.free() >= w.Spaces {
		return fault.Refuse(ReasonEventNotFull, "the date has enough free spaces: book them")
	}
	w.Event, w.StartsAt, w.DateStatus = date.Event, date.StartsAt, date.Status
	o, err := of.waitingOption(w, date)
	switch {
	case err != nil:
		return err
	case w.Method == Pass && o.Credits == nil:
		return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", o.ID.String())
	case o.WholeCourse:
		return wholeCourseHasNoWaitlist()
	}
	w.Option = o.ID
	return nil
}

// waitingOption returns the pricing option of w. A date of an appointment has only the prices of its length.
func (of *Offer) waitingOption(w *WaitlistEntry, date *OfferedDate) (o PricingOption, err error) {
	options := of.Options[date.Event]
	if w.Option.IsZero() {
		if options = date.priced(options); len(options) == 1 {
			return options[0], nil
		}
		return o, fault.InvalidFields(fault.Field{Field: "pricing_option_id", Rule: "required", Message: "is required, because the event has several pricing options"})
	}
	i := slices.IndexFunc(options, func(o PricingOption) bool { return o.ID == w.Option })
	switch {
	case i < 0:
		return o, fault.Missing("pricing option")
	case !options[i].appliesTo(date.Minutes):
		return o, otherLength("pricing_option_id")
	}
	return options[i], nil
}

// WhyNotServed returns the reason why an entry was not served: the documented reason of an error.
func WhyNotServed(refused error) string {
	if _, unknown := AsUnknownCustomers(refused); unknown {
		return fault.ReasonNotFound
	}
	return cmp.Or(fault.From(refused).Reason, fault.ReasonInternal)
}

// Promotion is a date whose free spaces are given to waiting customers.
type Promotion struct {
	Date id.EventDate
	// Behind is the entry after which the search for candidates starts; zero: at the first entry.
	Behind int64
	// Refused is the entry whose purchase was refused; zero: none. Entries before it are served only
	// if they needed more spaces than were free.
	Refused int64
}

// Promotions returns a promotion for each date.
func Promotions(dates []id.EventDate) []Promotion {
	all := make([]Promotion, len(dates))
	for i, d := range dates {
		all[i].Date = d
	}
	return all
}

// AlreadyWaiting refuses a second entry of a customer for a date.
func AlreadyWaiting() *fault.Error {
	return fault.Refuse(ReasonAlreadyWaiting, "the customer is already on the waitlist of this date")
}

// RemainingPromotions returns the promotions of dates that may have more candidates: those for
// which a full batch was read.
func RemainingPromotions(from []Promotion, candidates []*WaitlistEntry, batch int) []Promotion {
	counts, refused := map[id.EventDate]int{}, map[id.EventDate]int64{}
	for _, p := range from {
		refused[p.Date] = p.Refused
	}
	var next []Promotion
	for _, w := range candidates {
		if counts[w.Date]++; counts[w.Date] == batch {
			next = append(next, Promotion{Date: w.Date, Behind: w.Seq, Refused: refused[w.Date]})
		}
	}
	return next
}
