package subscription

import (
	"context"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// actions call each action with few parameters.
var actions = map[string]func(w *world, ctx context.Context, s string, version *int64) (*subscriptionv1.Subscription, error){
	"pause": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.PauseSubscription(ctx, &subscriptionv1.PauseSubscriptionRequest{Id: s, Reason: "abroad", ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"resume": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.ResumeSubscription(ctx, &subscriptionv1.ResumeSubscriptionRequest{Id: s, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"withdraw the change of plan": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.WithdrawPlanChange(ctx, &subscriptionv1.WithdrawPlanChangeRequest{Id: s, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"change to a new plan": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s, PlanId: w.plan().GetId(), ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"change to a new plan now": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s, PlanId: w.plan().GetId(), When: atOnce, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"change to a plan in euros": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		euros := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Currency = "EUR" })
		res, err := w.client.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s, PlanId: euros.GetId(), ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"change to the same plan now": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s, PlanId: w.get(s).GetPlanId(), When: atOnce, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"cancel": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.CancelSubscription(ctx, &subscriptionv1.CancelSubscriptionRequest{Id: s, Reason: "moved", ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"cancel now": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.CancelSubscription(ctx, &subscriptionv1.CancelSubscriptionRequest{Id: s, When: atOnce, Prorate: true, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"keep": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.WithdrawCancellation(ctx, &subscriptionv1.WithdrawCancellationRequest{Id: s, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"pay": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{Id: s, ExpectedVersion: v,
			Payment: &subscriptionv1.SubscriptionPayment{Method: "CASH", Reference: "till 3"}})
		return res.GetSubscription(), err
	},
	"pay a half": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{Id: s, ExpectedVersion: v,
			Payment: &subscriptionv1.SubscriptionPayment{Amount: new(int64(2500))}})
		return res.GetSubscription(), err
	},
	"pay the first period": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{Id: s, Period: 1, ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"fail": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.RecordPaymentFailure(ctx, &subscriptionv1.RecordPaymentFailureRequest{Id: s, Reason: "expired card", ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"waive": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.WaivePayment(ctx, &subscriptionv1.WaivePaymentRequest{Id: s, Reason: "goodwill", ExpectedVersion: v})
		return res.GetSubscription(), err
	},
	"refund": func(w *world, ctx context.Context, s string, v *int64) (*subscriptionv1.Subscription, error) {
		res, err := w.client.RecordRefund(ctx, &subscriptionv1.RecordRefundRequest{Id: s, Reference: "re_1", ExpectedVersion: v})
		return res.GetSubscription(), err
	},
}

func TestActions(t *testing.T) { // invariants 6 to 14
	w := open(t)
	plan := w.plan()
	for name, c := range map[string]struct {
		unpaid bool
		steps  []string
		want   string // the status, or the reason of the refusal of the last step
	}{
		"a pause of today":                  {false, []string{"pause"}, "SUBSCRIPTION_STATUS_PAUSED"},
		"a pause of a paused one":           {false, []string{"pause", "pause"}, "ALREADY_PAUSED"},
		"a pause of one that is past due":   {true, []string{"fail", "pause"}, "PAYMENT_DUE"},
		"a pause of an ended one":           {false, []string{"cancel now", "pause"}, "SUBSCRIPTION_ENDED"},
		"resuming":                          {false, []string{"pause", "resume"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"resuming without a pause":          {false, []string{"resume"}, "NOT_PAUSED"},
		"resuming an ended one":             {false, []string{"cancel now", "resume"}, "SUBSCRIPTION_ENDED"},
		"a scheduled change of plan":        {false, []string{"change to a new plan"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a change of plan now":              {false, []string{"change to a new plan now"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a change of an ended one":          {false, []string{"cancel now", "change to a new plan"}, "SUBSCRIPTION_ENDED"},
		"a change of a paused one":          {false, []string{"pause", "change to a new plan now"}, "SUBSCRIPTION_PAUSED"},
		"a change of one that is ending":    {false, []string{"cancel", "change to a new plan"}, "SUBSCRIPTION_ENDING"},
		"a change to another currency":      {false, []string{"change to a plan in euros"}, "CURRENCY_MISMATCH"},
		"a change to the same plan":         {false, []string{"change to the same plan now"}, "SAME_PLAN"},
		"a change while a payment is due":   {true, []string{"change to a new plan now"}, "PAYMENT_DUE"},
		"withdrawing a change":              {false, []string{"change to a new plan", "withdraw the change of plan"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"withdrawing nothing":               {false, []string{"withdraw the change of plan"}, "NO_PLAN_CHANGE"},
		"a cancellation at the end":         {false, []string{"cancel"}, "SUBSCRIPTION_STATUS_ENDING"},
		"a cancellation at once":            {false, []string{"cancel now"}, "SUBSCRIPTION_STATUS_ENDED"},
		"a second cancellation at the end":  {false, []string{"cancel", "cancel"}, "SUBSCRIPTION_ENDING"},
		"a cancellation at once after one":  {false, []string{"cancel", "cancel now"}, "SUBSCRIPTION_STATUS_ENDED"},
		"a cancellation of an ended one":    {false, []string{"cancel now", "cancel"}, "SUBSCRIPTION_ENDED"},
		"keeping one that is ending":        {false, []string{"cancel", "keep"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"keeping one that is not ending":    {false, []string{"keep"}, "NOT_ENDING"},
		"keeping an ended one":              {false, []string{"cancel now", "keep"}, "SUBSCRIPTION_ENDED"},
		"a payment":                         {true, []string{"pay"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a payment of another amount":       {true, []string{"pay a half"}, fault.ReasonValidation},
		"a payment of nothing":              {false, []string{"pay"}, "NO_PAYMENT_DUE"},
		"a failed payment":                  {true, []string{"fail"}, "SUBSCRIPTION_STATUS_PAST_DUE"},
		"a second failure":                  {true, []string{"fail", "fail"}, "SUBSCRIPTION_STATUS_PAST_DUE"},
		"a failure of nothing":              {false, []string{"fail"}, "NO_PAYMENT_DUE"},
		"a payment after a failure":         {true, []string{"fail", "pay"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a waiver":                          {true, []string{"waive"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a waiver after a failure":          {true, []string{"fail", "waive"}, "SUBSCRIPTION_STATUS_ACTIVE"},
		"a waiver of nothing":               {false, []string{"waive"}, "NO_PAYMENT_DUE"},
		"a late payment, with its number":   {true, []string{"cancel now", "pay the first period"}, "SUBSCRIPTION_STATUS_ENDED"},
		"a late payment without its number": {true, []string{"cancel now", "pay"}, "NO_PAYMENT_DUE"},
		"a refund after the end":            {false, []string{"cancel now", "refund"}, "SUBSCRIPTION_STATUS_ENDED"},
		"a refund of nothing":               {false, []string{"refund"}, "NO_REFUND_DUE"},
		"a second refund":                   {false, []string{"cancel now", "refund", "refund"}, "NO_REFUND_DUE"},
	} {
		t.Run(name, func(t *testing.T) {
			var first []func(*subscriptionv1.CreateSubscriptionRequest)
			if c.unpaid {
				first = append(first, unpaid)
			}
			s := w.subscribe(plan, first...)
			got := ""
			for i, step := range c.steps {
				res, err := actions[step](w, w.ctx(), s.GetId(), nil)
				if got = reason(err); err == nil {
					got = res.GetStatus().String()
				}
				if err != nil && i < len(c.steps)-1 {
					t.Fatalf("%s: %v", step, err)
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	for name, do := range actions {
		t.Run(name+": refuses a version that is not current, and an unknown subscription", func(t *testing.T) {
			s := w.subscribe(plan, unpaid)
			_, err := do(w, w.ctx(), s.GetId(), new(s.GetVersion()+1))
			wantReason(t, err, fault.ReasonVersionMismatch)
			if name != "change to the same plan now" {
				_, err = do(w, w.ctx(), id.New[id.Subscription]().String(), nil)
				wantReason(t, err, fault.ReasonNotFound)
			}
			if again := w.get(s.GetId()); again.GetVersion() != s.GetVersion() {
				t.Errorf("it changed: %v", again)
			}
		})
	}
	w.verify()
}

func TestMoneyOfActions(t *testing.T) { // invariants 9, 10, 11 and 13
	w := open(t)
	plan := w.plan()
	dear := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Price, r.Credits = 8000, 20 })
	preview := func(s string, when subscriptionv1.ChangeTime) *subscriptionv1.PreviewPlanChangeResponse {
		t.Helper()
		res, err := w.client.PreviewPlanChange(w.ctx(), &subscriptionv1.PreviewPlanChangeRequest{Id: s, PlanId: dear.GetId(), When: when})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	t.Run("a change now gives credit for the days or the credits left, whichever is less, as its preview says", func(t *testing.T) {
		s := w.subscribe(plan)
		w.passes.redeem(s.GetId(), 6)
		p := preview(s.GetId(), atOnce) // all 31 days are left, and 4 of 10 credits
		if p.GetUnusedValue() != 2000 || p.GetPrice() != 8000 || p.GetCreditApplied() != 2000 || p.GetAmountDue() != 6000 || p.GetAccountCredit() != 0 ||
			p.GetRemainingCredits() != 4 || p.GetCreditsGranted() != 20 || p.GetOn() != "2027-03-01" {
			t.Errorf("got %v", p)
		}
		res, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: dear.GetId(), When: atOnce,
			Payment: &subscriptionv1.SubscriptionPayment{Method: "CARD", Amount: new(int64(6000))}})
		if err != nil || res.GetSubscription().GetAmountDue() != 0 || res.GetSubscription().GetCurrentPeriod().GetNumber() != 2 ||
			res.GetSubscription().GetCurrentPeriod().GetPayment().GetAmount() != 6000 {
			t.Errorf("got %v, %v", res, err)
		}
		entries, err := w.client.ListAccountEntries(w.ctx(), &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: s.GetId(), Descending: true})
		if err != nil || entries.GetTotal() != 2 || entries.GetEntries()[0].GetCredit() != -2000 || entries.GetEntries()[1].GetCreditBalance() != 2000 ||
			entries.GetEntries()[0].GetActor() == "" {
			t.Errorf("got %v, %v", entries, err)
		}
	})
	t.Run("a change at the period's end costs nothing now", func(t *testing.T) {
		s := w.subscribe(plan)
		if p := preview(s.GetId(), atPeriodEnd); p.GetUnusedValue() != 0 || p.GetOn() != "2027-04-01" || p.GetPrice() != 8000 {
			t.Errorf("got %v", p)
		}
	})
	t.Run("while the pass service is down, a change now is unavailable and one at the end is not", func(t *testing.T) {
		s := w.subscribe(plan)
		w.passes.hook(away, nil)
		defer w.passes.hook(nil, nil)
		_, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: dear.GetId(), When: atOnce})
		wantReason(t, err, fault.ReasonServiceUnavailable)
		_, err = w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce, Prorate: true})
		wantReason(t, err, fault.ReasonServiceUnavailable)
		_, err = w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: dear.GetId()})
		wantReason(t, err, "")
		_, err = w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce})
		wantReason(t, err, "")
	})
	t.Run("a cancellation refunds what its preview says, and the refund is recorded in parts", func(t *testing.T) {
		s := w.subscribe(plan)
		w.passes.redeem(s.GetId(), 5)
		p, err := w.client.PreviewCancellation(w.ctx(), &subscriptionv1.PreviewCancellationRequest{Id: s.GetId(), When: atOnce, Prorate: true})
		if err != nil || p.GetRefundDue() != 2500 || p.GetLastDay() == "" {
			t.Errorf("got %v, %v", p, err)
		}
		res, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce, Prorate: true})
		if err != nil || res.GetSubscription().GetRefundDue() != 2500 {
			t.Errorf("got %v, %v", res, err)
		}
		for left := int64(1500); left >= 0; left -= 1000 {
			res, err := w.client.RecordRefund(w.ctx(), &subscriptionv1.RecordRefundRequest{Id: s.GetId(), Amount: new(int64(1000))})
			if err != nil || res.GetSubscription().GetRefundDue() != left {
				t.Errorf("got %v, %v", res, err)
			}
		}
		_, err = w.client.RecordRefund(w.ctx(), &subscriptionv1.RecordRefundRequest{Id: s.GetId(), Amount: new(int64(501))})
		wantReason(t, err, "NO_REFUND_DUE")
	})
	t.Run("the minimum term moves a cancellation, unless it is waived", func(t *testing.T) {
		term := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.MinimumPeriods = 3 })
		s := w.subscribe(term)
		_, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce})
		wantReason(t, err, "MINIMUM_TERM")
		p, err := w.client.PreviewCancellation(w.ctx(), &subscriptionv1.PreviewCancellationRequest{Id: s.GetId()})
		if err != nil || !p.GetMinimumTermApplies() || p.GetMinimumTermLastDay() != "2027-05-31" || p.GetLastDay() != "2027-05-31" {
			t.Errorf("got %v, %v", p, err)
		}
		got, err := actions["cancel"](w, w.ctx(), s.GetId(), nil)
		if err != nil || got.GetStatus() != ending || got.GetLastDay() != "2027-05-31" {
			t.Errorf("got %v, %v", got, err)
		}
		res, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce, WaiveMinimumTerm: true})
		if err != nil || res.GetSubscription().GetStatus() != ended {
			t.Errorf("got %v, %v", res, err)
		}
	})
	w.verify()
}

func TestInvalidRequests(t *testing.T) {
	w := open(t)
	plan, s := w.plan(), w.subscribe(w.plan())
	create := func(change func(*subscriptionv1.CreateSubscriptionRequest)) error {
		req := &subscriptionv1.CreateSubscriptionRequest{CustomerId: w.customer(), PlanId: plan.GetId()}
		change(req)
		_, err := w.client.CreateSubscription(w.ctx(), req)
		return err
	}
	for name, err := range map[string]error{
		"a day that does not exist":     create(func(r *subscriptionv1.CreateSubscriptionRequest) { r.StartDate = "2027-02-29" }),
		"a start in the future":         create(func(r *subscriptionv1.CreateSubscriptionRequest) { r.StartDate = "2027-03-02" }),
		"a start more than a month ago": create(func(r *subscriptionv1.CreateSubscriptionRequest) { r.StartDate = "2027-01-28" }),
		"a payment of another amount": create(func(r *subscriptionv1.CreateSubscriptionRequest) {
			r.Payment = &subscriptionv1.SubscriptionPayment{Amount: new(int64(1))}
		}),
		"a payment by pass": create(func(r *subscriptionv1.CreateSubscriptionRequest) {
			r.Payment = &subscriptionv1.SubscriptionPayment{Method: "PASS"}
		}),
		"a pause that begins in the past": func() error {
			_, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId(), FirstDay: "2027-02-28"})
			return err
		}(),
		"a pause that ends before it begins": func() error {
			_, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId(), FirstDay: "2027-03-10", ResumesOn: "2027-03-10"})
			return err
		}(),
		"a pause with a malformed day": func() error {
			_, err := w.client.PauseSubscription(w.ctx(), &subscriptionv1.PauseSubscriptionRequest{Id: s.GetId(), FirstDay: "10/3/2027"})
			return err
		}(),
		"an unknown time of a change": func() error {
			_, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: 9})
			return err
		}(),
		"a period below 0": func() error {
			_, err := w.client.WaivePayment(w.ctx(), &subscriptionv1.WaivePaymentRequest{Id: s.GetId(), Period: -1})
			return err
		}(),
		"settings out of range": func() error {
			_, err := w.client.UpdateSubscriptionSettings(w.ctx(), &subscriptionv1.UpdateSubscriptionSettingsRequest{
				Settings: &subscriptionv1.SubscriptionSettings{PastDueAfterDays: 61},
			})
			return err
		}(),
		"no settings": func() error {
			_, err := w.client.UpdateSubscriptionSettings(w.ctx(), &subscriptionv1.UpdateSubscriptionSettingsRequest{})
			return err
		}(),
	} {
		t.Run(name+" is refused", func(t *testing.T) { wantReason(t, err, fault.ReasonValidation) })
	}
}

