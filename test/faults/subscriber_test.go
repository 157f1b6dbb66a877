package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// subscriber is a customer with one subscription, and what the customer's client was answered.
type subscriber struct {
	c        *subscriptionCluster
	customer string
	plan     *subscriptionv1.Plan // of the first period
	starts   int                  // the round in which the customer subscribes

	id   string          // of the subscription; "": it does not exist yet
	paid map[int32]int64 // acknowledged payments, by period
	// booked are the acknowledged bookings, by identifier. Their value reports whether the
	// cancellation was acknowledged.
	booked map[string]bool
}

// newPlans creates plans of several intervals.
func (c *subscriptionCluster) newPlans(t *testing.T) {
	t.Helper()
	const (
		week  = subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK
		month = subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH
		year  = subscriptionv1.IntervalUnit_INTERVAL_UNIT_YEAR
	)
	const unlimited = subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED
	for _, req := range []*subscriptionv1.CreatePlanRequest{
		{Title: "Monthly", Price: 5000, IntervalUnit: month, Credits: 8, MaxRollover: 3},
		{Title: "Weekly", Price: 1500, IntervalUnit: week, Credits: 2},
		{Title: "Fortnightly", Price: 2500, IntervalUnit: week, IntervalCount: 2, TrialDays: 10, Credits: 4, MaxRollover: 10},
		{Title: "Unlimited", Price: 9000, IntervalUnit: month, Bookings: unlimited},
		{Title: "Quarterly", Price: 13_001, IntervalUnit: month, IntervalCount: 3, Credits: 20, MaxRollover: 5},
		{Title: "Yearly", Price: 60_000, IntervalUnit: year, Bookings: unlimited},
		{Title: "Videos", Price: 1000, IntervalUnit: month},
		{Title: "Trial for a month", Price: 4000, IntervalUnit: month, TrialDays: 30, Credits: 6, MaxRollover: 6, MinimumPeriods: 2},
	} {
		var made *subscriptionv1.CreatePlanResponse
		err := c.persist(t.Context(), func(ctx context.Context) (err error) {
			made, err = c.op.Plans.CreatePlan(ctx, req)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		c.plans = append(c.plans, made.GetPlan())
		c.planOf[made.GetPlan().GetId()] = made.GetPlan()
	}
}

// newClass creates an event with a date on each day after the clock's time.
func (c *subscriptionCluster) newClass(t *testing.T, days int) {
	t.Helper()
	req := &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
	}
	for n := range days {
		c.starts = append(c.starts, c.now.AddDate(0, 0, n+1))
		req.Dates = append(req.Dates, &bookingv1.NewEventDate{StartsAt: timestamppb.New(c.starts[n]), DurationMinutes: 60})
	}
	err := c.persist(t.Context(), func(ctx context.Context) error {
		made, err := c.op.Events.CreateEvent(ctx, req)
		c.class = made.GetEvent()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := c.class.GetDates()
	c.dates = make([]string, len(shown))
	for n, date := range shown {
		if c.dates[n] = date.GetId(); !date.GetStartsAt().AsTime().Equal(c.starts[n]) {
			t.Fatalf("date %d starts at %s, want %s", n, date.GetStartsAt().AsTime(), c.starts[n])
		}
	}
}

// persist makes a call with a new idempotency key until the outcome is known.
func (c *subscriptionCluster) persist(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(newKey(c.company.Ctx(ctx)), orderLimit)
	defer cancel()
	return persist(ctx, call)
}

// do makes a call until the outcome is known, and counts the answers of its kind. A refusal is an outcome,
// and so is a day that has passed since the client chose it. done reports whether the call was accepted.
func (c *subscriptionCluster) do(ctx context.Context, what string, call func(ctx context.Context) error) (done bool, err error) {
	err = c.persist(ctx, call)
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default: // enough answers are counted
	}
	f := fault.From(err)
	switch {
	case err == nil:
		c.accepted[what]++
		return true, nil
	case f.Kind == fault.Refused && !slices.Contains([]string{"GRANT_MISSING", "CUSTOMER_DELETED"}, f.Reason):
		c.refused[what+" "+f.Reason]++
		return false, nil
	case f.Kind == fault.Invalid && len(f.Fields) > 0 && slices.Contains([]string{"first_day", "resumes_on", "on"}, f.Fields[0].Field):
		c.refused[what+" too late"]++
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", what, err)
}

// subscribe starts the subscription. Half of the customers pay at once.
func (s *subscriber) subscribe(ctx context.Context) error {
	req := &subscriptionv1.CreateSubscriptionRequest{CustomerId: s.customer, PlanId: s.plan.GetId()}
	pays := s.plan.GetTrialDays() == 0 && rand.IntN(2) == 0
	if pays {
		req.Payment = &subscriptionv1.SubscriptionPayment{Amount: proto.Int64(s.plan.GetPrice())}
	}
	_, err := s.c.do(ctx, "subscribe", func(ctx context.Context) error {
		res, err := s.c.op.Subscriptions.CreateSubscription(ctx, req)
		if err == nil && s.id != "" && s.id != res.GetSubscription().GetId() {
			return fmt.Errorf("the answer was %s, and later %s", s.id, res.GetSubscription().GetId())
		}
		s.id = res.GetSubscription().GetId()
		return err
	})
	if err == nil && pays {
		s.paid[1] = s.plan.GetPrice()
	}
	return err
}

// get reads the subscription.
func (s *subscriber) get(ctx context.Context) (now *subscriptionv1.Subscription, err error) {
	err = s.c.persist(ctx, func(ctx context.Context) error {
		res, err := s.c.op.Subscriptions.GetSubscription(ctx, &subscriptionv1.GetSubscriptionRequest{Id: s.id})
		now = res.GetSubscription()
		return err
	})
	return now, err
}

// act does what a customer and the studio do with a subscription in a round.
func (s *subscriber) act(ctx context.Context, round int) error {
	if s.id == "" {
		if round < s.starts {
			return nil
		}
		return s.subscribe(ctx)
	}
	now, err := s.get(ctx)
	if err != nil {
		return err
	}
	if now.GetStatus() == subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED {
		if now.GetRefundDue() > 0 {
			err = s.refund(ctx, now)
		}
		return err
	}
	return errors.Join(s.settleDue(ctx, now), s.change(ctx, now), s.book(ctx, now), s.cancelBooking(ctx))
}

// settleDue pays what is due, or waives it, or records that it could not be collected, or leaves it.
func (s *subscriber) settleDue(ctx context.Context, now *subscriptionv1.Subscription) error {
	if now.GetAmountDue() == 0 {
		return nil
	}
	switch rand.IntN(8) {
	case 0:
		return nil
	case 1:
		_, err := s.c.do(ctx, "waive", func(ctx context.Context) error {
			_, err := s.c.op.Subscriptions.WaivePayment(ctx, &subscriptionv1.WaivePaymentRequest{Id: s.id})
			return err
		})
		return err
	case 2, 3:
		_, err := s.c.do(ctx, "fail", func(ctx context.Context) error {
			_, err := s.c.op.Subscriptions.RecordPaymentFailure(ctx, &subscriptionv1.RecordPaymentFailureRequest{Id: s.id, Reason: "The card was declined"})
			return err
		})
		return err
	}
	return s.payAll(ctx)
}

// payAll pays every period with an amount due.
func (s *subscriber) payAll(ctx context.Context) error {
	periods, err := s.c.periods(ctx, s.id)
	if err != nil {
		return err
	}
	for _, p := range periods {
		amount := p.GetAmountDue()
		if amount == 0 {
			continue
		}
		done, err := s.c.do(ctx, "pay", func(ctx context.Context) error {
			_, err := s.c.op.Subscriptions.RecordPayment(ctx, &subscriptionv1.RecordPaymentRequest{
				Id: s.id, Period: p.GetNumber(), Payment: &subscriptionv1.SubscriptionPayment{Amount: &amount, Reference: fmt.Sprint("pay-", p.GetNumber())},
			})
			return err
		})
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("the payment of period %d of %s was refused", p.GetNumber(), s.id)
		}
		s.paid[p.GetNumber()] = amount
	}
	return nil
}

func (s *subscriber) refund(ctx context.Context, now *subscriptionv1.Subscription) error {
	req := &subscriptionv1.RecordRefundRequest{Id: s.id, Amount: proto.Int64(1 + rand.Int64N(now.GetRefundDue()))}
	_, err := s.c.do(ctx, "refund", func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.RecordRefund(ctx, req)
		return err
	})
	return err
}

// change pauses, resumes, changes or cancels the subscription, or leaves it as it is.
func (s *subscriber) change(ctx context.Context, now *subscriptionv1.Subscription) error {
	if now.GetPause() != nil && rand.IntN(2) == 0 {
		return s.resume(ctx)
	}
	if now.GetCancellation() != nil && rand.IntN(2) == 0 {
		return s.keep(ctx)
	}
	switch rand.IntN(12) {
	case 0, 1:
		return s.pause(ctx)
	case 2, 3:
		return s.changePlan(ctx, subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END)
	case 4, 5:
		return s.changePlan(ctx, subscriptionv1.ChangeTime_CHANGE_TIME_NOW)
	case 6:
		return s.cancel(ctx, &subscriptionv1.CancelSubscriptionRequest{Id: s.id})
	case 7:
		if rand.IntN(2) == 0 { // not everybody leaves
			return s.cancel(ctx, &subscriptionv1.CancelSubscriptionRequest{
				Id: s.id, When: subscriptionv1.ChangeTime_CHANGE_TIME_NOW, Prorate: rand.IntN(3) > 0, WaiveMinimumTerm: true,
			})
		}
	}
	return nil
}

func (s *subscriber) pause(ctx context.Context) error {
	req := &subscriptionv1.PauseSubscriptionRequest{Id: s.id}
	first := s.c.today().AddDate(0, 0, rand.IntN(4))
	if rand.IntN(2) == 0 {
		req.FirstDay = first.Format(time.DateOnly)
	}
	if rand.IntN(3) > 0 {
		req.ResumesOn = first.AddDate(0, 0, 1+rand.IntN(12)).Format(time.DateOnly)
	}
	_, err := s.c.do(ctx, "pause", func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.PauseSubscription(ctx, req)
		return err
	})
	return err
}

