package model

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// TestRules tells the life of one subscription for each rule.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		life      func(w *world)
	}{
		{"renews at month ends, counted from the anchor (invariant 2)", func(w *world) {
			w.start().current(1, "2028-01-31", "2028-02-28")
			w.at("2028-02-29").current(2, "2028-02-29", "2028-03-30")
			w.pay()
			w.at("2028-03-31").current(3, "2028-03-31", "2028-04-29")
		}},
		{"makes one period for a renewal, however often it is repeated (invariant 3)", func(w *world) {
			w.start().at("2028-02-29")
			equal(w.t, "events", kinds(w.steps), "renewed payment_due ")
			w.at("2028-02-29")
			equal(w.t, "events", kinds(w.steps), "")
		}},
		{"begins every period that an outage missed, and counts dunning from its end (invariant 4)", func(w *world) {
			w.plan.Unit = Week
			w.start().at("2028-02-29").current(5, "2028-02-28", "2028-03-05")
			w.status(Active)
			for _, p := range w.r.Loaded[1:] {
				equal(w.t, "due at", *p.DueAt, w.now)
			}
			w.at("2028-03-02").status(Active)
			w.at("2028-03-03").status(PastDue)
			equal(w.t, "amount due", w.r.AmountDue, 40_000)
		}},
		{"begins no period while past due, and then the one that contains the day (invariant 6)", func(w *world) {
			w.settings.EndAfterDays = nil
			w.start().at("2028-03-05").at("2028-03-08").status(PastDue)
			w.at("2028-06-15").current(2, "2028-02-29", "2028-03-30")
			w.pay()
			w.current(3, "2028-05-31", "2028-06-29")
			w.status(Active)
			equal(w.t, "events", kinds(w.steps), "payment_recorded updated renewed payment_due ")
			equal(w.t, "amount due", w.r.AmountDue, 10_000)
		}},
		{"cannot pay for bookings after the grace period until it is active again (invariant 7)", func(w *world) {
			w.start().at("2028-02-29").at("2028-03-03")
			v := w.r.View()
			state := v.PassState(nil, w.zone)
			equal(w.t, "status of the pass", state.Status, PassActive)
			equal(w.t, "unusable from", *state.UnusableFrom, *w.r.SuspendedFrom)
			w.at("2028-03-10")
			v = w.r.View()
			equal(w.t, "status of the pass", v.PassState(nil, w.zone).Status, PassPaused)
			w.pay()
			v = w.r.View()
			equal(w.t, "status of the pass", v.PassState(nil, w.zone).Status, PassActive)
		}},
		{"ends after the last step of dunning", func(w *world) {
			w.start().at("2028-02-29").at("2028-03-03").at("2028-04-02").status(Ended)
			equal(w.t, "reason", w.r.EndReason, EndUnpaid)
			equal(w.t, "amount due", w.r.AmountDue, 0)
			w.did(w.r.RecordPayment(w.clock(), 2, Payment{})) // invariant 14
			equal(w.t, "payment", w.r.find(2).PaymentStatus, PaymentPaid)
			w.refused(ReasonNoPaymentDue, func() ([]Step, error) { return w.r.RecordPayment(w.clock(), 2, Payment{}) })
		}},
		{"moves the period by the days of a pause, and counts from its new end (invariant 8)", func(w *world) {
			w.start().at("2028-02-10")
			w.did(w.r.Pause(w.clock(), PauseRequest{ResumesOn: new(day("2028-02-15"))}))
			w.status(Paused)
			w.at("2028-02-15").current(1, "2028-01-31", "2028-03-04")
			w.at("2028-03-05").current(2, "2028-03-05", "2028-04-04")
		}},
		{"delays a renewal by a pause that begins on its day (invariant 8)", func(w *world) {
			w.start()
			w.did(w.r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-02-29")), ResumesOn: new(day("2028-03-03"))}))
			w.at("2028-03-02").current(1, "2028-01-31", "2028-02-28")
			w.at("2028-03-03").current(2, "2028-03-03", "2028-04-02")
			equal(w.t, "paused days", w.r.find(1).PausedDays, 3)
		}},
		{"lets dunning and a scheduled end wait for a pause (invariant 8)", func(w *world) {
			w.start().at("2028-03-01") // the job was late; due since noon of 1 March
			w.did(w.r.Cancel(w.clock(), CancelRequest{}))
			w.did(w.r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-03-02")), ResumesOn: new(day("2028-03-12"))}))
			equal(w.t, "last day", *w.r.LastDay, day("2028-03-30"))
			w.at("2028-03-12").status(Ending)
			equal(w.t, "last day", *w.r.LastDay, day("2028-04-09"))
			w.at("2028-03-13").status(Ending)
			w.at("2028-03-14").status(PastDue)
		}},
		{"a pause that ends on its first day changes nothing", func(w *world) {
			w.start().at("2028-02-10")
			w.did(w.r.Pause(w.clock(), PauseRequest{}))
			w.did(w.r.Resume(w.clock(), nil))
			w.current(1, "2028-01-31", "2028-02-28")
			w.at("2028-02-29").current(2, "2028-02-29", "2028-03-30")
		}},
		{"withdraws a scheduled pause when it becomes past due", func(w *world) {
			w.start().at("2028-02-29")
			w.did(w.r.Pause(w.clock(), PauseRequest{FirstDay: new(day("2028-03-20"))}))
			w.at("2028-03-03").status(PastDue)
			w.refused(ReasonNotPaused, func() ([]Step, error) { return w.r.Resume(w.clock(), nil) })
		}},
		{"a change of plan during a trial ends it without value (invariant 9)", func(w *world) {
			w.plan.TrialDays = 14
			w.start().at("2028-02-05").status(Trialing)
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.otherPlan(), Now: true, CreditsLeft: 10}))
			w.current(2, "2028-02-05", "2028-03-04")
			equal(w.t, "unused value", w.r.find(1).UnusedValue, 0)
			equal(w.t, "amount due", w.r.AmountDue, 20_000)
			equal(w.t, "first period of the term", w.r.TermFrom, 2)
		}},
		{"a change of plan on the first day of a period leaves it empty (invariants 1 and 9)", func(w *world) {
			w.start()
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.otherPlan(), Now: true, CreditsLeft: 10}))
			equal(w.t, "last day", w.r.find(1).LastDay, day("2028-01-30"))
			equal(w.t, "unused value", w.r.find(1).UnusedValue, 10_000)
			equal(w.t, "credit applied", w.r.current().CreditApplied, 10_000)
			equal(w.t, "amount due", w.r.AmountDue, 10_000)
			equal(w.t, "credits that stay", w.r.current().MaxRollover, 0)
		}},
		{"a change of plan at the end of a period keeps the day of the month", func(w *world) {
			w.start()
			other := w.otherPlan()
			other.Count, w.next = 2, &other
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: other}))
			v := w.r.View()
			equal(w.t, "day of the change", *v.PlanChangeOn(), day("2028-02-29"))
			w.at("2028-02-29").current(2, "2028-02-29", "2028-04-29")
			v = w.r.View()
			equal(w.t, "day of the change after it", v.PlanChangeOn(), nil)
			w.next = nil
			equal(w.t, "plan", w.r.PlanID, other.ID)
		}},
		{"is not renewed if the plan of a scheduled change was not read", func(w *world) {
			w.start()
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.otherPlan()}))
			w.now = w.now.AddDate(0, 1, 0)
			w.refused(fault.ReasonInternal, func() ([]Step, error) { return w.r.Advance(w.now, w.zone, w.settings, &w.plan, 1) })
		}},
		{"a scheduled change to a plan whose currency has changed is dropped", func(w *world) {
			w.start()
			other := w.otherPlan()
			w.next = &other
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: other}))
			w.next = &Plan{ID: other.ID, Terms: Terms{Currency: "EUR"}}
			w.at("2028-02-29")
			equal(w.t, "plan", w.r.PlanID, w.plan.ID)
			equal(w.t, "scheduled", w.r.NextPlanID, nil)
		}},
		{"grants nothing for a plan without bookings, and credits again afterwards", func(w *world) {
			w.start()
			none := w.otherPlan()
			none.Bookings, none.Credits, none.MaxRollover = BookingsNone, 0, 0
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: none, Now: true, Payment: &Payment{}}))
			w.at("2028-02-10")
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: w.plan, Now: true}))
			v := w.r.View()
			grants := v.PassState(w.r.Loaded, w.zone).Grants
			equal(w.t, "second grant", grants[1], Grant{Period: 2, FirstDay: day("2028-01-31")})
			equal(w.t, "third grant", grants[2], Grant{Period: 3, Credits: 10, MaxRollover: 4, FirstDay: day("2028-02-10")})
		}},
		{"account credit larger than the price pays for several renewals, and the rest is refunded (invariant 10)", func(w *world) {
			w.plan.Price, w.plan.Unit = 100_000, Year
			w.start()
			cheap := w.otherPlan()
			w.did(w.r.ChangePlan(w.clock(), PlanChangeRequest{Plan: cheap, Now: true, CreditsLeft: 10}))
			equal(w.t, "account credit", w.r.AccountCredit, 80_000)
			w.at("2028-02-29")
			equal(w.t, "payment", w.r.current().PaymentStatus, PaymentNotDue)
			equal(w.t, "account credit", w.r.AccountCredit, 60_000)
			w.did(w.r.Cancel(w.clock(), CancelRequest{Now: true}))
			equal(w.t, "refund due", w.r.RefundDue, 60_000)
			w.refused(ReasonNoRefundDue, func() ([]Step, error) { return w.r.RecordRefund(w.clock(), new(int64(60_001)), "CARD", "") })
			w.did(w.r.RecordRefund(w.clock(), new(int64(50_000)), "CARD", "re_1"))
			equal(w.t, "refund due", w.r.RefundDue, 10_000)
			equal(w.t, "refunded", w.r.RefundedAmount, 50_000)
		}},
		{"a price of 0 is never due (invariant 11)", func(w *world) {
			w.plan.Price = 0
			w.start().at("2028-05-01").current(4, "2028-04-30", "2028-05-30")
			equal(w.t, "payment", w.r.current().PaymentStatus, PaymentNotDue)
			w.status(Active)
			w.refused(ReasonNoPaymentDue, func() ([]Step, error) { return w.r.RecordFailure(w.clock(), 4, "") })
		}},
		{"ends with the last period of the minimum term (invariant 13)", func(w *world) {
			w.plan.MinimumPeriods, w.plan.Price = 3, 0
			w.start()
			w.refused(ReasonMinimumTerm, func() ([]Step, error) { return w.r.Cancel(w.clock(), CancelRequest{Now: true}) })
			w.did(w.r.Cancel(w.clock(), CancelRequest{}))
			equal(w.t, "last day", *w.r.LastDay, day("2028-04-29"))
			w.at("2028-04-29").current(3, "2028-03-31", "2028-04-29")
			w.status(Ending)
			w.at("2028-04-30").status(Ended)
			w.current(3, "2028-03-31", "2028-04-29")
		}},
		{"ends with the period if the minimum term is waived (invariant 13)", func(w *world) {
			w.plan.MinimumPeriods = 3
			w.start()
			w.did(w.r.Cancel(w.clock(), CancelRequest{WaiveTerm: true}))
			w.at("2028-02-29").status(Ended)
		}},
		{"a trial with a minimum term after it can be cancelled at its end", func(w *world) {
			w.plan.MinimumPeriods, w.plan.TrialDays = 3, 7
			w.start()
			w.did(w.r.Cancel(w.clock(), CancelRequest{}))
			equal(w.t, "last day", *w.r.LastDay, day("2028-02-06"))
		}},
		{"ends today if it is cancelled while past due after its period", func(w *world) {
			w.settings.EndAfterDays = nil
			w.start().at("2028-02-29").at("2028-03-03").at("2028-05-10")
			w.did(w.r.Cancel(w.clock(), CancelRequest{}))
			w.pay()
			w.current(2, "2028-02-29", "2028-03-30")
			w.at("2028-05-11").status(Ended)
		}},
		{"is final after its end (invariant 14)", func(w *world) {
			w.start()
			w.did(w.r.DeleteCustomer(w.clock()))
			equal(w.t, "reason", w.r.EndReason, EndCustomerDeleted)
			w.refused(ReasonSubscriptionEnded, func() ([]Step, error) { return w.r.Pause(w.clock(), PauseRequest{}) })
			w.refused(ReasonSubscriptionEnded, func() ([]Step, error) { return w.r.WithdrawCancellation(w.clock()) })
			w.at("2028-12-01")
			equal(w.t, "events", kinds(w.steps), "")
			w.did(w.r.DeleteCustomer(w.clock()))
			equal(w.t, "events", kinds(w.steps), "")
		}},
		{"a sale entered later begins the periods since", func(w *world) {
			w.plan.Unit = Week
			w.startWith(NewSubscription{StartDay: new(day("2027-12-31")), Payment: &Payment{}})
			w.current(5, "2028-01-28", "2028-02-03")
			equal(w.t, "events", kinds(w.steps[:5]), "created renewed renewed renewed renewed ")
			equal(w.t, "amount due", w.r.AmountDue, 40_000)
		}},
		{"actions fail if the job is behind and was not run before", func(w *world) {
			w.start()
			w.now = w.now.AddDate(0, 2, 0)
			w.refused(fault.ReasonInternal, func() ([]Step, error) { return w.r.Pause(w.clock(), PauseRequest{}) })
		}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			c.life(newWorld(t))
		})
	}
}

