package model

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// BookingChange is the effect of cancelling or refunding a booking.
type BookingChange struct {
	Changed bool
	Frees   int32 // spaces to free on the date
	Returns bool  // the credits that paid the booking are returned to the pass
}

// Cancel cancels the booking, once.
func (b *Booking) Cancel() BookingChange {
	if b.Cancelled {
		return BookingChange{}
	}
	b.Cancelled = true
	return BookingChange{Changed: true, Frees: b.Spaces}
}

// Refund marks the booking as refunded, once. It does not cancel: a business can refund a booking
// that the customer keeps.
func (b *Booking) Refund() BookingChange {
	if b.Refunded {
		return BookingChange{}
	}
	b.Refunded = true
	return BookingChange{Changed: true}
}

// CreditReturn is credits of a booking to return to a pass.
type CreditReturn struct {
	Company     id.Company
	Booking     id.Booking
	Transaction id.Transaction
	Pass        id.CustomerPass
	Credits     int32
}

// CreditsOwed returns the credits to return when b is refunded. It returns false if there are none.
func CreditsOwed(company id.Company, t *Transaction, b *Booking) (CreditReturn, bool) {
	p := &b.Payment
	if p.Method != Pass || p.Credits == 0 || p.CustomerPass.IsZero() {
		return CreditReturn{}, false
	}
	return CreditReturn{Company: company, Booking: b.ID, Transaction: t.ID, Pass: p.CustomerPass, Credits: p.Credits}, true
}

// MassCancellation is the effect of cancelling several bookings of a date.
type MassCancellation struct {
	Spaces   int32 // to free on the date
	Refunded []id.Booking
	Returns  []CreditReturn
}

// CancelAll cancels bookings of a date. It returns the credits of payments by pass, regardless of
// the cancellation policy. All bookings of one transaction have its next version.
func CancelAll(company id.Company, booked []Registration, now time.Time) MassCancellation {
	done := MassCancellation{Refunded: []id.Booking{}}
	raised := map[id.Transaction]int64{}
	for i := range booked {
		t := &booked[i].Transaction
		if _, ok := raised[t.ID]; !ok {
			raised[t.ID] = t.Version + 1
		}
		t.Version = raised[t.ID]
		b := booked[i].Booking()
		done.Spaces += b.Cancel().Frees
		b.CancelledAt = now
		if r, owed := CreditsOwed(company, t, b); owed && b.Refund().Changed {
			done.Returns, done.Refunded = append(done.Returns, r), append(done.Refunded, r.Booking)
		}
	}
	return done
}

// Attend records attendance and reports whether it changed.
func (b *Booking) Attend(a Attendance) (bool, error) {
	switch {
	case b.Cancelled:
		return false, fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled")
	case b.Attendance == a:
		return false, nil
	}
	b.Attendance = a
	return true, nil
}

// ReasonAlreadyCancelled is the reason for refusing to record attendance of a cancelled booking.
const ReasonAlreadyCancelled = "ALREADY_CANCELLED"
