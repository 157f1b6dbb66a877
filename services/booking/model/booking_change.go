package model

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// BookingChange is what cancelling or refunding did.
type BookingChange struct {
	Changed bool
	Frees   int32 // spaces that the date gets back
	Returns bool  // the credits that were paid are returned to the pass
}

// Cancel sets the flag, once, and says how many spaces become free.
func (b *Booking) Cancel() BookingChange {
	if b.Cancelled {
		return BookingChange{}
	}
	b.Cancelled = true
	return BookingChange{Changed: true, Frees: b.Spaces}
}

// Refund sets the flag, once. It does not cancel: a business may refund a booking that
// the customer keeps.
func (b *Booking) Refund() BookingChange {
	if b.Refunded {
		return BookingChange{}
	}
	b.Refunded = true
	return BookingChange{Changed: true}
}

// CreditReturn is what a booking gives back to a pass.
type CreditReturn struct {
	Company     id.Company
	Booking     id.Booking
	Transaction id.Transaction
	Pass        id.CustomerPass
	Credits     int32
}

// CreditsOwed returns what b gives back when it is refunded; false: nothing.
func CreditsOwed(company id.Company, t *Transaction, b *Booking) (CreditReturn, bool) {
	p := &b.Payment
	if p.Method != Pass || p.Credits == 0 || p.CustomerPass.IsZero() {
		return CreditReturn{}, false
	}
	return CreditReturn{Company: company, Booking: b.ID, Transaction: t.ID, Pass: p.CustomerPass, Credits: p.Credits}, true
}

// MassCancellation is what cancelling several bookings of a date did.
type MassCancellation struct {
	Spaces   int32 // that the date gets back
	Refunded []id.Booking
	Returns  []CreditReturn
}

// CancelAll cancels bookings of a date. What was paid by pass is returned to it,
// whatever the policy. Bookings of one transaction share its next version.
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

// Attend records attendance and reports whether that changed anything.
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

// ReasonAlreadyCancelled is why nobody attends a cancelled booking.
const ReasonAlreadyCancelled = "ALREADY_CANCELLED"
