package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons for refusing to move a booking.
const (
	ReasonLateChange       = "LATE_CHANGE"
	ReasonPriceChanged     = "PRICE_CHANGED"
	ReasonCurrencyDiffers  = "CURRENCY_DIFFERS"
	ReasonChangeInProgress = "CHANGE_IN_PROGRESS"
)

// Move is a request to change the date, the pricing option or the spaces of a booking.
type Move struct {
	Date   id.EventDate     // zero: stays
	Option id.PricingOption // zero: stays with the event, or is the only one of the new event
	Spaces int32            // 0: stay

	KeepPrice  bool   // price and credits stay
	Waived     bool   // a late change counts as one in time
	AfterStart bool   // a reason is given, so dates that have started count
	Method     Method // of the payment of a difference; "": that of the booking

	swap bool // date and option are those of another booking
}

// Check reports the faults of a move that do not depend on stored data.
func (m *Move) Check() error {
	var faults check.Fields
	if m.Spaces != 0 {
		faults.Range("spaces", int64(m.Spaces), 1, MaxSpaces)
	}
	if m.Method == Pass || m.Method == Free {
		faults.Add("payment_method", "method", "must be a method by which money is paid")
	}
	return faults.Err()
}

// changes reports whether the move changes the booking.
func (m *Move) changes(b *Booking) bool {
	return !m.Date.IsZero() && m.Date != b.Date.ID || !m.Option.IsZero() && m.Option != b.Option || m.Spaces != 0 && m.Spaces != b.Spaces
}

// Movable is a booking to move.
type Movable struct {
	*Booking
	Attendee id.Customer
	Policy   CancellationPolicy
}

// MoveOutcome is the effect of a move on the payment. The amounts are 0 if the payment is by pass, and the
// credits otherwise.
type MoveOutcome struct {
	Late                        bool
	FreeUntil                   time.Time
	PriceBefore, PriceAfter     int64
	Currency                    string
	AmountDue                   int64 // to be paid with the move
	RefundDue                   int64 // after the move
	CreditsBefore, CreditsAfter int32
}

// MovedBooking is a move that is decided.
type MovedBooking struct {
	Before, After Booking
	Outcome       MoveOutcome
	Method        Method // of the payment of the difference; "": nothing is paid
	TaxRate       int32  // of that payment, basis points
	swap          bool
}

// Late refuses a move that the policy does not allow. A preview shows it instead.
func (m *MovedBooking) Late() error {
	if !m.Outcome.Late || !m.swap && m.Before.Date.ID == m.After.Date.ID {
		return nil
	}
	return fault.Refuse(ReasonLateChange, "free cancellation has ended, so the booking can only be moved if the policy is waived").
		With("free_until", rfc3339(m.Outcome.FreeUntil)).With("timezone", m.Before.Date.Timezone)
}

// Costs refuses a move that costs another amount than the caller expects; nil expects any.
func (m *MovedBooking) Costs(expected *int64) error {
	if expected == nil || *expected == m.Outcome.AmountDue {
		return nil
	}
	return priceChanged(m.Outcome.AmountDue, m.Before.Payment.Currency)
}

// Recount returns the spaces that moves together add to dates; negative ones are freed.
func Recount(all ...*MovedBooking) map[id.EventDate]int32 {
	spaces := map[id.EventDate]int32{}
	for _, m := range all {
		spaces[m.Before.Date.ID] -= m.Before.Spaces
		spaces[m.After.Date.ID] += m.After.Spaces
	}
	for date, n := range spaces {
		if n == 0 {
			delete(spaces, date)
		}
	}
	return spaces
}

// Move decides a move of a booking at now, except what Late and Costs refuse. It returns nil if the booking
// already is as requested. The offer has the present date and the requested one.
func (of *Offer) Move(b Movable, how Move, now time.Time) (*MovedBooking, error) {
	m, err := of.decide(b, how, now)
	if m == nil || err != nil {
		return nil, err
	}
	return m, of.fits(m)
}

// Swap decides a swap of the dates and options of two bookings, as Move does. It returns no moves if both
// have the same date and option.
func (of *Offer) Swap(a, b Movable, how Move, now time.Time) ([]*MovedBooking, error) {
	first, err := of.decide(a, how.onto(b.Booking), now)
	if err != nil {
		return nil, err
	}
	second, err := of.decide(b, how.onto(a.Booking), now)
	if first == nil || second == nil || err != nil {
		return nil, err
	}
	return []*MovedBooking{first, second}, of.fits(first, second)
}

// onto returns the move of a swap to the date and option of another booking.
func (m Move) onto(other *Booking) Move {
	m.Date, m.Option, m.KeepPrice, m.swap = other.Date.ID, other.Option, true, true
	return m
}