// otherPlan returns a monthly plan for 200.00.
func (w *world) otherPlan() Plan {
	p := w.plan
	p.ID, p.Price, p.Unit, p.Count, p.TrialDays = id.New[id.Plan](), 20_000, Month, 1, 0
	return p
}

func TestUnusedValue(t *testing.T) { // invariant 9
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		plan      func(p *Plan)
		on        string
		left      int32
		want      int64
	}{
		{"on the first day is everything", nil, "2028-01-31", 10, 10_000},
		{"is the share of days, today included, rounded down", nil, "2028-02-10", 10, 6551}, // 19 of 29 days
		{"is the share of credits if that is smaller", nil, "2028-02-10", 3, 3000},
		{"does not count credits of earlier periods", nil, "2028-01-31", 14, 10_000},
		{"is 0 without credits left", nil, "2028-02-10", 0, 0},
		{"is the share of the last day", nil, "2028-02-28", 10, 344},
		{"is the share of days of an unlimited plan", func(p *Plan) { p.Bookings, p.Credits, p.MaxRollover = BookingsUnlimited, 0, 0 }, "2028-02-10", 0, 6551},
		{"is within 64 bits at the largest price", func(p *Plan) { p.Price, p.Credits = MaxPrice, maxCredits }, "2028-01-31", maxCredits, MaxPrice},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.plan != nil {
				c.plan(&w.plan)
			}
			w.start().at(c.on)
			preview, err := w.r.PreviewCancellation(w.clock(), CancelRequest{Now: true, Prorate: true, CreditsLeft: c.left})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "refund due in the preview", preview.RefundDue, c.want)
			w.did(w.r.Cancel(w.clock(), CancelRequest{Now: true, Prorate: true, CreditsLeft: c.left}))
			equal(t, "refund due", w.r.RefundDue, c.want)
		})
	}
}

