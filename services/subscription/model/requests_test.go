package model

import (
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// rules returns "field rule" of each failed check, or the reason of another fault.
func rules(err error) string {
	if err == nil {
		return ""
	}
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return f.Reason
	}
	var out []string
	for _, field := range f.Fields {
		out = append(out, field.Field+" "+field.Rule)
	}
	return strings.Join(out, ", ")
}

func TestNewPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		change    func(in *PlanInput)
		want      string
	}{
		{"accepts a plan", func(in *PlanInput) {}, ""},
		{"requires a title", func(in *PlanInput) { in.Title = new(" ") }, "title required"},
		{"refuses a negative price", func(in *PlanInput) { in.Price = new(int64(-1)) }, "price range"},
		{"refuses a price whose sums are not exact", func(in *PlanInput) { in.Price = new(int64(MaxPrice + 1)) }, "price range"},
		{"refuses an unknown currency", func(in *PlanInput) { in.Currency = new("XXX") }, "currency enum"},
		{"requires a unit", func(in *PlanInput) { in.Unit = nil }, "interval_unit enum"},
		{"accepts 52 weeks", func(in *PlanInput) { in.Unit, in.Count = new(Week), new(int32(52)) }, ""},
		{"refuses 53 weeks", func(in *PlanInput) { in.Unit, in.Count = new(Week), new(int32(53)) }, "interval_count range"},
		{"refuses 25 months", func(in *PlanInput) { in.Count = new(int32(25)) }, "interval_count range"},
		{"refuses 6 years", func(in *PlanInput) { in.Unit, in.Count = new(Year), new(int32(6)) }, "interval_count range"},
		{"refuses a trial of 366 days", func(in *PlanInput) { in.TrialDays = new(int32(366)) }, "trial_days range"},
		{"refuses 121 minimum periods", func(in *PlanInput) { in.Minimum = new(int32(121)) }, "minimum_periods range"},
		{"requires credits with credits", func(in *PlanInput) { in.Bookings, in.Credits = new(BookingsCredits), nil }, "credits range"},
		{"refuses credits with unlimited bookings", func(in *PlanInput) { in.Bookings = new(BookingsUnlimited) }, "credits mismatch"},
		{"refuses a rollover without credits", func(in *PlanInput) { in.Credits, in.MaxRollover = nil, new(int32(1)) }, "max_rollover mismatch"},
		{"refuses an unknown event type", func(in *PlanInput) { in.EligibleEventTypes = &[]string{"class", "party"} }, "eligible_event_types[1] enum"},
		{"refuses an identifier that is not of a collection", func(in *PlanInput) { in.Collections = &[]string{"media_1"} }, "media_collection_ids[0] format"},
		{"refuses 51 collections", func(in *PlanInput) { in.Collections = new(make([]string, 51)) }, "media_collection_ids max_items"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			in := PlanInput{Title: new("Monthly"), Price: new(int64(100)), Unit: new(Month), Credits: new(int32(10))}
			c.change(&in)
			_, err := NewPlan(in, "GBP")
			equal(t, "the fault", rules(err), c.want)
		})
	}
}

