package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

// NewSubscription is a request to start a subscription.
type NewSubscription struct {
	ID        id.Subscription
	Customer  id.Customer
	StartDay  *time.Time // nil: today
	SkipTrial bool
	Payment   *Payment // of the first period; nil: it becomes due
}

// Start starts a subscription. Periods after the first that would have begun since the start day begin
// too, oldest first. The payment is that of the first period only. Refusal: PLAN_NOT_ACTIVE.
func Start(in NewSubscription, plan Plan, settings Settings, now time.Time, zone *time.Location) (*Record, []Step, error) {
	c := Clock{Now: now, Zone: zone, Settings: settings}
	day, trial := c.today(), plan.TrialDays > 0 && !in.SkipTrial
	set(&day, in.StartDay)
	if err := in.check(day, c.today(), trial); err != nil {
		return nil, nil, err
	}
	if err := notActive(&plan); err != nil {
		return nil, nil, err
	}
	if !trial {
		if err := in.Payment.checkAmount(plan.Price); err != nil {
			return nil, nil, err
		}
	}
	r := newRecord(in.ID, in.Customer, plan, now)
	r.StartDay = day
	step := r.step(StepCreated, CauseAction, now, now, func() { r.begin(r.first(day, plan, trial), in.Payment, c) })
	caused, err := r.Advance(now, zone, settings, nil, maxCaused)
	if err != nil {
		return nil, nil, err
	}
	return r, append([]Step{step}, caused...), nil
}

// newRecord returns a subscription to a plan, without periods.
func newRecord(subscription id.Subscription, customer id.Customer, plan Plan, now time.Time) *Record {
	r := Load(Subscription{ID: subscription, CustomerID: customer, CreatedAt: now, UpdatedAt: now}, nil)
	r.takePlan(plan)
	return r
}

// first returns the days of the first period, which is a trial or lies on the grid. The minimum term begins
// after a trial.
func (r *Record) first(day time.Time, plan Plan, trial bool) Period {
	p := newGrid(day, r.Terms).period(0)
	if trial {
		p.Trial, p.TrialDays = true, plan.TrialDays
		p.FirstDay, p.LastDay = p.planned()
		r.TermFrom++
	}
	return p
}

func (in *NewSubscription) check(day, today time.Time, trial bool) error {
	var f check.Fields
	if day.After(today) || day.Before(addDays(today, -maxStartDaysAgo)) {
		f.Add("start_date", "range", fmt.Sprintf("must be today or at most %d days ago", maxStartDaysAgo))
	}
	if in.Payment != nil {
		if in.Payment.check(&f); trial {
			f.Add("payment", "exclusive", "must not be given with a trial, which costs nothing")
		}
	}
	return f.Err()
}
