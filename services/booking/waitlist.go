package booking

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
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
func (w *waiter) purchase(company id.Company, now time.Time) *purchase {
	p := &purchase{
		company: Company{ID: company, Timezone: w.Timezone},
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
func (w *waiter) takes(p *purchase) {
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

// waiterOf reads a request to wait.
func waiterOf(req *bookingv1.JoinWaitlistRequest) (*waiter, error) {
	how, err := paymentOf(payment{req.GetPaymentMethod(), "", req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	w := &waiter{Spaces: req.GetSpaces(), Method: how.method, Pass: how.pass, State: entryWaiting}
	if w.Spaces == 0 {
		w.Spaces = 1
	}
	var faults fields
	if w.Spaces < 1 || w.Spaces > maxSpaces {
		faults.add("spaces", "range", "must be 1 to 1000")
	}
	minutes := req.GetOfferMinutes()
	switch req.GetMode() {
	case bookingv1.WaitlistMode_WAITLIST_MODE_UNSPECIFIED, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER:
		w.Mode, w.OfferMinutes = modeOffer, &minutes
		if minutes == 0 {
			minutes = defaultOfferMinutes
		}
		if minutes < 1 || minutes > maxOfferMinutes {
			faults.add("offer_minutes", "range", "must be 1 to 10080")
		}
		if w.Method == Pass {
			faults.add("payment_method", "exclusive", "is said when the offer is accepted")
		}
	case bookingv1.WaitlistMode_WAITLIST_MODE_BOOK:
		w.Mode = modeBook
		if minutes != 0 {
			faults.add("offer_minutes", "exclusive", "is for offers")
		}
	default:
		faults.add("mode", "enum", "must be offer or book")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	if w.Date, err = id.Parse[id.EventDate](req.GetEventDateId()); err != nil {
		return nil, fault.Missing("event date")
	}
	if w.Customer, err = customerOf(req.GetCustomerId()); err != nil {
		return nil, err
	}
	if req.GetPricingOptionId() != "" {
		if w.Option, err = id.Parse[id.PricingOption](req.GetPricingOptionId()); err != nil {
			return nil, fault.Missing("pricing option")
		}
	}
	return w, nil
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

var waitModes = map[waitMode]bookingv1.WaitlistMode{
	modeOffer: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER,
	modeBook:  bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
}

var waitStates = map[waitState]bookingv1.WaitlistState{
	entryWaiting: bookingv1.WaitlistState_WAITLIST_STATE_WAITING,
	entryOffered: bookingv1.WaitlistState_WAITLIST_STATE_OFFERED,
	entryBooked:  bookingv1.WaitlistState_WAITLIST_STATE_BOOKED,
	entryExpired: bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED,
	entryLeft:    bookingv1.WaitlistState_WAITLIST_STATE_LEFT,
	entryClosed:  bookingv1.WaitlistState_WAITLIST_STATE_CLOSED,
}

func (w *waiter) toProto(now time.Time) *bookingv1.WaitlistEntry {
	state := w.at(now)
	out := &bookingv1.WaitlistEntry{
		Id: w.ID.String(), EventDateId: w.Date.String(), CustomerId: w.Customer.String(), Spaces: w.Spaces,
		Mode: waitModes[w.Mode], State: waitStates[state], JoinedAt: timestamppb.New(w.JoinedAt),
		PassedOverReason: w.PassedOver, PricingOptionId: w.Option.String(),
	}
	if state == entryWaiting {
		out.Position = int32(w.position)
	}
	if !w.Transaction.IsZero() && w.State != entryBooking {
		out.TransactionId = w.Transaction.String()
	}
	if state == entryOffered {
		out.OfferExpiresAt = timestamppb.New(w.OfferExpiresAt)
	}
	if !w.PassedOverAt.IsZero() {
		out.PassedOverAt = timestamppb.New(w.PassedOverAt)
	}
	if w.OfferMinutes != nil {
		out.OfferMinutes = *w.OfferMinutes
		return out
	}
	out.PaymentMethod = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	if w.Method == Pass {
		out.PaymentMethod = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
		if !w.Pass.IsZero() {
			out.CustomerPassId = w.Pass.String()
		}
	}
	return out
}