func (s *subscriber) resume(ctx context.Context) error {
	_, err := s.c.do(ctx, "resume", func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.ResumeSubscription(ctx, &subscriptionv1.ResumeSubscriptionRequest{Id: s.id})
		return err
	})
	return err
}

// keep withdraws the cancellation.
func (s *subscriber) keep(ctx context.Context) error {
	_, err := s.c.do(ctx, "keep", func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.WithdrawCancellation(ctx, &subscriptionv1.WithdrawCancellationRequest{Id: s.id})
		return err
	})
	return err
}

func (s *subscriber) changePlan(ctx context.Context, when subscriptionv1.ChangeTime) error {
	to := s.c.plans[rand.IntN(len(s.c.plans))]
	_, err := s.c.do(ctx, "change "+when.String(), func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s.id, PlanId: to.GetId(), When: when})
		return err
	})
	return err
}

func (s *subscriber) cancel(ctx context.Context, req *subscriptionv1.CancelSubscriptionRequest) error {
	_, err := s.c.do(ctx, "cancel "+req.GetWhen().String(), func(ctx context.Context) error {
		_, err := s.c.op.Subscriptions.CancelSubscription(ctx, req)
		return err
	})
	return err
}

// book books up to two spaces of the next two weeks, paid by the subscription's pass.
func (s *subscriber) book(ctx context.Context, now *subscriptionv1.Subscription) error {
	if now.GetCustomerPassId() == "" {
		return nil
	}
	for range rand.IntN(3) {
		next, _ := slices.BinarySearchFunc(s.c.starts, s.c.time().AddDate(0, 0, rand.IntN(14)), time.Time.Compare)
		if next >= len(s.c.dates) {
			return nil
		}
		_, err := s.c.do(ctx, "book", func(ctx context.Context) error {
			res, err := s.c.op.Bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
				PurchaserId: s.customer, PaymentMethod: byPass, CustomerPassId: now.GetCustomerPassId(),
				Lines: []*bookingv1.TransactionLine{{EventDateId: s.c.dates[next], Spaces: 1}},
			})
			for _, b := range res.GetTransaction().GetBookings() {
				s.booked[b.GetId()] = false
			}
			return err
		})
		if fault.Is(err, fault.NotFound) && !now.GetCurrentPeriod().GetGranted() {
			return nil // the pass service was killed before it got the pass
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelBooking cancels one of the bookings.
func (s *subscriber) cancelBooking(ctx context.Context) error {
	for booking, cancelled := range s.booked {
		if cancelled || rand.IntN(4) > 0 {
			continue
		}
		done, err := s.c.do(ctx, "cancel a booking", func(ctx context.Context) error {
			_, err := s.c.op.Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
			return err
		})
		s.booked[booking] = done
		return err
	}
	return nil
}

// everyone calls do for each subscriber, with a client for every few of them, and returns when all are done.
func (c *subscriptionCluster) everyone(t *testing.T, do func(s *subscriber) error) {
	t.Helper()
	var all sync.WaitGroup
	for client := range subscriptionClients {
		all.Go(func() {
			for n := client; n < len(c.all); n += subscriptionClients {
				if err := do(c.all[n]); err != nil {
					t.Errorf("subscriber %d, %s: %v", n, c.all[n].id, err)
				}
			}
		})
	}
	all.Wait()
}