func TestSettings(t *testing.T) {
	w := open(t)
	get := func() *subscriptionv1.SubscriptionSettings {
		t.Helper()
		res, err := w.client.GetSubscriptionSettings(w.ctx(), &subscriptionv1.GetSubscriptionSettingsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetSettings()
	}
	if n := get(); n.GetPastDueAfterDays() != 3 || n.GetGraceDays() != 7 || len(n.GetReminderDays()) != 3 || n.GetEndAfterDays() != 30 || n.GetVersion() != 1 {
		t.Errorf("the default is %v", n)
	}
	before := w.subscribe(w.plan(), unpaid)
	change := func(n *subscriptionv1.SubscriptionSettings) error {
		_, err := w.client.UpdateSubscriptionSettings(w.ctx(), &subscriptionv1.UpdateSubscriptionSettingsRequest{Settings: n})
		return err
	}
	if err := change(&subscriptionv1.SubscriptionSettings{PastDueAfterDays: 10}); err != nil {
		t.Fatal(err)
	}
	wantReason(t, change(&subscriptionv1.SubscriptionSettings{PastDueAfterDays: 9, Version: 1}), fault.ReasonVersionMismatch) // of the default
	n := get()
	if n.GetPastDueAfterDays() != 10 || n.GetGraceDays() != 0 || len(n.GetReminderDays()) != 0 || n.EndAfterDays != nil || n.GetVersion() != 2 {
		t.Errorf("got %v", n)
	}
	n.GraceDays = 1
	if err := change(n); err != nil {
		t.Error(err)
	}
	wantReason(t, change(n), fault.ReasonVersionMismatch)
	after := w.subscribe(w.plan(), unpaid)
	w.at(began.AddDate(0, 0, 5))
	if a, b := w.get(before.GetId()).GetStatus(), w.get(after.GetId()).GetStatus(); a != pastDue || b != active {
		t.Errorf("the payment from before the change gives %s, the later one %s", a, b)
	}
	w.at(began.AddDate(0, 0, 36))
	if s := w.get(before.GetId()); s.GetStatus() != ended || s.GetEndReason() != subscriptionv1.EndReason_END_REASON_UNPAID || s.GetAmountDue() != 0 {
		t.Errorf("got %v", s)
	}
	if s := w.get(after.GetId()); s.GetStatus() != pastDue {
		t.Errorf("got %v", s)
	}
	w.verify()
}
