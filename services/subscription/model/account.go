package model

import "time"

// entry adds an entry to the account: changes of account credit and of the refund due, in minor units.
func (r *Record) entry(kind EntryKind, credit, refund int64, period int32, c Clock) {
	r.AccountCredit += credit
	r.RefundDue += refund
	r.EntryCount++
	r.Entries = append(r.Entries, AccountEntry{
		Sequence: r.EntryCount, Kind: kind, Credit: credit, Refund: refund,
		CreditBalance: r.AccountCredit, RefundBalance: r.RefundDue, Period: period, CreatedAt: c.Now, Day: new(c.today()),
	})
}

// applyCredit returns how much of a price account credit pays (invariant 10).
func (r *Record) applyCredit(price int64) int64 { return min(r.AccountCredit, price) }

// unused returns the unused part of what was paid for the current period, in minor units (invariant 9): the
// share of the days left, today included, or the share of its credits left, if that is smaller. Credits of
// earlier periods are used first, so all that are left up to the credits of a period belong to this one.
// A waived amount was not paid, so it has no unused part.
func (r *Record) unused(today time.Time, creditsLeft int32) int64 {
	p := r.current()
	days := daysBetween(p.FirstDay, p.LastDay) + 1 - int(p.PausedDays)
	left := min(max(daysBetween(today, p.LastDay)+1, 0), days)
	if left == 0 {
		return 0
	}
	paid := p.CreditApplied + p.PaidAmount
	value := paid * int64(left) / int64(days)
	if r.Bookings == BookingsCredits {
		credits := min(max(creditsLeft, 0), r.Credits)
		value = min(value, paid*int64(credits)/int64(r.Credits))
	}
	return value
}

// creditUnused adds the unused part of the current period to account credit.
func (r *Record) creditUnused(value int64, c Clock) {
	if value == 0 {
		return
	}
	p := r.current()
	p.UnusedValue = value
	r.entry(EntryUnusedPeriod, value, 0, p.Number, c)
}
