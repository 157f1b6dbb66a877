package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
)

// PlanChangeRequest is a request to change the plan, at the end of the current period or now.
type PlanChangeRequest struct {
	Plan        Plan
	Now         bool
	Payment     *Payment // only with Now
	CreditsLeft int32    // of the customer pass; needed if both Now and the current plan has credits
}

// ChangePlan changes the plan or schedules the change. Refusals: SUBSCRIPTION_ENDED, SUBSCRIPTION_PAUSED,
// SUBSCRIPTION_ENDING, PLAN_NOT_ACTIVE, CURRENCY_MISMATCH, SAME_PLAN, PAYMENT_DUE.
//
// A change now ends the current period yesterday and begins one of the new plan today (invariant 9). On the
// first day of a period this leaves an empty period, because its number may have been granted. A change
// during a trial ends the trial: its unused value is 0, and the new plan has no trial. A change to a plan
// without bookings lets all credits expire, and a change back grants those of its first period.
func (r *Record) ChangePlan(c Clock, in PlanChangeRequest) ([]Step, error) {
	if err := r.checkPlanChange(&in); err != nil {
		return nil, err
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		if !in.Now {
			return w.updated(c, func() { w.NextPlanID = &in.Plan.ID }), nil
		}
		if err := in.Payment.checkAmount(in.Plan.Price - w.creditFor(in, c)); err != nil {
			return nil, err
		}
		return []Step{w.step(StepRenewed, CauseAction, c.Now, c.Now, func() { w.changeNow(c, in) })}, nil
	})
}

func (r *Record) checkPlanChange(in *PlanChangeRequest) error {
	var f check.Fields
	switch {
	case in.Payment == nil:
	case !in.Now:
		f.Add("payment", "exclusive", "can only be given with a change now")
	default:
		in.Payment.check(&f)
	}
	if f.Len() > 0 {
		return f.Err()
	}
	return r.refusePlanChange(in)
}

func (r *Record) refusePlanChange(in *PlanChangeRequest) error {
	switch {
	case r.EndReason != NotEnded:
		return r.ended()
	case r.Paused:
		return fault.Refuse(ReasonSubscriptionPaused, "the subscription is paused")
	case r.LastPeriod > 0:
		return r.ending()
	case in.Plan.Status != PlanActive:
		return notActive(&in.Plan)
	case in.Plan.Currency != r.Currency:
		return fault.Refuse(ReasonCurrencyMismatch, "the currency of the plan differs from that of the subscription").With("currency", r.Currency)
	case in.Now && in.Plan.ID == r.PlanID:
		return fault.Refuse(ReasonSamePlan, "the subscription already has this plan; its current terms can be taken over at the end of a period")
	case in.Now && r.AmountDue > 0:
		return fault.Refuse(ReasonPaymentDue, "a payment is due; record it first, or change the plan at the end of the period")
	}
	return nil
}

// changeNow ends the current period yesterday and begins a period of the new plan today.
func (r *Record) changeNow(c Clock, in PlanChangeRequest) {
	today, p := c.today(), r.current()
	value := r.unused(today, in.CreditsLeft)
	stay := r.stay(in, value)
	r.creditUnused(value, c)
	p.LastDay, p.CutShort = addDays(today, -1), true
	r.takePlan(in.Plan)
	r.NextPlanID = nil
	next := newGrid(today, r.Terms).period(0)
	r.begin(next, in.Payment, c)
	r.current().MaxRollover = stay
}

// stay returns how many unused credits stay, at most, after a change now. Credits of the current period
// that become account credit do not stay too.
func (r *Record) stay(in PlanChangeRequest, value int64) int32 {
	if value == 0 || r.Bookings != BookingsCredits {
		return in.Plan.MaxRollover
	}
	return min(in.Plan.MaxRollover, max(in.CreditsLeft-r.Credits, 0))
}

// creditFor returns how much of the first period's price account credit pays, in minor units.
func (r *Record) creditFor(in PlanChangeRequest, c Clock) int64 {
	credit := r.AccountCredit
	if in.Now {
		credit += r.unused(c.today(), in.CreditsLeft)
	}
	return min(credit, in.Plan.Price)
}

// PlanChangePreview is what a change of plan would do. Money is in minor units.
type PlanChangePreview struct {
	On                                                                   time.Time
	UnusedValue, Price, CreditApplied, AmountDue, AccountCredit          int64
	Currency                                                             string
	RemainingCredits, CreditsExpired, CreditsCarriedOver, CreditsGranted int32
}

// PreviewPlanChange returns what ChangePlan would do, and refuses what it refuses. It changes nothing. For a
// change at the end of the period, it assumes that no more credits are used until then.
func (r *Record) PreviewPlanChange(c Clock, in PlanChangeRequest) (PlanChangePreview, error) {
	if err := r.checkPlanChange(&in); err != nil {
		return PlanChangePreview{}, err
	}
	out := PlanChangePreview{On: addDays(r.current().LastDay, 1), Price: in.Plan.Price, Currency: in.Plan.Currency}
	if in.Now {
		out.On, out.UnusedValue = c.today(), r.unused(c.today(), in.CreditsLeft)
	}
	out.CreditApplied = r.creditFor(in, c)
	out.AmountDue = out.Price - out.CreditApplied
	out.AccountCredit = r.AccountCredit + out.UnusedValue - out.CreditApplied
	out.CreditsGranted = in.Plan.Credits
	if r.Bookings == BookingsUnlimited {
		return out, nil // nothing stays when unlimited uses end
	}
	out.RemainingCredits = in.CreditsLeft
	if in.Plan.Bookings == BookingsCredits {
		out.CreditsCarriedOver = min(r.stay(in, out.UnusedValue), max(in.CreditsLeft, 0))
	}
	out.CreditsExpired = out.RemainingCredits - out.CreditsCarriedOver
	return out, nil
}

// WithdrawPlanChange withdraws a scheduled change of plan. Refusal: NO_PLAN_CHANGE.
func (r *Record) WithdrawPlanChange(c Clock) ([]Step, error) {
	if r.NextPlanID == nil {
		return nil, fault.Refuse(ReasonNoPlanChange, "no change of plan is scheduled")
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return w.updated(c, func() { w.NextPlanID = nil }), nil
	})
}
