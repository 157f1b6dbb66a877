package model

import (
	"slices"
	"testing"
	"time"
)

// TestVerify damages a subscription with three periods, an entry and a payment due, in one place each.
func TestVerify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		damage func(s *Subscription, p []Period, e []AccountEntry)
	}{
		{"subscription.status", func(s *Subscription, _ []Period, _ []AccountEntry) { s.Status = Paused }},
		{"subscription.amount_due", func(s *Subscription, _ []Period, _ []AccountEntry) { s.AmountDue++ }},
		{"subscription.account_credit", func(s *Subscription, _ []Period, _ []AccountEntry) { s.AccountCredit++ }},
		{"subscription.refund_due", func(s *Subscription, _ []Period, _ []AccountEntry) { s.RefundDue++ }},
		{"subscription.refunded_amount", func(s *Subscription, _ []Period, _ []AccountEntry) { s.RefundedAmount++ }},
		{"subscription.entry_count", func(s *Subscription, _ []Period, _ []AccountEntry) { s.EntryCount++ }},
		{"subscription.periods", func(s *Subscription, _ []Period, _ []AccountEntry) { s.Periods++ }},
		{"subscription.next_at", func(s *Subscription, _ []Period, _ []AccountEntry) { s.NextAt = nil }},
		{"subscription.last_day", func(s *Subscription, _ []Period, _ []AccountEntry) { s.LastDay = new(addDays(*s.LastDay, 1)) }},
		{"subscription.last_day is set", func(s *Subscription, _ []Period, _ []AccountEntry) { s.LastDay = nil }},
		{"subscription.ended_at is set", func(s *Subscription, _ []Period, _ []AccountEntry) { s.EndedAt = new(time.Time) }},
		{"subscription.suspended_from is set", func(s *Subscription, _ []Period, _ []AccountEntry) { s.SuspendedFrom = new(time.Time) }},
		{"period.number", func(_ *Subscription, p []Period, _ []AccountEntry) { p[1].Number = 7 }},
		{"period.first_day", func(_ *Subscription, p []Period, _ []AccountEntry) { p[1].FirstDay = addDays(p[1].FirstDay, 1) }},
		{"period.last_day", func(_ *Subscription, p []Period, _ []AccountEntry) { p[2].LastDay = addDays(p[2].LastDay, 1) }},
		{"period.last_day", func(_ *Subscription, p []Period, _ []AccountEntry) { p[0].LastDay = addDays(p[0].LastDay, 60) }},
		{"period.anchor", func(_ *Subscription, p []Period, _ []AccountEntry) { p[1].Anchor = addDays(p[1].Anchor, 1) }},
		{"period.anchor_day", func(_ *Subscription, p []Period, _ []AccountEntry) { p[2].AnchorDay = 31 }},
		{"period.anchor_index", func(_ *Subscription, p []Period, _ []AccountEntry) { p[2].AnchorIndex = 0 }},
		{"period.trial", func(_ *Subscription, p []Period, _ []AccountEntry) { p[2].Trial = true }},
		{"period.amount_due", func(_ *Subscription, p []Period, _ []AccountEntry) { p[2].AmountDue++ }},
		{"period.paid_amount", func(_ *Subscription, p []Period, _ []AccountEntry) { p[0].PaidAmount++ }},
		{"period.payment_status is not_due", func(_ *Subscription, p []Period, _ []AccountEntry) { p[1].PaymentStatus = PaymentNotDue }},
		{"period.credit_applied", func(_ *Subscription, p []Period, _ []AccountEntry) { p[1].CreditApplied-- }},
		{"period.unused_value", func(_ *Subscription, p []Period, _ []AccountEntry) { p[0].UnusedValue++ }},
		{"account_entry.sequence", func(_ *Subscription, _ []Period, e []AccountEntry) { e[1].Sequence = 5 }},
		{"account_entry.credit_balance", func(_ *Subscription, _ []Period, e []AccountEntry) { e[0].CreditBalance++ }},
		{"account_entry.refund_balance", func(_ *Subscription, _ []Period, e []AccountEntry) { e[0].RefundBalance++ }},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).start().at("2028-02-10")
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.otherPlan(), Now: true, CreditsLeft: 10, Payment: &Payment{}}))
			w.at("2028-03-10")
			w.did(w.r.Cancel(w.clock(), CancelRequest{}))
			w.r.LastPeriod, w.r.LastDay = 4, new(w.r.lastDayOf(4))
			w.r.schedule(w.zone)
			w.verify()
			s, periods, entries := w.r.Subscription, slices.Clone(w.r.Loaded), slices.Clone(w.r.Entries)
			c.damage(&s, periods, entries)
			found, _ := Verify(s, periods, entries, w.zone)
			if !slices.ContainsFunc(found, func(d Difference) bool { return d.What == c.what && d.Stored != d.Computed }) {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func TestPassState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.did(w.r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-02-05")), ResumesOn: new(day("2028-02-08"))}))
	v := w.r.View()
	s := v.PassState(w.r.Loaded, w.zone)
	equal(t, "status", s.Status, PassActive)
	equal(t, "unusable from", *s.UnusableFrom, StartOfDay(day("2028-02-05"), w.zone))
	equal(t, "usable again from", *s.UsableAgainFrom, StartOfDay(day("2028-02-08"), w.zone))
	equal(t, "grants", len(s.Grants), 1)
	equal(t, "grant", s.Grants[0], Grant{Period: 1, Credits: 10, MaxRollover: 4, FirstDay: day("2028-01-31")})
	w.did(w.r.Cancel(w.clock(), CancelRequest{}))
	v = w.r.View()
	equal(t, "last day", *v.PassState(nil, w.zone).LastDay, day("2028-02-28"))
	w.at("2028-02-05")
	v = w.r.View()
	s = v.PassState(nil, w.zone)
	equal(t, "status in the pause", s.Status, PassPaused)
	equal(t, "last day in the pause", s.LastDay, nil)
	equal(t, "unusable from in the pause", s.UnusableFrom, nil)
	w.did(w.r.DeleteCustomer(w.clock()))
	v = w.r.View()
	equal(t, "status after the end", v.PassState(nil, w.zone).Status, PassCancelled)
}
