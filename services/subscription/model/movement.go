package model

import (
	"time"

	"reservation.dev/platform/id"
)

// Movement is an amount that was paid for a period, or refunded. It never changes.
type Movement struct {
	Period   int32 // 0: a refund
	Entry    int64 // 0: a payment
	Amount   int64 // minor units; negative: refunded
	Currency string
	Method   string
	Plan     id.Plan
	At       time.Time
	Day      *time.Time // nil: that of At in EarlierZone

	// EarlierZone is the zone of the company in which movements of earlier releases have their day.
	EarlierZone string
}

// Movement returns the payment of a period; false if nothing was paid.
func (p *Period) Movement() (m Movement, paid bool) {
	if p.PaidAt == nil || p.PaidAmount == 0 {
		return m, false
	}
	return Movement{
		Period: p.Number, Amount: p.PaidAmount, Currency: p.Currency, Method: p.PaymentMethod, Plan: p.PlanID,
		At: *p.PaidAt, Day: p.PaidOn, EarlierZone: p.EarlierZone,
	}, true
}

// Movement returns the refund of an entry; false if it is none.
func (e *AccountEntry) Movement(currency string) (m Movement, refunded bool) {
	if e.Kind != EntryRefunded {
		return m, false
	}
	return Movement{
		Entry: e.Sequence, Amount: e.Refund, Currency: currency, Method: e.Method, Plan: e.PlanID,
		At: e.CreatedAt, Day: e.Day, EarlierZone: e.EarlierZone,
	}, true
}

// Movements returns the movements of the loaded periods and of the new account entries.
func (r *Record) Movements() (all []Movement) {
	for i := range r.Loaded {
		if m, ok := r.Loaded[i].Movement(); ok {
			all = append(all, m)
		}
	}
	for i := range r.Entries {
		if m, ok := r.Entries[i].Movement(r.Currency); ok {
			all = append(all, m)
		}
	}
	return all
}

// addedTo returns the movements of r that are not in before.
func (r *Record) addedTo(before []Movement) (added []Movement) {
	type key struct {
		period int32
		entry  int64
	}
	known := map[key]bool{}
	for _, m := range before {
		known[key{m.Period, m.Entry}] = true
	}
	for _, m := range r.Movements() {
		if !known[key{m.Period, m.Entry}] {
			added = append(added, m)
		}
	}
	return added
}
