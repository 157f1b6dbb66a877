package faults

import (
	"errors"
	"fmt"
	"time"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// The rules of this file are written from the invariants of the subscription service, without its code.

// calendar counts the boundaries of periods from a day: invariant 2.
type calendar struct {
	anchor time.Time
	day    int // of the month; 0 for weeks
	plan   *subscriptionv1.Plan
	index  int
}

func newCalendar(anchor time.Time, plan *subscriptionv1.Plan) calendar {
	k := calendar{anchor: anchor, plan: plan}
	if !byWeek(plan) {
		k.day = anchor.Day()
	}
	return k
}

func byWeek(p *subscriptionv1.Plan) bool {
	return p.GetIntervalUnit() == subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK
}

// boundary returns the n-th boundary after the current index.
func (k calendar) boundary(n int) time.Time {
	steps := (k.index + n) * int(k.plan.GetIntervalCount())
	if byWeek(k.plan) {
		return k.anchor.AddDate(0, 0, 7*steps)
	}
	if k.plan.GetIntervalUnit() == subscriptionv1.IntervalUnit_INTERVAL_UNIT_YEAR {
		steps *= 12
	}
	first := time.Date(k.anchor.Year(), k.anchor.Month()+time.Month(steps), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(k.day, first.AddDate(0, 1, -1).Day())-1)
}

// span is the days of a period.
type span struct{ first, last time.Time }

func spanOf(p *subscriptionv1.Period) (s span, err error) {
	var errs [2]error
	s.first, errs[0] = time.Parse(time.DateOnly, p.GetFirstDay())
	s.last, errs[1] = time.Parse(time.DateOnly, p.GetLastDay())
	return s, errors.Join(errs[:]...)
}

// checkDays checks that the periods of a subscription follow each other on the calendar: invariants 1, 2, 6,
// 8 and 9. It returns the periods that begin after a gap.
func (c *subscriptionCluster) checkDays(a *account) (gaps []int32, err error) {
	var k calendar
	var before span
	var isMoved bool // the next boundaries are counted from the end of the period before
	for i, p := range a.periods {
		s, err := spanOf(p)
		if err != nil {
			return gaps, err
		}
		plan := c.planOf[p.GetPlanId()]
		switch {
		case p.GetNumber() != int32(i+1):
			return gaps, fmt.Errorf("period %d has the number %d", i+1, p.GetNumber())
		case i == 0:
			k = newCalendar(s.first, plan)
		default:
			k = k.follow(before.last.AddDate(0, 0, 1), plan, isMoved)
			if k.boundary(0).Before(s.first) {
				gaps = append(gaps, p.GetNumber())
			}
			for k.boundary(0).Before(s.first) {
				k.index++
			}
		}
		planned := k.boundary(1).AddDate(0, 0, -1)
		if p.GetTrial() {
			planned = s.first.AddDate(0, 0, int(plan.GetTrialDays())-1)
		}
		planned = planned.AddDate(0, 0, int(p.GetPausedDays()))
		isCut := s.last.Before(planned)
		switch {
		case !k.boundary(0).Equal(s.first) || s.last.After(planned) || p.GetTrial() != (i == 0 && plan.GetTrialDays() > 0):
			return gaps, fmt.Errorf("period %d is %v, want %s to %s", i+1, p, k.boundary(0).Format(time.DateOnly), planned.Format(time.DateOnly))
		case isCut && !isEnded(a) && (i+1 == len(a.periods) || a.periods[i+1].GetPlanId() == p.GetPlanId()):
			return gaps, fmt.Errorf("period %d ends on %s, before %s", i+1, p.GetLastDay(), planned.Format(time.DateOnly))
		}
		before, isMoved = s, isCut || p.GetTrial() || p.GetPausedDays() != 0
	}
	return gaps, c.checkToday(a, before)
}

// follow returns the calendar of the period after the current one, which begins on a day.
func (k calendar) follow(first time.Time, plan *subscriptionv1.Plan, isMoved bool) calendar {
	next := newCalendar(first, plan)
	switch {
	case isMoved:
	case plan.GetIntervalUnit() == k.plan.GetIntervalUnit() && plan.GetIntervalCount() == k.plan.GetIntervalCount():
		k.index++
		return k
	case !byWeek(plan) && !byWeek(k.plan):
		next.day = k.day
	}
	return next
}

func isEnded(a *account) bool {
	return a.GetStatus() == subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED
}

// checkToday checks that the current period of a subscription that goes on contains today.
func (c *subscriptionCluster) checkToday(a *account, current span) error {
	today := c.today()
	switch a.GetStatus() {
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING, subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING:
		if today.Before(current.first) || today.After(current.last) {
			return fmt.Errorf("today is %s, the current period of %s is %s to %s",
				today.Format(time.DateOnly), a.GetStatus(), current.first.Format(time.DateOnly), current.last.Format(time.DateOnly))
		}
	}
	return nil
}

// checkMoney checks that the amounts of a subscription add up: invariants 10 and 11.
func (c *subscriptionCluster) checkMoney(a *account) error {
	var faults []error
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	applied, unused := map[int32]int64{}, map[int32]int64{}
	var credit, refund, refunded int64
	for i, e := range a.entries {
		credit, refund = credit+e.GetCredit(), refund+e.GetRefund()
		if e.GetSequence() != int64(i+1) || e.GetCreditBalance() != credit || e.GetRefundBalance() != refund || credit < 0 || refund < 0 {
			wrong("entry %d is %v, the sums are %d and %d", i+1, e, credit, refund)
		}
		switch e.GetKind() {
		case subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_APPLIED:
			applied[e.GetPeriod()] -= e.GetCredit()
		case subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_UNUSED_PERIOD:
			unused[e.GetPeriod()] += e.GetCredit()
		case subscriptionv1.AccountEntryKind_ACCOUNT_ENTRY_KIND_REFUNDED:
			refunded -= e.GetRefund()
		}
	}
	if a.GetAccountCredit() != credit || a.GetRefundDue() != refund || a.GetRefundedAmount() != refunded {
		wrong("the account has %d, refunds %d due and %d made, want %d, %d and %d",
			a.GetAccountCredit(), a.GetRefundDue(), a.GetRefundedAmount(), credit, refund, refunded)
	}
	var due int64
	for _, p := range a.periods {
		due += p.GetAmountDue()
		if p.GetCreditApplied() != applied[p.GetNumber()] || p.GetUnusedValue() != unused[p.GetNumber()] {
			wrong("period %d has %d of account credit and %d unused, want %d and %d",
				p.GetNumber(), p.GetCreditApplied(), p.GetUnusedValue(), applied[p.GetNumber()], unused[p.GetNumber()])
		}
		if err := c.checkPrice(p); err != nil {
			faults = append(faults, err)
		}
	}
	if a.GetAmountDue() != due || isEnded(a) && (due != 0 || credit != 0) {
		wrong("%d are due, of the periods %d; the account has %d, its state is %s", a.GetAmountDue(), due, credit, a.GetStatus())
	}
	return errors.Join(faults...)
}

// checkPrice checks that the price of a period is the credit applied and one amount.
func (c *subscriptionCluster) checkPrice(p *subscriptionv1.Period) error {
	price := c.planOf[p.GetPlanId()].GetPrice()
	if p.GetTrial() {
		price = 0
	}
	amount := price - p.GetCreditApplied()
	due, paid := int64(0), int64(0)
	isRight := true
	switch p.GetPaymentStatus() {
	case subscriptionv1.PaymentStatus_PAYMENT_STATUS_DUE, subscriptionv1.PaymentStatus_PAYMENT_STATUS_FAILED:
		due = amount
	case subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID:
		paid = amount
	case subscriptionv1.PaymentStatus_PAYMENT_STATUS_NOT_DUE:
		isRight = amount == 0
	}
	if !isRight || p.GetPrice() != price || p.GetAmountDue() != due || p.GetPayment().GetAmount() != paid || p.GetUnusedValue() > paid+p.GetCreditApplied() {
		return fmt.Errorf("period %d is %v, want the price %d, due %d, paid %d", p.GetNumber(), p, price, due, paid)
	}
	return nil
}

// checkAnswers compares the payments of a subscription with the recorded answers.
func (s *subscriber) checkAnswers(a *account) error {
	var faults []error
	for _, p := range a.periods {
		if got, want := p.GetPayment().GetAmount(), s.paid[p.GetNumber()]; got != want {
			faults = append(faults, fmt.Errorf("%d were paid for period %d, want %d", got, p.GetNumber(), want))
		}
	}
	for number := range s.paid {
		if int(number) > len(a.periods) {
			faults = append(faults, fmt.Errorf("period %d was paid and does not exist", number))
		}
	}
	return errors.Join(faults...)
}

// checkPass checks that each period is in the ledger of the pass exactly once, with the numbers that the
// period has, and that the ledger adds up.
func checkPass(a *account) error {
	switch {
	case a.pass == nil && a.GetCustomerPassId() == "":
		return nil
	case a.pass == nil || a.pass.GetId() != a.GetCustomerPassId() || a.pass.GetCustomerId() != a.GetCustomerId():
		return fmt.Errorf("the pass %q is %v", a.GetCustomerPassId(), a.pass)
	}
	var faults []error
	granted, expired, times := map[int32]int32{}, map[int32]int32{}, map[int32]int{}
	var balance int32
	for _, e := range a.ledger {
		balance += e.GetCredits()
		if e.GetBalance() != balance || balance < 0 {
			faults = append(faults, fmt.Errorf("after entry %d, the balance is %d, want %d", e.GetSequence(), e.GetBalance(), balance))
		}
		switch e.GetKind() {
		case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED:
			granted[e.GetPeriod()] += e.GetCredits()
			times[e.GetPeriod()]++
		case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED:
			expired[e.GetPeriod()] -= e.GetCredits()
		}
	}
	if a.pass.GetRemainingUses() != balance || isEnded(a) != (a.pass.GetStatus() == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED) {
		faults = append(faults, fmt.Errorf("the pass is %v, the ledger has %d, the subscription is %s", a.pass, balance, a.GetStatus()))
	}
	for _, p := range a.periods {
		faults = append(faults, checkGrant(a, p, granted[p.GetNumber()], expired[p.GetNumber()], times[p.GetNumber()]))
	}
	for number := range times {
		if int(number) > len(a.periods) {
			faults = append(faults, fmt.Errorf("period %d was granted and does not exist", number))
		}
	}
	return errors.Join(faults...)
}

// unlimitedBalance is the number of credits that a pass with unlimited uses shows.
const unlimitedBalance = 999_999

// checkGrant compares a period with what the ledger has for it. The entry of a period with unlimited uses
// fills the balance, and the entry after it removes what is left, which is not counted as expired.
func checkGrant(a *account, p *subscriptionv1.Period, granted, expired int32, times int) error {
	if !p.GetGranted() || times > 1 || times == 0 && p.GetCreditsGranted() > 0 {
		return fmt.Errorf("period %d is granted: %t, the ledger has it %d times", p.GetNumber(), p.GetGranted(), times)
	}
	if granted != p.GetCreditsGranted() && (p.GetCreditsGranted() != 0 || granted > unlimitedBalance) {
		return fmt.Errorf("period %d has %d credits, the ledger %d", p.GetNumber(), p.GetCreditsGranted(), granted)
	}
	last := int(p.GetNumber()) == len(a.periods) && isEnded(a)
	if expired != p.GetCreditsExpired() && !last && expired < unlimitedBalance {
		return fmt.Errorf("%d credits expired when period %d began, in the ledger %d", p.GetCreditsExpired(), p.GetNumber(), expired)
	}
	return nil
}
