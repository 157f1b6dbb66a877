package booking

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

// checkChange reports what is wrong with a policy as a request to change an event
// gives it.
func (p CancellationPolicy) checkChange(f *check.Fields) {
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

// change is what cancelling or refunding did.
type change struct {
	changed bool
	frees   int32 // spaces that the date gets back
	returns bool  // the credits that were paid are returned to the pass
}

// cancel sets the flag, once, and says how many spaces become free.
func (b *Booking) cancel() change {
	if b.Cancelled {
		return change{}
	}
	b.Cancelled = true
	return change{changed: true, frees: b.Spaces}
}

// refund sets the flag, once. It does not cancel: a business may refund a booking that
// the customer keeps.
func (b *Booking) refund() change {
	if b.Refunded {
		return change{}
	}
	b.Refunded = true
	return change{changed: true}
}

// creditReturn is what a booking gives back to a pass.
type creditReturn struct {
	company     id.Company
	booking     id.Booking
	transaction id.Transaction
	pass        id.CustomerPass
	credits     int32
}

// owes returns what b gives back when it is refunded; false: nothing.
func owes(company id.Company, t *Transaction, b *Booking) (creditReturn, bool) {
	p := &b.Payment
	if p.Method != Pass || p.Credits == 0 || p.CustomerPass.IsZero() {
		return creditReturn{}, false
	}
	return creditReturn{company: company, booking: b.ID, transaction: t.ID, pass: p.CustomerPass, credits: p.Credits}, true
}

// massCancellation is what cancelling several bookings of a date did.
type massCancellation struct {
	spaces   int32 // that the date gets back
	refunded []id.Booking
	returns  []creditReturn
}

// cancelAll cancels bookings of a date. What was paid by pass is returned to it,
// whatever the policy. Bookings of one transaction share its next version.
func cancelAll(company id.Company, booked []registration, now time.Time) massCancellation {
	done := massCancellation{refunded: []id.Booking{}}
	raised := map[id.Transaction]int64{}
	for i := range booked {
		t := &booked[i].Transaction
		if _, ok := raised[t.ID]; !ok {
			raised[t.ID] = t.Version + 1
		}
		t.Version = raised[t.ID]
		b := booked[i].booking()
		done.spaces += b.cancel().frees
		b.CancelledAt = now
		if r, owed := owes(company, t, b); owed && b.refund().changed {
			done.returns, done.refunded = append(done.returns, r), append(done.refunded, r.booking)
		}
	}
	return done
}
