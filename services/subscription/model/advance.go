package model

import (
	"errors"
	"time"
)

// Advance applies the steps that are due at now, in the order of their times, at most limit of them, and
// sets NextAt. It needs nextPlan, the plan with the id NextPlanID, if NextPlanID is set; otherwise nil.
//
// A step that was due earlier takes effect on its own day, so an outage delays periods and pauses and moves
// none. Dunning is different: each of its times counts from the commit that made the step before it, so
// that nobody becomes past due for a time in which nothing could be recorded (invariant 4).
func (r *Record) Advance(now time.Time, zone *time.Location, settings Settings, nextPlan *Plan, limit int) ([]Step, error) {
	w, c := r.clone(), Clock{Now: now, Zone: zone, Settings: settings, NextPlan: nextPlan}
	var steps []Step
	for {
		next, ok := w.schedule(zone)
		if !ok || next.at.After(now) || len(steps) >= limit {
			break
		}
		step, err := w.apply(next, c)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	*r = *w
	return steps, nil
}

// scheduled is a step that the subscription waits for.
type scheduled struct {
	at     time.Time
	cause  Cause
	period int32 // only for a reminder
}

// earliest collects the step that comes first. Of steps at the same time, the one added first counts.
type earliest struct {
	step  scheduled
	found bool
}

func (e *earliest) add(at time.Time, cause Cause, period int32) {
	if !e.found || at.Before(e.step.at) {
		e.step, e.found = scheduled{at: at, cause: cause, period: period}, true
	}
}

// nextStep returns the step that the subscription waits for. If several have the same time, the end comes
// first, then dunning, a pause and a renewal. So a pause from the day of a renewal on delays the renewal,
// and a subscription that becomes past due at the time of a renewal is not renewed.
func (r *Record) nextStep(zone *time.Location) (scheduled, bool) {
	var e earliest
	switch {
	case r.EndReason != NotEnded:
	case r.Paused:
		if r.PauseResumesOn != nil {
			e.add(StartOfDay(*r.PauseResumesOn, zone), CausePauseEnds, 0)
		}
	default:
		r.addRunning(&e, zone)
	}
	return e.step, e.found
}

// schedule sets NextAt to the time of the next step, and returns the step.
func (r *Record) schedule(zone *time.Location) (scheduled, bool) {
	next, ok := r.nextStep(zone)
	if r.NextAt = nil; ok {
		r.NextAt = &next.at
	}
	return next, ok
}

// addRunning adds the steps of a subscription that has not ended and is not paused.
func (r *Record) addRunning(e *earliest, zone *time.Location) {
	if r.LastPeriod > 0 {
		e.add(StartOfDay(addDays(*r.LastDay, 1), zone), CauseScheduledEnd, 0)
	}
	r.addDunning(e, zone)
	if r.PauseFirstDay != nil {
		e.add(StartOfDay(*r.PauseFirstDay, zone), CausePauseBegins, 0)
	}
	if r.canRenew() {
		e.add(StartOfDay(addDays(r.current().LastDay, 1), zone), CauseRenewal, 0)
	}
}

// canRenew reports whether the next period can begin when the current one is over (invariants 6 and 8).
func (r *Record) canRenew() bool { return r.renews() && !r.Paused && r.PastDueSince == nil }

// addDunning adds the steps of dunning.
func (r *Record) addDunning(e *earliest, zone *time.Location) {
	if r.UnpaidEndAt != nil {
		e.add(*r.UnpaidEndAt, CauseUnpaidEnd, 0)
	}
	if r.AmountDue == 0 {
		return
	}
	for i := range r.Loaded {
		p := &r.Loaded[i]
		if p.AmountDue > 0 && int(p.RemindersSent) < len(p.ReminderDays) {
			e.add(later(*p.DunningFrom, p.ReminderDays[p.RemindersSent], zone), CauseReminder, p.Number)
		}
	}
	for i := range r.Loaded {
		if p := &r.Loaded[i]; p.AmountDue > 0 && r.PastDueSince == nil {
			e.add(later(*p.DunningFrom, p.PastDueAfterDays, zone), CausePastDue, p.Number)
		}
	}
	if r.PastDueSince != nil && !r.Suspended {
		e.add(*r.SuspendedFrom, CauseSuspension, 0)
	}
}

// apply applies one step that is due.
func (r *Record) apply(s scheduled, c Clock) (Step, error) {
	switch s.cause {
	case CauseRenewal:
		return r.renew(c, addDays(r.current().LastDay, 1), s.at)
	case CauseReminder:
		return r.remind(s, c), nil
	case CauseScheduledEnd:
		return r.step(StepEnded, s.cause, s.at, c.Now, func() { r.end(EndCancelled, *r.LastDay, c) }), nil
	case CauseUnpaidEnd:
		return r.step(StepEnded, s.cause, s.at, c.Now, func() { r.end(EndUnpaid, c.today(), c) }), nil
	}
	return r.step(StepUpdated, s.cause, s.at, c.Now, func() {
		switch s.cause {
		case CausePauseBegins:
			r.Paused = true
		case CausePauseEnds:
			r.finishPause(*r.PauseResumesOn, c.Zone)
		case CausePastDue:
			r.becomePastDue(r.find(s.period), c)
		case CauseSuspension:
			r.Suspended = true
		}
	}), nil
}

// find returns the loaded period with a number; nil if there is none.
func (r *Record) find(number int32) *Period {
	for i := range r.Loaded {
		if r.Loaded[i].Number == number {
			return &r.Loaded[i]
		}
	}
	return nil
}

func (r *Record) remind(s scheduled, c Clock) Step {
	step := r.step(StepPaymentDue, s.cause, s.at, c.Now, func() { r.find(s.period).RemindersSent++ })
	step.Period = new(*r.find(s.period))
	return step
}

// becomePastDue makes the subscription past due for a period, from now on, with the settings that the period
// has kept. Every amount due then counts as overdue. A pause that has not begun is withdrawn.
func (r *Record) becomePastDue(p *Period, c Clock) {
	r.PastDueSince = &c.Now
	r.SuspendedFrom = new(later(c.Now, p.GraceDays, c.Zone))
	if p.EndAfterDays != nil {
		r.UnpaidEndAt = new(later(c.Now, *p.EndAfterDays, c.Zone))
	}
	if !r.Paused {
		r.clearPause()
	}
}

// clearPastDue ends dunning when nothing is due any more.
func (r *Record) clearPastDue() {
	if r.AmountDue == 0 {
		r.PastDueSince, r.SuspendedFrom, r.UnpaidEndAt, r.Suspended = nil, nil, nil, false
	}
}

// errNextPlan is returned if the caller has not read the plan of a scheduled change.
var errNextPlan = errors.New("the plan of the scheduled change was not read")

// renew begins the period that contains a day, which is the next one unless the subscription was past due
// (invariant 6). A scheduled change of plan takes effect, unless the currency of the plan has changed since:
// account credit could not pay in another one. An archived plan is accepted, because the change was agreed
// before.
func (r *Record) renew(c Clock, day, at time.Time) (Step, error) {
	if r.NextPlanID != nil && (c.NextPlan == nil || c.NextPlan.ID != *r.NextPlanID) {
		return Step{}, errNextPlan
	}
	return r.step(StepRenewed, CauseRenewal, at, c.Now, func() {
		if r.NextPlanID != nil && c.NextPlan.Currency == r.Currency {
			r.takePlan(*c.NextPlan)
		}
		r.NextPlanID = nil
		g, index := r.current().next(r.Terms)
		for !g.boundary(index + 1).After(day) {
			index++
			if r.LastPeriod > 0 {
				r.LastPeriod-- // the last day does not move
			}
		}
		r.begin(g.period(index), nil, c)
	}), nil
}

// takePlan gives the subscription the terms of a plan from the next period on. The minimum term begins
// with that period.
func (r *Record) takePlan(p Plan) {
	r.PlanID, r.PlanTitle, r.Collections, r.Terms = p.ID, p.Title, p.Collections, p.Terms
	r.TermFrom = r.Periods + 1
	r.HasPass = r.HasPass || p.Bookings != BookingsNone
}

// begin begins a period, whose days and place on the grid are set, with the terms of the subscription. A nil
// payment makes what account credit does not pay due. A price of 0 never becomes due.
func (r *Record) begin(p Period, in *Payment, c Clock) {
	r.Periods++
	p.Number, p.PlanID, p.Currency, p.CreatedAt = r.Periods, r.PlanID, r.Currency, c.Now
	p.Bookings, p.Credits, p.MaxRollover = r.Bookings, r.Credits, r.MaxRollover
	p.PaymentStatus = PaymentNotDue
	if !p.Trial {
		p.Price, p.CreditApplied = r.Price, r.applyCredit(r.Price)
	}
	if p.CreditApplied > 0 {
		r.entry(EntryApplied, -p.CreditApplied, 0, p.Number, c)
	}
	switch amount := p.Price - p.CreditApplied; {
	case amount == 0:
	case in != nil:
		p.paid(amount, *in, c)
	default:
		r.becomeDue(&p, amount, c)
	}
	r.Loaded = append(r.Loaded, p)
}

// becomeDue makes an amount of a period due from now on, with the settings of this time.
func (r *Record) becomeDue(p *Period, amount int64, c Clock) {
	p.AmountDue, p.PaymentStatus, p.DueAt, p.DunningFrom = amount, PaymentDue, &c.Now, &c.Now
	s := c.Settings
	p.PastDueAfterDays, p.GraceDays, p.ReminderDays, p.EndAfterDays = s.PastDueAfterDays, s.GraceDays, s.ReminderDays, s.EndAfterDays
	r.AmountDue += amount
}

// end ends the subscription with its last day (invariants 10 and 14). Amounts due are not collected, and
// account credit that is left becomes due as a refund.
func (r *Record) end(reason EndReason, lastDay time.Time, c Clock) {
	r.finishPause(c.today(), c.Zone)
	r.EndReason, r.EndedAt, r.LastDay = reason, &c.Now, &lastDay
	if p := r.current(); p.LastDay.After(lastDay) {
		p.LastDay, p.CutShort = lastDay, true
	}
	for i := range r.Loaded {
		if p := &r.Loaded[i]; p.AmountDue > 0 {
			p.AmountDue, p.PaymentStatus = 0, PaymentCancelled
		}
	}
	r.AmountDue, r.LastPeriod, r.NextPlanID = 0, 0, nil
	r.clearPastDue()
	if r.AccountCredit > 0 {
		r.entry(EntryRefundDue, -r.AccountCredit, r.AccountCredit, 0, c)
	}
}
