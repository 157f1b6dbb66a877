package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

// CancellationPolicy says what the customers of an event pay when they cancel. The
// zero value is no policy: cancelling is free until the date starts.
type CancellationPolicy struct {
	FreeMinutes *int32 // before the start, until which cancelling is free; nil: until the start
}

// NoPolicy, as the free minutes of a change, removes the policy.
const NoPolicy = -1

// check reports what is wrong with the policy of an event.
func (p CancellationPolicy) check(f *check.Fields) {
	if p.FreeMinutes != nil {
		f.Range("free_cancellation_minutes", int64(*p.FreeMinutes), 0, maxMinutes)
	}
}

// CheckChange reports what is wrong with a policy as a request to change an event
// gives it.
func (p CancellationPolicy) CheckChange(f *check.Fields) {
	if m := p.FreeMinutes; m != nil && *m < NoPolicy {
		f.Add("free_cancellation_minutes", "range", fmt.Sprintf("must be 0 to %d, or -1", maxMinutes))
	}
}

// changed returns the policy with what a request changes of it; nil members stay.
func (p CancellationPolicy) changed(by CancellationPolicy) CancellationPolicy {
	if m := by.FreeMinutes; m != nil {
		p.FreeMinutes = m
		if *m == NoPolicy {
			p.FreeMinutes = nil
		}
	}
	return p
}

func (p CancellationPolicy) equal(other CancellationPolicy) bool {
	return same(p.FreeMinutes, other.FreeMinutes)
}

// freeUntil returns the last instant at which cancelling a date is free.
func (p CancellationPolicy) freeUntil(start time.Time) time.Time {
	if p.FreeMinutes == nil {
		return start
	}
	return start.Add(-time.Duration(*p.FreeMinutes) * time.Minute)
}

// CancellationOutcome is what a cancellation does to what was paid.
type CancellationOutcome struct {
	Late      bool
	FreeUntil time.Time
	Credits   int32 // that the pass gets back
	RefundDue int64 // minor units
	Currency  string
}

// Outcome decides what cancelling b now means. waived ignores the time until which
// cancelling is free.
func (p CancellationPolicy) Outcome(b *Booking, waived bool, now time.Time) CancellationOutcome {
	o := CancellationOutcome{FreeUntil: p.freeUntil(b.Date.StartsAt)}
	o.Late = now.After(o.FreeUntil) && !waived
	if b.Payment.Method == Card {
		o.Currency = b.Payment.Currency
	}
	if o.Late || b.Refunded {
		return o
	}
	if b.Payment.Method == Card {
		o.RefundDue = b.Payment.Gross
	} else if !b.Payment.CustomerPass.IsZero() {
		o.Credits = b.Payment.Credits
	}
	return o
}

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

// massCancellation is what cancelling several bookings of a date did.
type massCancellation struct {
	Spaces   int32 // that the date gets back
	Refunded []id.Booking
	Returns  []CreditReturn
}

// CancelAll cancels bookings of a date. What was paid by pass is returned to it,
// whatever the policy. Bookings of one transaction share its next version.
func CancelAll(company id.Company, booked []Registration, now time.Time) massCancellation {
	done := massCancellation{Refunded: []id.Booking{}}
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