// decide decides one move, without its spaces.
func (of *Offer) decide(b Movable, how Move, now time.Time) (*MovedBooking, error) {
	t, refusal := of.target(b, how, now)
	if refusal != nil || t == nil {
		return nil, refusal
	}
	if refusal := of.refusesAgain(t.date, b.Attendee, nil); refusal != nil && t.date.ID != b.Date.ID {
		return nil, refusal
	}
	m := &MovedBooking{Before: *b.Booking, After: *b.Booking, swap: how.swap}
	m.After.Date, m.After.Option, m.After.Spaces = t.date.BookedDate, t.option.ID, t.spaces
	if m.After.Attendance == NoShow {
		m.After.Attendance = NotRecorded
	}
	m.Outcome.FreeUntil = b.Policy.freeUntil(b.Date.StartsAt)
	m.Outcome.Late = now.After(m.Outcome.FreeUntil) && !how.Waived
	if err := m.price(t, how); err != nil {
		return nil, err
	}
	return m, nil
}

// fits refuses moves that need more spaces than the dates have left.
func (of *Offer) fits(all ...*MovedBooking) error {
	for date, spaces := range Recount(all...) {
		if spaces > 0 && spaces > of.Dates[date].free() {
			return EventFull().With("event_date_id", date.String())
		}
	}
	return nil
}

// moveTarget is what a booking becomes.
type moveTarget struct {
	date   *OfferedDate
	option PricingOption
	spaces int32
	stays  bool // the option stays
}

// target finds the target of a move, and refuses what cannot be moved there. It returns nil if nothing changes.
func (of *Offer) target(b Movable, how Move, now time.Time) (*moveTarget, error) {
	if b.Cancelled {
		return nil, fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled")
	}
	if !how.changes(b.Booking) {
		return nil, nil
	}
	if b.Attendance == CheckedIn {
		return nil, AlreadyAttended()
	}
	if old := of.Dates[b.Date.ID]; old != nil {
		if refusal := old.refusesChange(how, now); refusal != nil {
			return nil, refusal.With("event_date_id", old.ID.String())
		}
	}
	t := &moveTarget{spaces: b.Spaces}
	if how.Spaces != 0 {
		t.spaces = how.Spaces
	}
	which := b.Date.ID
	if !how.Date.IsZero() {
		which = how.Date
	}
	if t.date = of.Dates[which]; t.date == nil {
		return nil, MissingIn("event_date_id", "event date")
	}
	if which != b.Date.ID || t.spaces > b.Spaces {
		if refusal := t.date.refusesMove(how, now); refusal != nil {
			return nil, refusal.With("event_date_id", which.String())
		}
	}
	return t, of.targetOption(b, how, t)
}

// refusesMove returns why a booking cannot be moved to the date; nil if it can.
func (d *OfferedDate) refusesMove(how Move, now time.Time) *fault.Error {
	if refusal := d.refusesChange(how, now); refusal != nil {
		return refusal
	}
	switch {
	case d.EventStatus == Draft:
		return d.closed()
	case d.StartsAt.Before(now):
		return nil
	}
	return d.Rules.refuses(d.StartsAt, d.Timezone, now)
}

// refusesChange returns why a booking of the date cannot be changed; nil if it can.
func (d *OfferedDate) refusesChange(how Move, now time.Time) *fault.Error {
	switch {
	case d.OfAppointment:
		return fault.Refuse(ReasonAppointmentEvent, "the date is that of an appointment: move the appointment instead")
	case d.EventStatus == Cancelled || d.Status == DateCancelled:
		return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
	}
	return d.refusesAfterStart(how.AfterStart, now)
}

// AlreadyAttended refuses to move or transfer a booking whose customer has checked in.
func AlreadyAttended() *fault.Error {
	return fault.Refuse(ReasonAlreadyAttended, "the customer has checked in")
}

func priceChanged(due int64, currency string) *fault.Error {
	return fault.Refuse(ReasonPriceChanged, "the amount that is due for the move has changed: preview the move again").
		With("amount_due", itoa(due)).With("currency", currency)
}

// ChangeInProgress refuses a change of a booking whose credits are being taken or returned.
func ChangeInProgress() *fault.Error {
	return fault.New(fault.Conflict, ReasonChangeInProgress, "another move of the booking is not finished: try again").After(2 * time.Second)
}

// MissingIn is the fault of a change of a booking whose member names something that does not exist.
func MissingIn(member, what string) error {
	missing := fault.Missing(what)
	missing.Fields = []fault.Field{{Field: member, Rule: "exists", Message: "does not exist"}}
	return missing
}
