package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
)

// CancelRequest is a request to cancel a subscription, at the end of the current period or now.
type CancelRequest struct {
	Now         bool
	Reason      string
	Prorate     bool // only with Now
	WaiveTerm   bool
	CreditsLeft int32 // of the customer pass; needed if Now, Prorate and the plan has credits
}

// Cancel cancels a subscription. Refusals: SUBSCRIPTION_ENDED, SUBSCRIPTION_ENDING, MINIMUM_TERM.
//
// A subscription always ends with a period, or now. Before its minimum term is over, it ends with the
// last period of the term, and renews until then; a trial ends on its last day (invariant 13). If it is
// past due and the current period is over, it ends today. A scheduled change of plan is withdrawn.
func (r *Record) Cancel(c Clock, in CancelRequest) ([]Step, error) {
	if err := r.checkCancel(in); err != nil {
		return nil, err
	}
	if in.Now && r.inTerm(in, c.today()) {
		last := r.lastDayOf(r.lastOfTerm())
		return nil, fault.Refuse(ReasonMinimumTerm, "the minimum term is not over").With("minimum_term_last_day", last.Format(time.DateOnly))
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		kind := StepUpdated
		if in.Now {
			kind = StepEnded
		}
		return []Step{w.step(kind, CauseAction, c.Now, c.Now, func() { w.cancel(c, in) })}, nil
	})
}

func (r *Record) checkCancel(in CancelRequest) error {
	var f check.Fields
	f.Untrimmed("reason", in.Reason, 0, maxReason)
	if in.Prorate && !in.Now {
		f.Add("prorate", "exclusive", "can only be set with a cancellation now")
	}
	switch {
	case f.Len() > 0:
		return f.Err()
	case r.EndReason != NotEnded:
		return r.ended()
	case !in.Now && r.LastPeriod > 0:
		return r.ending()
	}
	return nil
}

func (r *Record) cancel(c Clock, in CancelRequest) {
	r.CancelledAt, r.CancelReason, r.CancelAtPeriodEnd = &c.Now, in.Reason, !in.Now
	r.NextPlanID = nil
	if !in.Now {
		number, day := r.lastPeriod(in, c.today())
		r.LastPeriod, r.LastDay = number, &day
		return
	}
	if in.Prorate {
		r.finishPause(c.today(), c.Zone)
		r.creditUnused(r.unused(c.today(), in.CreditsLeft), c)
	}
	r.end(EndCancelled, c.today(), c)
}

// lastPeriod returns the number of the period with which a cancellation at the end of a period ends the
// subscription, and the last day.
func (r *Record) lastPeriod(in CancelRequest, today time.Time) (int32, time.Time) {
	number := r.Periods
	if r.inTerm(in, today) {
		number = r.lastOfTerm()
	}
	day := r.lastDayOf(number)
	if !r.Paused && day.Before(today) { // past due
		return r.Periods, today
	}
	return number, day
}

// lastOfTerm returns the number of the last period of the minimum term.
func (r *Record) lastOfTerm() int32 { return r.TermFrom + r.MinimumPeriods - 1 }

// lastDayOf returns the last day of the current period or a later one, without pauses to come.
func (r *Record) lastDayOf(number int32) time.Time {
	p := r.current()
	if number <= p.Number {
		return p.LastDay
	}
	g, index := p.next(r.Terms)
	return addDays(g.boundary(index+number-p.Number), -1)
}

// inTerm reports whether the minimum term keeps the subscription from ending. It is over after the last day
// of its last period, also if the subscription is past due then and that period never began.
func (r *Record) inTerm(in CancelRequest, today time.Time) bool {
	return !in.WaiveTerm && !r.current().Trial && r.termRuns(today)
}

func (r *Record) termRuns(today time.Time) bool {
	return r.MinimumPeriods > 0 && r.Periods <= r.lastOfTerm() && (r.Paused || !r.lastDayOf(r.lastOfTerm()).Before(today))
}

// CancellationPreview is what a cancellation would do. Money is in minor units.
type CancellationPreview struct {
	LastDay                    time.Time
	RefundDue, AmountCancelled int64
	Currency                   string
	MinimumTermApplies         bool
	MinimumTermLastDay         *time.Time // nil: there is no minimum term, or it is over
}

// PreviewCancellation returns what Cancel would do. It changes nothing. It does not refuse MINIMUM_TERM, but
// says that the term applies. At the end of a period, it expects that amounts due are paid and prices do
// not change.
func (r *Record) PreviewCancellation(c Clock, in CancelRequest) (CancellationPreview, error) {
	if err := r.checkCancel(in); err != nil {
		return CancellationPreview{}, err
	}
	today := c.today()
	out := CancellationPreview{Currency: r.Currency, MinimumTermApplies: r.inTerm(in, today)}
	if r.termRuns(today) {
		out.MinimumTermLastDay = new(r.lastDayOf(r.lastOfTerm()))
	}
	if !in.Now {
		var number int32
		number, out.LastDay = r.lastPeriod(in, today)
		out.RefundDue = max(r.AccountCredit-r.Price*int64(number-r.Periods), 0)
		return out, nil
	}
	w := r.clone()
	w.cancel(c, in)
	out.LastDay, out.RefundDue, out.AmountCancelled = today, w.RefundDue, r.AmountDue
	return out, nil
}

// WithdrawCancellation keeps a subscription that is ending. Refusals: SUBSCRIPTION_ENDED, NOT_ENDING.
func (r *Record) WithdrawCancellation(c Clock) ([]Step, error) {
	switch {
	case r.EndReason != NotEnded:
		return nil, r.ended()
	case r.LastPeriod == 0:
		return nil, fault.Refuse(ReasonNotEnding, "the subscription is not ending")
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return w.updated(c, func() {
			w.LastPeriod, w.LastDay = 0, nil
			w.CancelledAt, w.CancelReason, w.CancelAtPeriodEnd = nil, "", false
		}), nil
	})
}

// DeleteCustomer ends the subscription because its customer is deleted (invariant 16). It returns no steps if
// the subscription has ended.
func (r *Record) DeleteCustomer(c Clock) ([]Step, error) {
	if r.EndReason != NotEnded {
		return nil, nil
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return []Step{w.step(StepEnded, CauseAction, c.Now, c.Now, func() { w.end(EndCustomerDeleted, c.today(), c) })}, nil
	})
}
