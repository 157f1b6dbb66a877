package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

// ImportedSubscription is one line of an import.
type ImportedSubscription struct {
	ID               id.Subscription
	Reference        string
	Customer         id.Customer
	PeriodFirstDay   time.Time
	StartDay         *time.Time // nil: PeriodFirstDay
	RemainingCredits int32
	Price            *int64 // nil: the price of the plan
	PaymentDue       bool
	AnchorDay        int32 // 0: the day of PeriodFirstDay
	Trial            bool
	PeriodsBefore    int32
	LastDay          *time.Time // nil: it renews
}

// Import returns the record of a subscription of an earlier system. A fault lists the fields of the line. An
// archived plan is accepted. The current period becomes the first one, with the credits that are left. It
// counts as paid unless PaymentDue is set; then it becomes due now. An import makes no steps, so a
// reminder of the first day is not sent.
func Import(in ImportedSubscription, plan Plan, settings Settings, now time.Time, zone *time.Location) (*Record, error) {
	c := Clock{Now: now, Zone: zone, Settings: settings}
	set(&plan.Price, in.Price)
	r := newRecord(in.ID, in.Customer, plan, now)
	p := r.first(in.PeriodFirstDay, plan, in.Trial)
	if in.AnchorDay != 0 && plan.Unit != Week {
		p.AnchorDay = in.AnchorDay
		p.FirstDay, p.LastDay = p.planned()
	}
	if err := in.check(&p, plan, c.today()); err != nil {
		return nil, err
	}
	r.Imported, r.Reference, r.StartDay, r.Version = true, &in.Reference, in.PeriodFirstDay, 1
	set(&r.StartDay, in.StartDay)
	r.TermFrom -= in.PeriodsBefore
	r.begin(p, in.payment(), c)
	r.current().imported(in)
	if err := r.importEnd(in); err != nil {
		return nil, err
	}
	v := r.View()
	r.Status = v.status()
	r.schedule(zone)
	return r, nil
}

// check checks a line and its current period, whose days follow from the plan.
func (in *ImportedSubscription) check(p *Period, plan Plan, today time.Time) error {
	var f check.Fields
	in.Reference = f.Line("reference", in.Reference, 1, maxReference)
	f.Range("remaining_credits", int64(in.RemainingCredits), 0, maxCredits)
	f.Range("price", plan.Price, 0, MaxPrice)
	f.Range("periods_before", int64(in.PeriodsBefore), 0, maxPeriodsBefore)
	in.checkAnchor(&f, p, plan)
	switch {
	case in.Trial:
		in.checkTrial(&f, plan, p, today)
	case today.Before(p.FirstDay) || today.After(p.LastDay):
		f.Add("period_first_day", "range", "must be today or earlier, within one interval of the plan")
	}
	if in.StartDay != nil && in.StartDay.After(in.PeriodFirstDay) {
		f.Add("start_date", "range", "must not be after period_first_day")
	}
	if in.LastDay != nil && in.LastDay.Before(today) {
		f.Add("last_day", "min", "must be today or later")
	}
	return f.Err()
}

func (in *ImportedSubscription) checkAnchor(f *check.Fields, p *Period, plan Plan) {
	switch f.Range("anchor_day", int64(in.AnchorDay), 0, 31); {
	case in.AnchorDay == 0:
	case plan.Unit == Week:
		f.Add("anchor_day", "exclusive", "must be 0 with an interval of weeks")
	case in.Trial:
		f.Add("anchor_day", "exclusive", "must be 0 with a trial, after which renewals are counted from its end")
	case !p.FirstDay.Equal(in.PeriodFirstDay):
		f.Add("anchor_day", "mismatch", "must be the day of period_first_day, or a later day that its month does not have")
	}
}

func (in *ImportedSubscription) checkTrial(f *check.Fields, plan Plan, p *Period, today time.Time) {
	switch {
	case plan.TrialDays == 0:
		f.Add("trial", "mismatch", "must not be set, because the plan has no trial")
	case today.Before(p.FirstDay) || today.After(p.LastDay):
		f.Add("period_first_day", "range", "must be today or earlier, within the trial of the plan")
	}
	if in.PaymentDue {
		f.Add("payment_due", "exclusive", "must not be set with a trial, which costs nothing")
	}
	if in.PeriodsBefore > 0 {
		f.Add("periods_before", "exclusive", "must be 0 with a trial, which is the first period")
	}
}

// payment returns the payment of the current period; nil if it is not paid.
func (in *ImportedSubscription) payment() *Payment {
	if in.PaymentDue {
		return nil
	}
	return &Payment{Method: money.MethodOther}
}

// imported sets the credits that are left in a period, and skips the reminder of the first day.
func (p *Period) imported(in ImportedSubscription) {
	if p.Bookings == BookingsCredits {
		p.Credits = in.RemainingCredits
	}
	if p.AmountDue > 0 && len(p.ReminderDays) > 0 && p.ReminderDays[0] == 0 {
		p.RemindersSent = 1
	}
}

// importEnd sets the end of a subscription that was cancelled: a day of the current period, or the last day
// of a later one.
func (r *Record) importEnd(in ImportedSubscription) error {
	if in.LastDay == nil {
		return nil
	}
	number := r.Periods
	for number <= maxMinimum && r.lastDayOf(number).Before(*in.LastDay) {
		number++
	}
	if day := r.lastDayOf(number); number > r.Periods && !day.Equal(*in.LastDay) {
		var f check.Fields
		f.Add("last_day", "mismatch", fmt.Sprintf(
			"must be in the current period, or the last day of one of the next %d periods", maxMinimum))
		return f.Err()
	}
	r.LastPeriod, r.LastDay, r.CancelledAt, r.CancelAtPeriodEnd = number, in.LastDay, &r.CreatedAt, true
	return nil
}
