package subscription

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

const (
	trialing = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING
	active   = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE
	pastDue  = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE
	paused   = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED
	ending   = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING
	ended    = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED

	atOnce      = subscriptionv1.ChangeTime_CHANGE_TIME_NOW
	atPeriodEnd = subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END
)

// noonOf returns noon of a day in London.
func noonOf(day string) time.Time {
	zone, _ := time.LoadLocation("Europe/London")
	at, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err != nil {
		panic(err)
	}
	return at.Add(12 * time.Hour)
}

func TestLifeOfASubscription(t *testing.T) { // invariants 1, 2, 3, 5 and 11
	w := open(t)
	plan := w.plan()
	s := w.subscribe(plan)
	if s.GetStatus() != active || s.GetRenewsOn() != "2027-04-01" || s.GetCurrentPeriod().GetLastDay() != "2027-03-31" || s.GetAmountDue() != 0 ||
		s.GetPlanTitle() != "Ten a month" || s.GetCustomerPassId() == "" {
		t.Fatalf("got %v", s)
	}
	if p := s.GetCurrentPeriod(); !p.GetGranted() || p.GetCreditsGranted() != 10 {
		t.Errorf("the response does not show the credits: %v", p)
	}
	pass := w.passes.pass(s.GetId())
	if pass.balance != 10 || pass.purchase.GetGross() != 5000 || pass.purchase.GetMethod() != "CARD" || pass.quiet ||
		pass.status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE || pass.periodLast != "2027-03-31" {
		t.Errorf("the pass is %+v", pass)
	}
	w.passes.redeem(s.GetId(), 4)
	w.at(noonOf("2027-04-01"))
	s = w.get(s.GetId())
	if s.GetStatus() != active || s.GetAmountDue() != 5000 || s.GetCurrentPeriod().GetNumber() != 2 || s.GetRenewsOn() != "2027-05-01" {
		t.Errorf("after the renewal: %v", s)
	}
	if p := s.GetCurrentPeriod(); !p.GetGranted() || p.GetCreditsGranted() != 10 || p.GetCreditsCarriedOver() != 3 || p.GetCreditsExpired() != 3 {
		t.Errorf("the second period: %v", p)
	}
	if s = w.pay(s.GetId()); s.GetAmountDue() != 0 || s.GetCurrentPeriod().GetPayment().GetMethod() != "CARD" {
		t.Errorf("after the payment: %v", s)
	}
	w.at(noonOf("2027-05-10")) // paid in April, nothing in May
	if s = w.get(s.GetId()); s.GetStatus() != pastDue && s.GetStatus() != active {
		t.Errorf("got %v", s)
	}
	w.verify()
}

