package model

import (
	"fmt"
	"time"
)

// Difference is a stored value that differs from the one computed from the other rows.
type Difference struct {
	What             string // for example "period.first_day"
	Period           int32  // 0: of the subscription
	Stored, Computed string
}

// Verify recomputes a subscription from all of its periods and entries, which are in ascending order. It
// returns the differences and the number of values checked. The zone decides the time of the next step.
func Verify(s Subscription, periods []Period, entries []AccountEntry, zone *time.Location) ([]Difference, int64) {
	v := verification{s: &s}
	for i := range periods {
		p := &periods[i]
		v.number = p.Number
		v.equal("period.number", p.Number, int32(i+1))
		v.days(p)
		v.money(p)
		if i > 0 {
			v.follows(&periods[i-1], p)
		}
	}
	v.number = 0
	v.sums(periods)
	v.account(periods, entries)
	v.equal("subscription.periods", s.Periods, int32(len(periods)))
	if len(periods) > 0 {
		v.state(Load(s, periods), zone)
	}
	return v.found, v.checked
}

// verification collects differences.
type verification struct {
	s       *Subscription
	number  int32 // of the period that is being checked; 0: the subscription
	found   []Difference
	checked int64
}

func (v *verification) equal(what string, stored, computed any) {
	v.checked++
	if a, b := text(stored), text(computed); a != b {
		v.found = append(v.found, Difference{What: what, Period: v.number, Stored: a, Computed: b})
	}
}

// text returns a value for comparison and for people. Times are UTC.
func text(value any) string {
	switch t := value.(type) {
	case time.Time:
		return t.UTC().Format(time.RFC3339Nano)
	case *time.Time:
		if t == nil {
			return "none"
		}
		return text(*t)
	}
	return fmt.Sprint(value)
}

// days checks that the days of a period follow from its place on the grid (invariant 2).
func (v *verification) days(p *Period) {
	first, last := p.planned()
	v.equal("period.first_day", p.FirstDay, first)
	if !p.CutShort {
		v.equal("period.last_day", p.LastDay, last)
		return
	}
	cut := p.LastDay
	if cut.After(last) || cut.Before(addDays(first, -1)) {
		cut = last
	}
	v.equal("period.last_day", p.LastDay, cut)
}

// money checks the price and the payment of a period (invariant 11).
func (v *verification) money(p *Period) {
	owed := p.Price - p.CreditApplied
	due, paid := int64(0), int64(0)
	switch p.PaymentStatus {
	case PaymentDue, PaymentFailed:
		due = owed
	case PaymentPaid:
		paid = owed
	}
	v.equal("period.amount_due", p.AmountDue, due)
	v.equal("period.paid_amount", p.PaidAmount, paid)
	v.equal("period.payment_status is not_due", p.PaymentStatus == PaymentNotDue, owed == 0)
	if p.Trial {
		v.equal("period.price", p.Price, int64(0))
	}
	v.equal("period.unused_value", p.UnusedValue, min(max(p.UnusedValue, 0), p.CreditApplied+paid))
}

// follows checks that a period begins where the one before ended, or later on the same grid (invariants 1
// and 6).
func (v *verification) follows(before, p *Period) {
	g, index := before.next(Terms{Unit: p.Unit, Count: p.Count})
	v.equal("period.trial", p.Trial, false)
	v.equal("period.anchor", p.Anchor, g.anchor)
	v.equal("period.anchor_day", p.AnchorDay, g.day)
	v.equal("period.anchor_index", p.AnchorIndex, max(p.AnchorIndex, index))
}

// sums checks the amounts of the subscription.
func (v *verification) sums(periods []Period) {
	var due int64
	for i := range periods {
		due += periods[i].AmountDue
	}
	v.equal("subscription.amount_due", v.s.AmountDue, due)
}

// account checks the entries and what they add up to (invariant 10).
func (v *verification) account(periods []Period, entries []AccountEntry) {
	var credit, refund, refunded int64
	applied, unused := map[int32]int64{}, map[int32]int64{}
	for i := range entries {
		e := &entries[i]
		credit, refund = credit+e.Credit, refund+e.Refund
		v.equal("account_entry.sequence", e.Sequence, int64(i+1))
		v.equal("account_entry.credit_balance", e.CreditBalance, credit)
		v.equal("account_entry.refund_balance", e.RefundBalance, refund)
		switch e.Kind {
		case EntryApplied:
			applied[e.Period] -= e.Credit
		case EntryUnusedPeriod:
			unused[e.Period] += e.Credit
		case EntryRefunded:
			refunded -= e.Refund
		}
	}
	v.equal("subscription.account_credit", v.s.AccountCredit, max(credit, 0))
	v.equal("subscription.refund_due", v.s.RefundDue, max(refund, 0))
	v.equal("subscription.refunded_amount", v.s.RefundedAmount, refunded)
	v.equal("subscription.entry_count", v.s.EntryCount, int64(len(entries)))
	for i := range periods {
		v.number = periods[i].Number
		v.equal("period.credit_applied", periods[i].CreditApplied, applied[v.number])
		v.equal("period.unused_value", periods[i].UnusedValue, unused[v.number])
	}
	v.number = 0
}

// state checks the status and the dates of the next steps (invariant 15).
func (v *verification) state(r *Record, zone *time.Location) {
	view := r.View()
	v.equal("subscription.status", r.Status, view.status())
	v.equal("subscription.ended_at is set", r.EndedAt != nil, r.EndReason != NotEnded)
	v.equal("subscription.last_day is set", r.LastDay != nil, r.LastPeriod > 0 || r.EndReason != NotEnded)
	v.equal("subscription.suspended_from is set", r.SuspendedFrom != nil, r.PastDueSince != nil)
	if r.LastDay == nil != (r.LastPeriod == 0 && r.EndReason == NotEnded) {
		return // the next step cannot be computed
	}
	if r.LastPeriod > r.Periods {
		v.equal("subscription.last_day", r.LastDay, r.lastDayOf(r.LastPeriod))
	}
	if r.SuspendedFrom == nil == (r.PastDueSince == nil) {
		stored := r.NextAt
		r.schedule(zone)
		v.equal("subscription.next_at", stored, r.NextAt)
	}
}