func TestPlanDefaultsAndChanges(t *testing.T) {
	t.Parallel()
	col := id.New[id.Collection]()
	p, err := NewPlan(PlanInput{
		Title: new(" Monthly "), Unit: new(Month), Credits: new(int32(10)), MaxRollover: new(int32(2)), Count: new(int32(0)), Currency: new(""),
		EligibleEventTypes: &[]string{"class", "class"}, Collections: &[]string{col.String(), col.String()},
	}, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	want := Terms{Currency: "EUR", Unit: Month, Count: 1, Bookings: BookingsCredits, Credits: 10, MaxRollover: 2}
	equal(t, "the terms", p.Terms, want)
	equal(t, "the title", p.Title, "Monthly")
	if !slices.Equal(p.EligibleEventTypes, []string{"class"}) || !slices.Equal(p.Collections, []id.Collection{col}) {
		t.Errorf("lists %v and %v", p.EligibleEventTypes, p.Collections)
	}
	same, err := p.Changed(PlanInput{})
	if err != nil || !same.Equal(p) {
		t.Errorf("a change of nothing: %+v, %v", same, err)
	}
	unlimited, err := p.Changed(PlanInput{Bookings: new(BookingsUnlimited)})
	if err != nil || unlimited.Credits != 0 || unlimited.MaxRollover != 0 || unlimited.Equal(p) {
		t.Errorf("unlimited bookings: %+v, %v", unlimited, err)
	}
	_, err = p.Changed(PlanInput{Unit: new(Year), Count: new(int32(6)), Status: new(PlanStatus("gone"))})
	equal(t, "the fault", rules(err), "interval_count range, status enum")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		change    func(s *Settings)
		want      string
	}{
		{"accepts the defaults", func(s *Settings) {}, ""},
		{"accepts no end and no reminders", func(s *Settings) { s.EndAfterDays, s.ReminderDays = nil, nil }, ""},
		{"refuses 61 days", func(s *Settings) { s.PastDueAfterDays, s.GraceDays = 61, -1 }, "settings.past_due_after_days range, settings.grace_days range"},
		{"refuses an end on the same day", func(s *Settings) { s.EndAfterDays = new(int32(0)) }, "settings.end_after_days range"},
		{"refuses reminders that do not ascend", func(s *Settings) { s.ReminderDays = []int32{3, 3} }, "settings.reminder_days[1] order"},
		{"refuses a reminder after a year", func(s *Settings) { s.ReminderDays = []int32{366} }, "settings.reminder_days[0] range"},
		{"refuses 11 reminders", func(s *Settings) { s.ReminderDays = make([]int32, 11) }, "settings.reminder_days max_items"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			s := DefaultSettings()
			c.change(&s)
			equal(t, "the fault", rules(s.Check()), c.want)
		})
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 501)
	for _, c := range []struct {
		behaviour, want string
		request         func(w *world) error
	}{
		{"a start in the future", "start_date range", func(w *world) error {
			_, _, err := Start(NewSubscription{StartDay: new(day("2028-02-01"))}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a start 32 days ago", "start_date range", func(w *world) error {
			_, _, err := Start(NewSubscription{StartDay: new(day("2027-12-30"))}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a start with an archived plan", ReasonPlanNotActive, func(w *world) error {
			w.plan.Status = PlanArchived
			_, _, err := Start(NewSubscription{}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a payment with a trial", "payment exclusive", func(w *world) error {
			w.plan.TrialDays = 7
			_, _, err := Start(NewSubscription{Payment: &Payment{}}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a payment of another amount", "payment.amount mismatch", func(w *world) error {
			_, _, err := Start(NewSubscription{Payment: &Payment{Amount: new(int64(1))}}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a payment when nothing becomes due", "payment mismatch", func(w *world) error {
			w.plan.Price = 0
			_, _, err := Start(NewSubscription{Payment: &Payment{}}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"an unknown payment method", "payment.method enum", func(w *world) error {
			_, _, err := Start(NewSubscription{Payment: &Payment{Method: "FREE"}}, w.plan, w.settings, w.now, w.zone)
			return err
		}},
		{"a pause from yesterday on", "first_day min", func(w *world) error {
			_, err := w.start().r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-01-30"))})
			return err
		}},
		{"a pause in more than 3 years", "first_day range", func(w *world) error {
			_, err := w.start().r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2031-02-01"))})
			return err
		}},
		{"a pause without a day", "resumes_on min", func(w *world) error {
			_, err := w.start().r.Pause(w.clock(), PauseRequest{ResumesOn: new(day("2028-01-31"))})
			return err
		}},
		{"a reason that is too long", "reason max_length", func(w *world) error {
			_, err := w.start().r.Cancel(w.clock(), CancelRequest{Reason: long})
			return err
		}},
		{"a pause after the last day", ReasonSubscriptionEnding, func(w *world) error {
			w.start().did(w.r.Cancel(w.clock(), CancelRequest{}))
			_, err := w.r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-02-29"))})
			return err
		}},
		{"proration at the end of a period", "prorate exclusive", func(w *world) error {
			_, err := w.start().r.Cancel(w.clock(), CancelRequest{Prorate: true})
			return err
		}},
		{"a payment of a change at the end of a period", "payment exclusive", func(w *world) error {
			_, err := w.start().r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.otherPlan(), Payment: &Payment{}})
			return err
		}},
		{"a refund of 0", "amount min", func(w *world) error {
			_, err := w.start().r.RecordRefund(w.clock(), new(int64(0)), "CARD", "")
			return err
		}},
	} {
		t.Run("refuses "+c.behaviour, func(t *testing.T) {
			t.Parallel()
			equal(t, "the fault", rules(c.request(newWorld(t))), c.want)
		})
	}
}

func TestImport(t *testing.T) { // invariant 21
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		change    func(w *world, in *ImportedSubscription)
		want      string
	}{
		{"accepts a period that contains today", func(*world, *ImportedSubscription) {}, ""},
		{"requires a reference", func(_ *world, in *ImportedSubscription) { in.Reference = "" }, "reference required"},
		{"refuses a period that is over", func(_ *world, in *ImportedSubscription) { in.PeriodFirstDay = day("2027-12-31") }, "period_first_day range"},
		{"refuses a period to come", func(_ *world, in *ImportedSubscription) { in.PeriodFirstDay = day("2028-02-01") }, "period_first_day range"},
		{"refuses a start after the period", func(_ *world, in *ImportedSubscription) { in.StartDay = new(day("2028-01-15")) }, "start_date range"},
		{"refuses a day of the month that the period does not begin on", func(_ *world, in *ImportedSubscription) { in.AnchorDay = 31 }, "anchor_day mismatch"},
		{"refuses a day of the month with weeks", func(w *world, in *ImportedSubscription) {
			w.plan.Unit, w.plan.Count, in.AnchorDay = Week, 4, 14
		}, "anchor_day exclusive"},
		{"refuses a day of the month with a trial", func(w *world, in *ImportedSubscription) {
			w.plan.TrialDays, in.Trial, in.AnchorDay = 30, true, 14
		}, "anchor_day exclusive"},
		{"refuses a trial of a plan without one", func(_ *world, in *ImportedSubscription) { in.Trial = true }, "trial mismatch"},
		{"refuses a trial that is over, due or later", func(w *world, in *ImportedSubscription) {
			w.plan.TrialDays, in.Trial, in.PaymentDue, in.PeriodsBefore = 7, true, true, 1
		}, "period_first_day range, payment_due exclusive, periods_before exclusive"},
		{"refuses a last day in the past", func(_ *world, in *ImportedSubscription) { in.LastDay = new(day("2028-01-30")) }, "last_day min"},
		{"refuses a last day within a later period", func(_ *world, in *ImportedSubscription) { in.LastDay = new(day("2028-02-20")) }, "last_day mismatch"},
		{"accepts a last day within the period", func(_ *world, in *ImportedSubscription) { in.LastDay = new(day("2028-02-05")) }, ""},
		{"accepts the last day of a later period", func(_ *world, in *ImportedSubscription) { in.LastDay = new(day("2028-03-13")) }, ""},
		{"refuses too many credits", func(_ *world, in *ImportedSubscription) { in.RemainingCredits = 100_001 }, "remaining_credits range"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := ImportedSubscription{Reference: "old-1", PeriodFirstDay: day("2028-01-14"), RemainingCredits: 3}
			c.change(w, &in)
			r, err := Import(in, w.plan, w.settings, w.now, w.zone)
			if equal(t, "the fault", rules(err), c.want); err == nil {
				w.r = r
				w.verify()
				equal(t, "credits to grant", r.current().Credits, 3)
			}
		})
	}
}

func TestImportContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan.MinimumPeriods = 6
	w.now = StartOfDay(day("2028-04-30"), w.zone)
	in := ImportedSubscription{
		Reference: "old-1", PeriodFirstDay: day("2028-04-30"), AnchorDay: 31, PaymentDue: true, PeriodsBefore: 3, Price: new(int64(700)),
		StartDay: new(day("2027-12-31")),
	}
	r, err := Import(in, w.plan, w.settings, w.now, w.zone)
	if err != nil {
		t.Fatal(err)
	}
	w.r = r
	w.verify()
	equal(t, "amount due", r.AmountDue, 700)
	w.at("2028-04-30")
	equal(t, "events", kinds(w.steps), "")
	w.pay()
	w.at("2028-05-31").current(2, "2028-05-31", "2028-06-29")
	w.did(w.r.Cancel(w.clock(), CancelRequest{}))
	equal(t, "last day of the term", *w.r.LastDay, day("2028-07-30"))

	in.LastDay, in.AnchorDay = new(day("2028-05-10")), 0
	w.now = StartOfDay(day("2028-04-30"), w.zone)
	if w.r, err = Import(in, w.plan, w.settings, w.now, w.zone); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", w.r.Status, Ending)
	w.at("2028-05-03").at("2028-05-11").status(Ended)
	w.current(1, "2028-04-30", "2028-05-10")
}