func TestPlans(t *testing.T) { // invariants 12, 18 and 20
	w := open(t)
	plan := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.EligibleEventTypes = []string{"class"} })
	t.Run("a new plan has the defaults and a pass type with its UUID", func(t *testing.T) {
		if plan.GetIntervalCount() != 1 || plan.GetCurrency() != "GBP" || plan.GetVersion() != 1 || plan.GetPassTypeId() == "" ||
			plan.GetBookings() != subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS {
			t.Errorf("got %v", plan)
		}
		if n := w.count(`select count(*) from plans where pass_sync_due is not null`); n != 0 || len(w.passes.types) != 1 {
			t.Errorf("%d plans are not confirmed, and %d pass types exist", n, len(w.passes.types))
		}
	})
	t.Run("an update without effect changes nothing, and a stale one is refused", func(t *testing.T) {
		res, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: plan.GetId(), Title: new(plan.GetTitle())})
		if err != nil || !proto.Equal(res.GetPlan(), plan) {
			t.Errorf("got %v, %v", res, err)
		}
		_, err = w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: plan.GetId(), Title: new("x"), ExpectedVersion: new(int64(7))})
		wantReason(t, err, fault.ReasonVersionMismatch)
	})
	t.Run("existing subscriptions keep their terms", func(t *testing.T) {
		s := w.subscribe(plan)
		if _, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: plan.GetId(), Price: new(int64(6000)), Title: new("Dearer")}); err != nil {
			t.Fatal(err)
		}
		w.at(noonOf("2027-04-02"))
		if s = w.get(s.GetId()); s.GetTerms().GetPrice() != 5000 || s.GetCurrentPeriod().GetPrice() != 5000 || s.GetPlanTitle() != "Dearer" {
			t.Errorf("got %v", s)
		}
		if s := w.subscribe(plan); s.GetTerms().GetPrice() != 6000 {
			t.Errorf("a new one has %v", s.GetTerms())
		}
	})
	t.Run("a plan includes collections that exist, and keeps one that was deleted", func(t *testing.T) {
		deleted, other := id.New[id.Collection](), id.New[id.Collection]()
		w.media[deleted], w.media[other] = w.company, id.New[id.Company]()
		with := func(collections ...id.Collection) (texts []string) {
			for _, c := range collections {
				texts = append(texts, c.String())
			}
			return texts
		}
		p := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.MediaCollectionIds = with(deleted) })
		delete(w.media, deleted)
		update := func(collections ...id.Collection) error {
			_, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: p.GetId(), MediaCollectionIds: &subscriptionv1.TextList{Values: with(collections...)}})
			return err
		}
		if err := update(deleted); err != nil {
			t.Error(err)
		}
		wantReason(t, update(deleted, other), fault.ReasonNotFound)
		_, err := w.plans.CreatePlan(w.ctx(), &subscriptionv1.CreatePlanRequest{
			Title: "Films", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, MediaCollectionIds: with(other),
		})
		wantReason(t, err, fault.ReasonNotFound)
		if _, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: p.GetId(), Status: subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED}); err != nil {
			t.Error(err)
		}
	})
	t.Run("catalog:read sees active plans only", func(t *testing.T) {
		archived := w.plan()
		if _, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: archived.GetId(), Status: subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED}); err != nil {
			t.Fatal(err)
		}
		visitor := w.with(w.issuer.Client(w.company, "catalog:read"))
		_, err := w.plans.GetPlan(visitor, &subscriptionv1.GetPlanRequest{Id: archived.GetId()})
		wantReason(t, err, fault.ReasonNotFound)
		list, err := w.plans.ListPlans(visitor, &subscriptionv1.ListPlansRequest{})
		if err != nil || list.GetTotal() != 1 || len(list.GetPlans()) != 1 || list.GetPlans()[0].GetId() != plan.GetId() {
			t.Errorf("got %v, %v", list, err)
		}
		list, err = w.plans.ListPlans(w.ctx(), &subscriptionv1.ListPlansRequest{Status: subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED})
		if err != nil || list.GetTotal() != 2 || list.GetPlans()[1].GetId() != archived.GetId() {
			t.Errorf("got %v, %v", list, err)
		}
		_, err = w.client.CreateSubscription(w.ctx(), &subscriptionv1.CreateSubscriptionRequest{CustomerId: w.customer(), PlanId: archived.GetId()})
		wantReason(t, err, "PLAN_NOT_ACTIVE")
	})
	t.Run("invalid plans are refused with every fault", func(t *testing.T) {
		_, err := w.plans.CreatePlan(w.ctx(), &subscriptionv1.CreatePlanRequest{Price: -1, Currency: "XXX", IntervalCount: 99, TrialDays: 400, MinimumPeriods: 121, Credits: -1})
		if f := fault.From(err); f == nil || f.Kind != fault.Invalid || len(f.Fields) < 6 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the currency does not change while a subscription is scheduled to change to the plan", func(t *testing.T) {
		s, next := w.subscribe(plan), w.plan()
		euro := &subscriptionv1.UpdatePlanRequest{Id: next.GetId(), Currency: new("EUR")}
		if _, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: s.GetId(), PlanId: next.GetId()}); err != nil {
			t.Fatal(err)
		}
		_, err := w.plans.UpdatePlan(w.ctx(), euro)
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Field != "currency" || f.Fields[0].Rule != "in_use" {
			t.Errorf("got %v", err)
		}
		if _, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: next.GetId(), Price: new(int64(1))}); err != nil {
			t.Error(err)
		}
		if _, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.plans.UpdatePlan(w.ctx(), euro); err != nil {
			t.Error(err)
		}
	})
	t.Run("a plan without bookings has no pass type", func(t *testing.T) {
		none := w.plan(func(r *subscriptionv1.CreatePlanRequest) { r.Credits, r.MaxRollover = 0, 0 })
		s := w.subscribe(none)
		if none.GetPassTypeId() != "" || s.GetCustomerPassId() != "" || w.passes.pass(s.GetId()).version != 0 {
			t.Errorf("got %v, %v", none, s)
		}
	})
	w.verify()
}

