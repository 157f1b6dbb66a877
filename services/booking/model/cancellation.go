package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
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
