package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
)

// CancellationPolicy is what a cancellation costs the customers of an event. The zero value means
// no policy: cancellation is free until the date starts.
type CancellationPolicy struct {
	FreeMinutes *int32 // before the start, at which free cancellation ends; nil: at the start
}

// NoPolicy, as the FreeMinutes of a change, removes the policy.
const NoPolicy = -1

// check reports the faults of an event's policy.
func (p CancellationPolicy) check(f *check.Fields) {
	if p.FreeMinutes != nil {
		f.Range("free_cancellation_minutes", int64(*p.FreeMinutes), 0, maxMinutes)
	}
}

// CheckChange reports the faults of a policy in a request to change an event.
func (p CancellationPolicy) CheckChange(f *check.Fields) {
	if m := p.FreeMinutes; m != nil && *m < NoPolicy {
		f.Add("free_cancellation_minutes", "range", fmt.Sprintf("must be 0 to %d, or -1", maxMinutes))
	}
}

// changed returns the policy with the changes of a request; nil members do not change.
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

// freeUntil returns the last time at which cancelling a date is free.
func (p CancellationPolicy) freeUntil(start time.Time) time.Time {
	if p.FreeMinutes == nil {
		return start
	}
	return start.Add(-time.Duration(*p.FreeMinutes) * time.Minute)
}

// CancellationOutcome is the effect of a cancellation on the payment.
type CancellationOutcome struct {
	Late      bool
	Waived    bool // it would be late, and the policy was waived
	FreeUntil time.Time
	Credits   int32 // to return to the pass
	RefundDue int64 // minor units
	Currency  string
}

// Outcome returns the effect of cancelling b now. If waived is true, a late cancellation counts as
// one in time.
func (p CancellationPolicy) Outcome(b *Booking, waived bool, now time.Time) CancellationOutcome {
	o := CancellationOutcome{FreeUntil: p.freeUntil(b.Date.StartsAt)}
	late := now.After(o.FreeUntil)
	o.Late, o.Waived = late && !waived, late && waived
	isMoney := b.Payment.Method.IsMoney()
	if isMoney {
		o.Currency = b.Payment.Currency
	}
	switch {
	case o.Late:
		o.RefundDue = b.RefundDue // because a move lowered the price
	case isMoney:
		o.RefundDue = b.unrefunded()
	case !b.Refunded && !b.Payment.CustomerPass.IsZero():
		o.Credits = b.Payment.Credits
	}
	return o
}
