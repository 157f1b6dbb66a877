package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
)

// Reasons of refusals.
const (
	ReasonPlanNotActive      = "PLAN_NOT_ACTIVE"
	ReasonSubscriptionEnded  = "SUBSCRIPTION_ENDED"
	ReasonSubscriptionEnding = "SUBSCRIPTION_ENDING"
	ReasonSubscriptionPaused = "SUBSCRIPTION_PAUSED"
	ReasonAlreadyPaused      = "ALREADY_PAUSED"
	ReasonNotPaused          = "NOT_PAUSED"
	ReasonPaymentDue         = "PAYMENT_DUE"
	ReasonNoPaymentDue       = "NO_PAYMENT_DUE"
	ReasonCurrencyMismatch   = "CURRENCY_MISMATCH"
	ReasonSamePlan           = "SAME_PLAN"
	ReasonNoPlanChange       = "NO_PLAN_CHANGE"
	ReasonMinimumTerm        = "MINIMUM_TERM"
	ReasonNotEnding          = "NOT_ENDING"
	ReasonNoRefundDue        = "NO_REFUND_DUE"
)

// ended refuses an action because the subscription has ended (invariant 14).
func (r *Record) ended() error {
	return fault.Refuse(ReasonSubscriptionEnded, "the subscription has ended").With("ended_at", r.EndedAt.UTC().Format(time.RFC3339))
}

// ending refuses an action because the subscription is going to end.
func (r *Record) ending() error {
	return fault.Refuse(ReasonSubscriptionEnding, "the subscription ends on its last day").With("last_day", r.LastDay.Format(time.DateOnly))
}

func noPaymentDue() error {
	return fault.Refuse(ReasonNoPaymentDue, "no payment is due for this period")
}

// notActive refuses to subscribe to an archived plan.
func notActive(p *Plan) error {
	if p.Status == PlanActive {
		return nil
	}
	return fault.Refuse(ReasonPlanNotActive, "the plan is archived").With("status", string(p.Status))
}

// notBefore checks that a day in a request is not before the first one and at most maxPauseMonths ahead
// of today.
func notBefore(f *check.Fields, field string, day, first, today time.Time) {
	switch {
	case day.Before(first):
		f.Add(field, "min", "must be "+first.Format(time.DateOnly)+" or later")
	case day.After(monthDay(today, maxPauseMonths, today.Day())):
		f.Add(field, "range", fmt.Sprintf("must be at most %d years ahead", maxPauseMonths/12))
	}
}