func TestPreviewCancellation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan.MinimumPeriods = 3
	w.start()
	p, err := w.r.PreviewCancellation(w.clock(), CancelRequest{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "last day", p.LastDay, day("2028-04-29"))
	equal(t, "the term applies", p.MinimumTermApplies, true)
	equal(t, "last day of the term", *p.MinimumTermLastDay, day("2028-04-29"))
	w.at("2028-02-29")
	if p, err = w.r.PreviewCancellation(w.clock(), CancelRequest{Now: true, WaiveTerm: true}); err != nil {
		t.Fatal(err)
	}
	equal(t, "amount cancelled", p.AmountCancelled, 10_000)
	equal(t, "the waived term applies", p.MinimumTermApplies, false)
	equal(t, "status after a preview", w.r.Status, Active)
}

func TestLaterPeriodsAreStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start()
	w.r = Load(w.r.Subscription, w.r.Loaded)
	w.now = w.now.Add(29 * 24 * time.Hour)
	if _, err := w.r.Advance(w.now, w.zone, w.settings, nil, 1); err != nil {
		t.Fatal(err)
	}
	if n, c := w.r.NewPeriods(), w.r.ChangedPeriods(); len(n) != 1 || n[0].Number != 2 || len(c) != 0 {
		t.Errorf("a renewal stores %d new and %d changed periods", len(n), len(c))
	}
	w.r = Load(w.r.Subscription, w.r.Loaded)
	w.at("2028-02-29")
	w.pay()
	if n, c := w.r.NewPeriods(), w.r.ChangedPeriods(); len(n) != 0 || len(c) != 1 || c[0].Number != 2 {
		t.Errorf("a payment stores %d new and %d changed periods", len(n), len(c))
	}
}