func TestIdempotency(t *testing.T) {
	w := open(t)
	plan := w.plan()
	customer := w.customer()
	ctx := rpc.WithIdempotencyKey(w.ctx(), "k1")
	req := &subscriptionv1.CreateSubscriptionRequest{CustomerId: customer, PlanId: plan.GetId()}
	first, err := w.client.CreateSubscription(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.client.CreateSubscription(ctx, req)
	if err != nil || again.GetSubscription().GetId() != first.GetSubscription().GetId() {
		t.Errorf("got %v, %v", again, err)
	}
	if n := w.count(`select count(*) from subscriptions`); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	pay := &subscriptionv1.RecordPaymentRequest{Id: first.GetSubscription().GetId(), Period: 1}
	ctx = rpc.WithIdempotencyKey(w.ctx(), "k2")
	for range 2 {
		if _, err := w.client.RecordPayment(ctx, pay); err != nil {
			t.Error(err)
		}
	}
	_, err = w.client.RecordPayment(w.ctx(), pay)
	wantReason(t, err, "NO_PAYMENT_DUE")
}

func TestTenancy(t *testing.T) { // invariant 18
	w := open(t)
	other := w.of(id.New[id.Company]())
	plan := w.plan()
	s := w.subscribe(plan)
	foreign := other.plan()
	ctx := other.ctx()
	of := s.GetId()
	for name, call := range map[string]func(ctx context.Context) error{
		"GetPlan": func(ctx context.Context) error {
			_, err := w.plans.GetPlan(ctx, &subscriptionv1.GetPlanRequest{Id: plan.GetId()})
			return err
		},
		"UpdatePlan": func(ctx context.Context) error {
			_, err := w.plans.UpdatePlan(ctx, &subscriptionv1.UpdatePlanRequest{Id: plan.GetId()})
			return err
		},
		"CreateSubscription with a foreign plan": func(ctx context.Context) error {
			_, err := w.client.CreateSubscription(ctx, &subscriptionv1.CreateSubscriptionRequest{CustomerId: other.customer(), PlanId: plan.GetId()})
			return err
		},
		"CreateSubscription with a foreign customer": func(ctx context.Context) error {
			_, err := w.client.CreateSubscription(ctx, &subscriptionv1.CreateSubscriptionRequest{CustomerId: s.GetCustomerId(), PlanId: foreign.GetId()})
			return err
		},
		"GetSubscription": func(ctx context.Context) error {
			_, err := w.client.GetSubscription(ctx, &subscriptionv1.GetSubscriptionRequest{Id: of})
			return err
		},
		"ListPeriods": func(ctx context.Context) error {
			_, err := w.client.ListPeriods(ctx, &subscriptionv1.ListPeriodsRequest{SubscriptionId: of})
			return err
		},
		"ListAccountEntries": func(ctx context.Context) error {
			_, err := w.client.ListAccountEntries(ctx, &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: of})
			return err
		},
		"PauseSubscription": func(ctx context.Context) error {
			_, err := w.client.PauseSubscription(ctx, &subscriptionv1.PauseSubscriptionRequest{Id: of})
			return err
		},
		"ResumeSubscription": func(ctx context.Context) error {
			_, err := w.client.ResumeSubscription(ctx, &subscriptionv1.ResumeSubscriptionRequest{Id: of})
			return err
		},
		"PreviewPlanChange": func(ctx context.Context) error {
			_, err := w.client.PreviewPlanChange(ctx, &subscriptionv1.PreviewPlanChangeRequest{Id: of, PlanId: foreign.GetId(), When: atOnce})
			return err
		},
		"ChangePlan": func(ctx context.Context) error {
			_, err := w.client.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: of, PlanId: foreign.GetId(), When: atOnce})
			return err
		},
		"WithdrawPlanChange": func(ctx context.Context) error {
			_, err := w.client.WithdrawPlanChange(ctx, &subscriptionv1.WithdrawPlanChangeRequest{Id: of})
			return err
		},
		"PreviewCancellation": func(ctx context.Context) error {
			_, err := w.client.PreviewCancellation(ctx, &subscriptionv1.PreviewCancellationRequest{Id: of})
			return err
		},
		"CancelSubscription": func(ctx context.Context) error {
			_, err := w.client.CancelSubscription(ctx, &subscriptionv1.CancelSubscriptionRequest{Id: of, When: atOnce, Prorate: true})
			return err
		},
		"WithdrawCancellation": func(ctx context.Context) error {
			_, err := w.client.WithdrawCancellation(ctx, &subscriptionv1.WithdrawCancellationRequest{Id: of})
			return err
		},
		"RecordPayment": func(ctx context.Context) error {
			_, err := w.client.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{Id: of})
			return err
		},
		"RecordPaymentFailure": func(ctx context.Context) error {
			_, err := w.client.RecordPaymentFailure(ctx, &subscriptionv1.RecordPaymentFailureRequest{Id: of})
			return err
		},
		"WaivePayment": func(ctx context.Context) error {
			_, err := w.client.WaivePayment(ctx, &subscriptionv1.WaivePaymentRequest{Id: of})
			return err
		},
		"RecordRefund": func(ctx context.Context) error {
			_, err := w.client.RecordRefund(ctx, &subscriptionv1.RecordRefundRequest{Id: of})
			return err
		},
	} {
		t.Run(name+": the rows of another company do not exist", func(t *testing.T) {
			wantReason(t, call(ctx), fault.ReasonNotFound)
		})
	}
	t.Run("a change to a plan of another company is refused", func(t *testing.T) {
		_, err := w.client.ChangePlan(w.ctx(), &subscriptionv1.ChangePlanRequest{Id: of, PlanId: foreign.GetId()})
		wantReason(t, err, fault.ReasonNotFound)
	})
	list, err := w.client.ListSubscriptions(ctx, &subscriptionv1.ListSubscriptionsRequest{})
	if err != nil || list.GetTotal() != 0 || len(list.GetSubscriptions()) != 0 {
		t.Errorf("the other company lists %v, %v", list, err)
	}
	if again := w.get(of); !proto.Equal(again, s) {
		t.Errorf("the subscription is %v", again)
	}
	// A filter by a foreign identifier finds nothing.
	list, err = w.client.ListSubscriptions(ctx, &subscriptionv1.ListSubscriptionsRequest{CustomerId: s.GetCustomerId(), PlanId: plan.GetId()})
	if err != nil || list.GetTotal() != 0 {
		t.Errorf("got %v, %v", list, err)
	}
}
