package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
)

// PauseRequest is a request to pause a subscription. The days are nil if they are not given.
type PauseRequest struct {
	FirstDay, ResumesOn *time.Time
	Reason              string
}

// Pause schedules or begins a pause. It replaces one that has not begun.
// Refusals: SUBSCRIPTION_ENDED, ALREADY_PAUSED, PAYMENT_DUE, SUBSCRIPTION_ENDING.
func (r *Record) Pause(c Clock, in PauseRequest) ([]Step, error) {
	first := c.today()
	set(&first, in.FirstDay)
	if err := in.check(first, c.today()); err != nil {
		return nil, err
	}
	if err := r.refusePause(first); err != nil {
		return nil, err
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return w.updated(c, func() {
			w.PauseFirstDay, w.PauseResumesOn, w.PauseReason = &first, in.ResumesOn, in.Reason
			w.Paused = !first.After(c.today())
		}), nil
	})
}

func (in *PauseRequest) check(first, today time.Time) error {
	var f check.Fields
	notBefore(&f, "first_day", first, today, today)
	if in.ResumesOn != nil {
		notBefore(&f, "resumes_on", *in.ResumesOn, addDays(first, 1), today)
	}
	f.Untrimmed("reason", in.Reason, 0, maxReason)
	return f.Err()
}

func (r *Record) refusePause(first time.Time) error {
	switch {
	case r.EndReason != NotEnded:
		return r.ended()
	case r.Paused:
		return fault.Refuse(ReasonAlreadyPaused, "the subscription is already paused")
	case r.PastDueSince != nil:
		return fault.Refuse(ReasonPaymentDue, "the subscription is past due; record the payment first")
	case r.LastPeriod > 0 && first.After(*r.LastDay):
		return r.ending()
	}
	return nil
}

// Resume ends a pause on a day, or withdraws a pause that has not begun; nil: today. A pause that has not
// begun is only shortened if the day is after its first day.
// Refusals: NOT_PAUSED, SUBSCRIPTION_ENDED.
func (r *Record) Resume(c Clock, on *time.Time) ([]Step, error) {
	today := c.today()
	day := today
	set(&day, on)
	var f check.Fields
	if notBefore(&f, "on", day, today, today); f.Len() > 0 {
		return nil, f.Err()
	}
	switch {
	case r.EndReason != NotEnded:
		return nil, r.ended()
	case r.PauseFirstDay == nil:
		return nil, fault.Refuse(ReasonNotPaused, "the subscription is not paused")
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return w.updated(c, func() { w.resume(day, today, c.Zone) }), nil
	})
}

func (r *Record) resume(day, today time.Time, zone *time.Location) {
	switch {
	case r.Paused && !day.After(today):
		r.finishPause(day, zone)
	case !r.Paused && !day.After(*r.PauseFirstDay):
		r.clearPause()
	default:
		r.PauseResumesOn = &day
	}
}

// finishPause resumes a paused subscription on a day (invariant 8). The current period, the last day and
// dunning move by the days of the pause. A scheduled end after the current period stays the end of the same
// period, so no shortened period is charged: its day is counted from the new boundaries.
func (r *Record) finishPause(on time.Time, zone *time.Location) {
	if !r.Paused {
		r.clearPause()
		return
	}
	first := *r.PauseFirstDay
	days := max(daysBetween(first, on), 0)
	p := r.current()
	p.PausedDays += int32(days)
	p.LastDay = addDays(p.LastDay, days)
	switch r.LastPeriod {
	case 0:
	case p.Number:
		r.LastDay = new(addDays(*r.LastDay, days))
	default:
		r.LastDay = new(r.lastDayOf(r.LastPeriod))
	}
	r.moveDunning(first, on, zone)
	r.clearPause()
}

// moveDunning moves the times of dunning by the days of a pause, or by those since they began to count in it.
func (r *Record) moveDunning(first, on time.Time, zone *time.Location) {
	days := func(since time.Time) int32 {
		from := DayOf(since, zone)
		if from.Before(first) {
			from = first
		}
		return int32(max(daysBetween(from, on), 0))
	}
	for i := range r.Loaded {
		if p := &r.Loaded[i]; p.AmountDue > 0 {
			p.DunningFrom = new(later(*p.DunningFrom, days(*p.DunningFrom), zone))
		}
	}
	if r.PastDueSince == nil {
		return
	}
	n := days(*r.PastDueSince)
	r.SuspendedFrom = new(later(*r.SuspendedFrom, n, zone))
	if r.UnpaidEndAt != nil {
		r.UnpaidEndAt = new(later(*r.UnpaidEndAt, n, zone))
	}
}

func (r *Record) clearPause() {
	r.Paused, r.PauseFirstDay, r.PauseResumesOn, r.PauseReason = false, nil, nil, ""
}
