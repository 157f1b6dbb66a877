package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// BookingChange is the effect of a change of a booking.
type BookingChange struct {
	Changed bool
	Frees   int32 // spaces to free on the date
	Returns bool  // the credits that paid the booking are returned to the pass
}

// Cancel cancels the booking, once, with the outcome that the policy gives.
func (b *Booking) Cancel(o *CancellationOutcome, reason string, now time.Time) BookingChange {
	if b.Cancelled {
		return BookingChange{}
	}
	b.Cancelled, b.CancelledAt = true, now
	b.Late, b.RefundDue, b.Reason = o.Late, o.RefundDue, reason
	return BookingChange{Changed: true, Frees: b.Spaces}
}

// Refund records a refund of an amount in minor units. Nil means all that is due, or, if nothing is
// due, all that was paid and not refunded. It changes nothing if nothing is left to refund. It does
// not cancel: a business can refund a booking that the customer keeps.
//
// The credits of a payment by pass are returned as a whole, once. A booking that cost nothing is
// marked as refunded, once.
func (b *Booking) Refund(amount *int64, now time.Time) (BookingChange, error) {
	p := &b.Payment
	if !p.Method.IsMoney() && amount != nil {
		return BookingChange{}, fault.InvalidFields(fault.Field{
			Field: "amount", Rule: "method", Message: "must be left out: the credits of a payment by pass are returned as a whole",
		})
	}
	left := b.unrefunded()
	if b.Refunded && left == 0 {
		return BookingChange{}, nil
	}
	refund := left
	if b.RefundDue > 0 {
		refund = b.RefundDue
	}
	if amount != nil {
		if refund = *amount; refund < 1 || refund > left {
			return BookingChange{}, fault.InvalidFields(fault.Field{Field: "amount", Rule: "range", Message: refundRange(left)})
		}
	}
	b.Refunded, b.RefundedAt = true, now
	b.RefundedAmount += refund
	b.RefundDue = max(0, b.RefundDue-refund)
	return BookingChange{Changed: true, Returns: !p.Method.IsMoney()}, nil
}

func refundRange(left int64) string {
	if left == 0 {
		return "must be left out: the booking cost nothing"
	}
	return fmt.Sprintf("must be 1 to %d, what was paid and not refunded", left)
}

// unrefunded returns the amount that was paid and not refunded.
func (b *Booking) unrefunded() int64 {
	if !b.Payment.Method.IsMoney() {
		return 0
	}
	return b.Payment.Gross - b.RefundedAmount
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

// Attend records attendance, and reports whether it changed.
func (b *Booking) Attend(a Attendance) (BookingChange, error) {
	switch {
	case b.Cancelled:
		return BookingChange{}, fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled")
	case b.Attendance == a:
		return BookingChange{}, nil
	}
	b.Attendance = a
	return BookingChange{Changed: true}, nil
}

// ReasonAlreadyCancelled is the reason for refusing to record attendance of a cancelled booking.
const ReasonAlreadyCancelled = "ALREADY_CANCELLED"
