package model

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// ReasonAlreadyAttended is the reason for refusing to change a booking whose customer has checked in.
const ReasonAlreadyAttended = "ALREADY_ATTENDED"

// Transfer gives a booking to another customer.
type Transfer struct {
	To id.Customer
	// BuyerKeepsControl means that the purchaser manages the booking, and not the recipient.
	BuyerKeepsControl bool
	AfterStart        string // why a booking of a date that has started is transferred; "": none
}

// manager returns the customer who manages a booking of t afterwards.
func (w *Transfer) manager(t *Transaction) id.Customer {
	if w.BuyerKeepsControl {
		return t.Purchaser.ID
	}
	return w.To
}

// Customers returns the customers whom the transfer of t's only booking names or leaves.
func (w *Transfer) Customers(t *Transaction) []id.Customer { return append(t.Customers(), w.To) }

// Apply gives t's only booking to the recipient, and reports whether that changes anything. of has the
// booking's date and the customers, locked.
func (w *Transfer) Apply(t *Transaction, of *Offer, now time.Time) (changed bool, err error) {
	b := &t.Bookings[0]
	date := of.Dates[b.Date.ID]
	if refusal := refusesCancelled(b, date, now); refusal != nil {
		return false, refusal
	}
	if of.Customers[w.To].Deleted {
		return false, MissingIn("customer_id", "customer")
	}
	if err := of.CheckCustomers([]id.Customer{w.To, w.manager(t)}); err != nil {
		return false, err
	}
	if t.Attendee(b) == w.To && t.Manager(b) == w.manager(t) {
		return false, nil
	}
	if err := w.refuses(t, date, of, now); err != nil {
		return false, err
	}
	b.BoughtFor, b.ManagedBy = nil, id.Customer{}
	if w.To != t.Purchaser.ID {
		c := of.Customers[w.To].Customer
		b.BoughtFor = &c
	}
	if to := w.manager(t); to != t.Purchaser.ID {
		b.ManagedBy = to
	}
	if b.Attendance == NoShow {
		b.Attendance = NotRecorded
	}
	return true, nil
}

// refusesCancelled returns why a booking of a cancelled date or event cannot be transferred; nil if it can.
func refusesCancelled(b *Booking, date *OfferedDate, now time.Time) error {
	switch {
	case b.Cancelled || date == nil || date.Status == DateCancelled:
		return fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled")
	case date.EventStatus != Cancelled:
		return nil
	case date.StartsAt.Before(now): // the event was cancelled after this date, whose bookings stay
		return EventIsCancelled().With("event_date_id", date.ID.String())
	}
	return fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled") // its cancellation has begun
}

// refuses returns why t's only booking cannot be transferred; nil if it can.
func (w *Transfer) refuses(t *Transaction, date *OfferedDate, of *Offer, now time.Time) error {
	b := &t.Bookings[0]
	if b.Attendance == CheckedIn {
		return AlreadyAttended()
	}
	if refusal := date.refusesAfterStart(w.AfterStart != "", now); refusal != nil {
		return refusal.With("event_date_id", date.ID.String())
	}
	if t.Attendee(b) == w.To { // only who manages the booking changes
		return nil
	}
	if refusal := of.refusesAgain(date, w.To, nil); refusal != nil {
		return refusal
	}
	return nil
}
