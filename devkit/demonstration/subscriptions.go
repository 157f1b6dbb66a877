package demonstration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// The plans.
const (
	monthly = iota
	yearly
)

func (d *demoData) createPlans(ctx context.Context) error {
	for _, req := range []*subscriptionv1.CreatePlanRequest{
		{
			Title: "Eight Classes a Month", Description: "Eight credits for any class each month. Up to four unused ones move to the next month.",
			Price: 8800, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, Credits: 8, MaxRollover: 4, EligibleEventTypes: []string{"class"},
		},
		{
			Title: "Unlimited Year", Description: "All classes and workshops for a year, and the videos for practice at home. The first 14 days are free.",
			Price: 96000, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_YEAR, TrialDays: 14,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED, EligibleEventTypes: []string{"class", "workshop"},
			MediaCollectionIds: []string{d.collections[homePractice]},
		},
	} {
		res, err := d.on.plans.CreatePlan(withKey(ctx, req.GetTitle()), req)
		if err != nil {
			return fmt.Errorf("%s: %w", req.GetTitle(), err)
		}
		d.plans = append(d.plans, res.GetPlan().GetId())
	}
	return nil
}

// member is a customer who subscribed in the last weeks.
type member struct {
	plan int
	// days is the age of the subscription.
	days int
	// method is how the first period was paid. If it is empty, it is a trial or not paid.
	method    string
	skipTrial bool
	// then makes the state of the subscription, unless it is nil.
	then func(d *demoData, ctx context.Context, subscription string) error
}

// The customers of the members follow those of the passes.
const firstMember = 100

// Members that later steps need.
const (
	memberWithCredits = 0
	memberInTrial     = 7
	memberUnlimited   = 8
)

func members() []member {
	return []member{
		{plan: monthly, days: 20, method: "CARD"},
		{plan: monthly, days: 25, method: "CARD", then: (*demoData).upgrade},
		{plan: monthly, days: 6}, // the payment is due
		{plan: monthly, days: 10, then: (*demoData).failPayment},
		{plan: monthly, days: 15, method: "CARD", then: (*demoData).pause},
		{plan: monthly, days: 12, method: "BANK_TRANSFER", then: (*demoData).cancel},
		{plan: monthly, days: 18, method: "CASH", then: (*demoData).end},
		memberInTrial:   {plan: yearly, days: 3},
		memberUnlimited: {plan: yearly, days: 28, method: "BANK_TRANSFER", skipTrial: true},
	}
}

// subscribe creates the subscriptions of the members.
func (d *demoData) subscribe(ctx context.Context) error {
	for i, m := range members() {
		req := &subscriptionv1.CreateSubscriptionRequest{
			CustomerId: d.customers[firstMember+i], PlanId: d.plans[m.plan], StartDate: d.day(-m.days), SkipTrial: m.skipTrial,
		}
		if m.method != "" {
			req.Payment = &subscriptionv1.SubscriptionPayment{Method: m.method, Reference: fmt.Sprintf("pay_demo_subscription_%d", i)}
		}
		res, err := d.on.subs.CreateSubscription(withKey(ctx, fmt.Sprintf("subscription-%d", i)), req)
		if err != nil {
			return fmt.Errorf("subscription %d: %w", i, err)
		}
		d.subscriptions = append(d.subscriptions, res.GetSubscription())
		if err := d.awaitPass(ctx, res.GetSubscription().GetCustomerPassId()); err != nil {
			return fmt.Errorf("the pass of subscription %d: %w", i, err)
		}
		if m.then == nil {
			continue
		}
		if err := m.then(d, withKey(ctx, fmt.Sprintf("subscription-%d-changed", i)), res.GetSubscription().GetId()); err != nil {
			return fmt.Errorf("subscription %d: %w", i, err)
		}
	}
	return nil
}

// day returns the day that is so many days after the present.
func (d *demoData) day(days int) string {
	return d.present.In(d.zone).AddDate(0, 0, days).Format(time.DateOnly)
}

