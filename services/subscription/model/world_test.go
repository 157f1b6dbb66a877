package model

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// world is one subscription in London, with a store that keeps every period.
type world struct {
	t        *testing.T
	plan     Plan
	settings Settings
	next     *Plan // of a scheduled change
	now      time.Time
	zone     *time.Location
	r        *Record
	steps    []Step
}

// newWorld returns a world at noon of 31 January 2028, with a monthly plan of 10 credits for 100.00.
func newWorld(t *testing.T) *world {
	w := &world{t: t, settings: DefaultSettings(), zone: zoneOf(t, "Europe/London")}
	w.plan = Plan{ID: id.New[id.Plan](), Title: "Monthly", Status: PlanActive}
	w.plan.Terms = Terms{Price: 10_000, Currency: "GBP", Unit: Month, Count: 1, Bookings: BookingsCredits, Credits: 10, MaxRollover: 4}
	w.at("2028-01-31")
	return w
}

// at sets the time to noon of a day and, if the subscription has started, applies what is due.
func (w *world) at(date string) *world {
	w.now = StartOfDay(day(date), w.zone).Add(12 * time.Hour)
	if w.r != nil {
		steps, err := w.r.Advance(w.now, w.zone, w.settings, w.next, 1000)
		w.did(steps, err)
	}
	return w
}

func (w *world) clock() Clock {
	return Clock{Now: w.now, Zone: w.zone, Settings: w.settings, NextPlan: w.next}
}

// start starts a subscription whose first period is paid, unless it is a trial or free.
func (w *world) start() *world {
	in := NewSubscription{Payment: &Payment{Reference: "pi_1"}}
	if w.plan.TrialDays > 0 || w.plan.Price == 0 {
		in.Payment = nil
	}
	return w.startWith(in)
}

func (w *world) startWith(in NewSubscription) *world {
	w.t.Helper()
	r, steps, err := Start(in, w.plan, w.settings, w.now, w.zone)
	w.r = r
	w.did(steps, err)
	return w
}

func (w *world) did(steps []Step, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.steps = steps
	for i := range steps {
		if i > 0 && steps[i].Before.Version != steps[i-1].After.Version && steps[i].Kind != StepUpdated {
			w.t.Errorf("step %d begins with version %d after %d", i, steps[i].Before.Version, steps[i-1].After.Version)
		}
	}
	w.verify()
}

// verify checks everything that follows from the rows (invariants 1, 2, 10, 11 and 15).
func (w *world) verify() {
	w.t.Helper()
	if found, _ := Verify(w.r.Subscription, w.r.Loaded, w.r.Entries, w.zone); len(found) > 0 {
		w.t.Errorf("Verify: %+v", found)
	}
}

func (w *world) pay() { w.t.Helper(); w.did(w.r.RecordPayment(w.clock(), 0, Payment{})) }

func (w *world) status(want Status) {
	w.t.Helper()
	if w.r.Status != want {
		w.t.Errorf("on %s the status is %s, want %s", w.now.Format(time.DateOnly), w.r.Status, want)
	}
}

// current checks the current period: its number and its days.
func (w *world) current(number int32, first, last string) {
	w.t.Helper()
	p := w.r.current()
	if p.Number != number || p.FirstDay.Format(time.DateOnly) != first || p.LastDay.Format(time.DateOnly) != last {
		w.t.Errorf("current period %d %s to %s, want %d %s to %s", p.Number, p.FirstDay.Format(time.DateOnly), p.LastDay.Format(time.DateOnly),
			number, first, last)
	}
}

// refused checks the fault of an action, and that it has changed nothing.
func (w *world) refused(reason string, action func() ([]Step, error)) {
	w.t.Helper()
	before := w.r.View()
	steps, err := action()
	if f := fault.From(err); err == nil || f.Reason != reason || len(steps) > 0 {
		w.t.Errorf("got %v, want %s", err, reason)
	}
	if after := w.r.View(); after.Version != before.Version || after.Current.LastDay != before.Current.LastDay {
		w.t.Error("a refused action changed the subscription")
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func kinds(steps []Step) (out string) {
	for _, s := range steps {
		out += string(s.Kind) + " "
	}
	return out
}
