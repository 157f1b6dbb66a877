package model

import (
	"errors"
	"reflect"
	"slices"
	"time"
)

// Record is a subscription with the periods that a decision needs: the last one, those with an amount
// due and, for a late payment, the one that the request names. Actions change it in place. If an action
// fails, it changes nothing.
//
// An action expects that every step due at its time was applied before: call Advance first, until it
// returns no steps. It applies the steps that it causes itself, for example the renewal after a payment.
// Steps describe everything that happened, in order; the server publishes one event for each.
// The version is 1 higher after each step.
type Record struct {
	Subscription
	Loaded  []Period       // ascending by number; the last one is the current period
	Entries []AccountEntry // new ones, to be stored

	stored map[int32]Period // the periods as loaded
}

// Load returns the record of a stored subscription. The periods are in ascending order, and the last of
// them is the subscription's last one.
func Load(s Subscription, periods []Period) *Record {
	r := &Record{Subscription: s, Loaded: periods, stored: make(map[int32]Period, len(periods))}
	for _, p := range periods {
		r.stored[p.Number] = p
	}
	return r
}

// View returns the subscription with its current period.
func (r *Record) View() View { return View{Subscription: r.Subscription, Current: *r.current()} }

// NewPeriods returns the periods to be inserted, in ascending order.
func (r *Record) NewPeriods() []Period {
	return r.selected(func(p *Period, stored bool) bool { return !stored })
}

// ChangedPeriods returns the periods to be updated, in ascending order.
func (r *Record) ChangedPeriods() []Period {
	return r.selected(func(p *Period, stored bool) bool { return stored && !reflect.DeepEqual(*p, r.stored[p.Number]) })
}

func (r *Record) selected(keep func(p *Period, stored bool) bool) []Period {
	var out []Period
	for i := range r.Loaded {
		if _, stored := r.stored[r.Loaded[i].Number]; keep(&r.Loaded[i], stored) {
			out = append(out, r.Loaded[i])
		}
	}
	return out
}

func (r *Record) current() *Period { return &r.Loaded[len(r.Loaded)-1] }

// clone returns a copy of r that can be changed separately. Nothing changes a value that a pointer of r points to.
func (r *Record) clone() *Record {
	c := *r
	c.Loaded, c.Entries = slices.Clone(r.Loaded), slices.Clone(r.Entries)
	return &c
}

// StepKind is the event of a step.
type StepKind string

// Values of StepKind. The names are those of the events: subscription_created and so on.
const (
	StepCreated         StepKind = "created"
	StepUpdated         StepKind = "updated"
	StepRenewed         StepKind = "renewed"
	StepPaymentDue      StepKind = "payment_due"
	StepPaymentRecorded StepKind = "payment_recorded"
	StepEnded           StepKind = "ended"
)

// Step is one change of a subscription, with an event of its own.
type Step struct {
	Kind   StepKind
	Cause  Cause
	At     time.Time // when it was due; the time of the action otherwise
	Before View      // empty for StepCreated
	After  View
	Period *Period // only for StepPaymentDue and StepPaymentRecorded: the period after the step
	// Movements are the amounts that were paid or refunded with the step.
	Movements []Movement
}

// Cause is what made a step happen, for logs, metrics and tests.
type Cause string

// Values of Cause.
const (
	CauseAction       Cause = "action"
	CauseRenewal      Cause = "renewal" // also the end of a trial, with or without a change of plan
	CausePauseBegins  Cause = "pause_begins"
	CausePauseEnds    Cause = "pause_ends"
	CauseReminder     Cause = "reminder"
	CausePastDue      Cause = "past_due"
	CauseSuspension   Cause = "suspension"
	CauseUnpaidEnd    Cause = "unpaid_end"
	CauseScheduledEnd Cause = "scheduled_end"
)

// Clock is the time of an action with what its consequences need.
type Clock struct {
	Now      time.Time
	Zone     *time.Location // of the company
	Settings Settings
	NextPlan *Plan // the plan with the id NextPlanID, if it is set
}

// today returns the day of the action in the company's zone.
func (c Clock) today() time.Time { return DayOf(c.Now, c.Zone) }

// errNotAdvanced is returned if a step was due before an action and Advance has not applied it.
var errNotAdvanced = errors.New("a step is due that was not applied before the action")

// act applies an action: all of it, or nothing if it fails.
func (r *Record) act(c Clock, action func(w *Record) ([]Step, error)) ([]Step, error) {
	if next, ok := r.nextStep(c.Zone); ok && !next.at.After(c.Now) {
		return nil, errNotAdvanced
	}
	w := r.clone()
	steps, err := action(w)
	if err != nil {
		return nil, err
	}
	caused, err := w.settle(c)
	if err != nil {
		return nil, err
	}
	*r = *w
	return append(steps, caused...), nil
}

// maxCaused bounds the steps that an action causes. The job applies any others.
const maxCaused = 1000

// settle applies the steps that an action has caused. If the current period is over, because the
// subscription was past due, only the period that contains today begins (invariant 6).
func (r *Record) settle(c Clock) ([]Step, error) {
	var steps []Step
	if p := r.current(); r.canRenew() && p.LastDay.Before(c.today()) {
		step, err := r.renew(c, c.today(), c.Now)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	more, err := r.Advance(c.Now, c.Zone, c.Settings, c.NextPlan, maxCaused)
	return append(steps, more...), err
}

// step applies a change and describes it.
func (r *Record) step(kind StepKind, cause Cause, at, now time.Time, change func()) Step {
	s := Step{Kind: kind, Cause: cause, At: at}
	if r.Version > 0 {
		s.Before = r.View()
	}
	before := r.Movements()
	change()
	s.Movements = r.addedTo(before)
	r.Version, r.UpdatedAt = r.Version+1, now
	s.After = r.View()
	s.After.Status = s.After.status()
	r.Status = s.After.Status
	return s
}

// updated applies the change of an action that has no event of its own.
func (r *Record) updated(c Clock, change func()) []Step {
	return []Step{r.step(StepUpdated, CauseAction, c.Now, c.Now, change)}
}