func (d *demoData) upgrade(ctx context.Context, id string) error {
	_, err := d.on.subs.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: id, PlanId: d.plans[yearly], When: subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END})
	return err
}

func (d *demoData) failPayment(ctx context.Context, id string) error {
	_, err := d.on.subs.RecordPaymentFailure(ctx, &subscriptionv1.RecordPaymentFailureRequest{Id: id, Reason: "The card has expired."})
	return err
}

func (d *demoData) pause(ctx context.Context, id string) error {
	_, err := d.on.subs.PauseSubscription(ctx, &subscriptionv1.PauseSubscriptionRequest{Id: id, ResumesOn: d.day(30), Reason: "A month abroad."})
	return err
}

func (d *demoData) cancel(ctx context.Context, id string) error {
	_, err := d.on.subs.CancelSubscription(ctx, &subscriptionv1.CancelSubscriptionRequest{Id: id, Reason: "Moves to another town."})
	return err
}

func (d *demoData) end(ctx context.Context, id string) error {
	_, err := d.on.subs.CancelSubscription(ctx, &subscriptionv1.CancelSubscriptionRequest{
		Id: id, When: subscriptionv1.ChangeTime_CHANGE_TIME_NOW, Prorate: true, Reason: "An injury; the rest is refunded.",
	})
	return err
}

// The wait for a customer pass, which the subscription service creates a moment after the subscription.
const (
	passWait  = 20 * time.Second
	passEvery = 50 * time.Millisecond
)

// awaitPass waits until a customer pass exists.
func (d *demoData) awaitPass(ctx context.Context, pass string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, passWait, errors.New("the subscription service has not created it in time"))
	defer cancel()
	for {
		_, err := d.on.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: pass})
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(passEvery):
		}
	}
}

// importSubscriptions imports two subscriptions of an earlier system, which are older than the others. The
// monthly one renews in the next days.
func (d *demoData) importSubscriptions(ctx context.Context) error {
	first := firstMember + len(members())
	today := d.present.In(d.zone)
	res, err := d.on.subs.ImportSubscriptions(ctx, &subscriptionv1.ImportSubscriptionsRequest{Subscriptions: []*subscriptionv1.ImportedSubscription{
		{
			Reference: "demo-subscription-monthly", CustomerId: d.customers[first], PlanId: d.plans[monthly], PeriodFirstDay: d.day(-26),
			StartDate: today.AddDate(0, -14, -26).Format(time.DateOnly), RemainingCredits: 3, PeriodsBefore: 14,
		},
		{
			Reference: "demo-subscription-yearly", CustomerId: d.customers[first+1], PlanId: d.plans[yearly], PeriodFirstDay: d.day(-300),
			StartDate: today.AddDate(-1, 0, -300).Format(time.DateOnly), PeriodsBefore: 1,
		},
	}})
	if err != nil {
		return err
	}
	for i, r := range res.GetResults() {
		if r.GetError() != "" {
			return fmt.Errorf("imported subscription %d: %s %s", i, r.GetField(), r.GetError())
		}
	}
	return nil
}

// bookBySubscription books classes that subscriptions pay for: with credits, and without taking any.
func (d *demoData) bookBySubscription(ctx context.Context) error {
	for _, b := range []struct{ member, event int }{{memberWithCredits, 0}, {memberWithCredits, 2}, {memberInTrial, 1}, {memberUnlimited, 0}} {
		s := d.subscriptions[b.member]
		key := withKey(ctx, fmt.Sprintf("by-subscription-%d-%d", b.member, b.event))
		err := d.bookNext(key, d.events[b.event], &bookingv1.CreateTransactionRequest{
			PurchaserId: s.GetCustomerId(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, CustomerPassId: s.GetCustomerPassId(),
			Lines: []*bookingv1.TransactionLine{{Spaces: 1}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
