package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// subscriptionEvent is a domain event about a subscription.
type subscriptionEvent interface {
	proto.Message
	GetSubscription() *subscriptionv1.Subscription
}

// subscriptionStateChange is a domain event about a change of a subscription.
type subscriptionStateChange interface {
	subscriptionEvent
	GetPrevious() *subscriptionv1.Subscription
}

// subscriptionCreated is subscription.created.
func subscriptionCreated() kind[*subscriptionv1.SubscriptionCreated] {
	read := subscriptionNews[*subscriptionv1.SubscriptionCreated]
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_CREATED, read, func(now time.Time) *subscriptionv1.SubscriptionCreated {
		return &subscriptionv1.SubscriptionCreated{Subscription: sampleBegun(now)}
	})
}

// subscriptionUpdated is subscription.updated.
func subscriptionUpdated() kind[*subscriptionv1.SubscriptionUpdated] {
	read := subscriptionChange[*subscriptionv1.SubscriptionUpdated]
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_UPDATED, read, func(now time.Time) *subscriptionv1.SubscriptionUpdated {
		changed := touched(sampleSubscription(now), now)
		changed.Pause = &subscriptionv1.Pause{FirstDay: day(now, 7), ResumesOn: day(now, 21), Reason: "Holiday"}
		return &subscriptionv1.SubscriptionUpdated{Subscription: changed, Previous: sampleSubscription(now)}
	})
}

// subscriptionRenewed is subscription.renewed.
func subscriptionRenewed() kind[*subscriptionv1.SubscriptionRenewed] {
	read := subscriptionChange[*subscriptionv1.SubscriptionRenewed]
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_RENEWED, read, func(now time.Time) *subscriptionv1.SubscriptionRenewed {
		before := sampleSubscription(now)
		before.CurrentPeriod = samplePeriod(now, 1, -30)
		before.RenewsOn, before.AmountDue = day(now, 0), 0
		return &subscriptionv1.SubscriptionRenewed{Subscription: touched(sampleBegun(now), now), Previous: before}
	})
}

// subscriptionPaymentDue is subscription.payment_due.
func subscriptionPaymentDue() kind[*subscriptionv1.SubscriptionPaymentDue] {
	read := func(e *subscriptionv1.SubscriptionPaymentDue) *change {
		return withPeriod(subscriptionNews(e), e.GetPeriod())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_PAYMENT_DUE, read, func(now time.Time) *subscriptionv1.SubscriptionPaymentDue {
		begun := sampleBegun(now)
		return &subscriptionv1.SubscriptionPaymentDue{Subscription: begun, Period: begun.GetCurrentPeriod()}
	})
}

// subscriptionPaymentRecorded is subscription.payment_recorded.
func subscriptionPaymentRecorded() kind[*subscriptionv1.SubscriptionPaymentRecorded] {
	read := func(e *subscriptionv1.SubscriptionPaymentRecorded) *change {
		return withPeriod(subscriptionChange(e), e.GetPeriod())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_PAYMENT_RECORDED, read, func(now time.Time) *subscriptionv1.SubscriptionPaymentRecorded {
		paid := touched(sampleSubscription(now), now)
		paid.AmountDue, paid.CurrentPeriod = 0, samplePeriod(now, 2, 0)
		paid.CurrentPeriod.AmountDue, paid.CurrentPeriod.PaymentStatus = 0, subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID
		amount := paid.GetTerms().GetPrice()
		paid.CurrentPeriod.Payment = &subscriptionv1.SubscriptionPayment{Method: "CARD", Reference: "pi_sample", Amount: &amount, PaidAt: timestamppb.New(now)}
		return &subscriptionv1.SubscriptionPaymentRecorded{Subscription: paid, Previous: sampleSubscription(now), Period: paid.GetCurrentPeriod()}
	})
}

// subscriptionEnded is subscription.ended.
func subscriptionEnded() kind[*subscriptionv1.SubscriptionEnded] {
	read := subscriptionChange[*subscriptionv1.SubscriptionEnded]
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_ENDED, read, func(now time.Time) *subscriptionv1.SubscriptionEnded {
		ended := touched(sampleSubscription(now), now)
		ended.Status, ended.EndReason = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED, subscriptionv1.EndReason_END_REASON_UNPAID
		ended.RenewsOn, ended.LastDay, ended.AmountDue = "", day(now, 0), 0
		ended.CurrentPeriod.AmountDue, ended.CurrentPeriod.PaymentStatus = 0, subscriptionv1.PaymentStatus_PAYMENT_STATUS_CANCELLED
		return &subscriptionv1.SubscriptionEnded{Subscription: ended, Previous: sampleSubscription(now)}
	})
}

// subscriptionNews returns a change whose message shows the subscription only as it is now.
func subscriptionNews[E subscriptionEvent](e E) *change {
	return &change{
		customers: []string{e.GetSubscription().GetCustomerId()},
		after:     func(string) proto.Message { return resource.Subscription(e.GetSubscription()) },
	}
}

// subscriptionChange returns the change of a subscription, or nil without the state before it.
func subscriptionChange[E subscriptionStateChange](e E) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	c := subscriptionNews(e)
	c.before = func(string) proto.Message { return resource.Subscription(e.GetPrevious()) }
	return c
}

// withPeriod adds the period of a payment to the data. It returns nil for an event without one.
func withPeriod(c *change, p *subscriptionv1.Period) *change {
	if c == nil || p == nil {
		return nil
	}
	c.extra = []edge.Member{{Name: "period", Value: resource.JSON(resource.SubscriptionPeriod(p))}}
	return c
}

// touched returns a subscription with the version and the time of a change.
func touched(s *subscriptionv1.Subscription, now time.Time) *subscriptionv1.Subscription {
	s.UpdatedAt, s.Version = timestamppb.New(now), 2
	return s
}

// day returns the day that is some days after now.
func day(now time.Time, days int) string { return now.AddDate(0, 0, days).Format(time.DateOnly) }

func sampleSubscription(now time.Time) *subscriptionv1.Subscription {
	created := timestamppb.New(now.AddDate(0, 0, -30))
	return &subscriptionv1.Subscription{
		Id: "sub_" + sampleSuffix, CustomerId: samplePerson().ID, PlanId: "plan_" + sampleSuffix, PlanTitle: "Sample plan", CustomerPassId: "cp_" + sampleSuffix,
		Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE, StartDate: day(now, -30), CurrentPeriod: samplePeriod(now, 2, 0), RenewsOn: day(now, 30),
		Terms: &subscriptionv1.Terms{
			Price: 6400, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4,
		},
		AmountDue: 6400, CreatedAt: created, UpdatedAt: created, Version: 1,
	}
}

// sampleBegun returns a subscription whose period has just begun, so that its credits are not in the pass yet.
func sampleBegun(now time.Time) *subscriptionv1.Subscription {
	s := sampleSubscription(now)
	s.CurrentPeriod.CreditsGranted, s.CurrentPeriod.Granted = 0, false
	return s
}

// samplePeriod returns an unpaid period of 30 days, which begins some days after now. The first period is
// paid.
func samplePeriod(now time.Time, number int32, begins int) *subscriptionv1.Period {
	p := &subscriptionv1.Period{
		Number: number, PlanId: "plan_" + sampleSuffix, FirstDay: day(now, begins), LastDay: day(now, begins+29), Price: 6400, Currency: "GBP",
		AmountDue: 6400, PaymentStatus: subscriptionv1.PaymentStatus_PAYMENT_STATUS_DUE, DueAt: timestamppb.New(now.AddDate(0, 0, begins)), CreditsGranted: 8, Granted: true,
	}
	if number == 1 {
		amount := p.GetPrice()
		p.AmountDue, p.PaymentStatus = 0, subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID
		p.Payment = &subscriptionv1.SubscriptionPayment{Method: "CARD", Reference: "pi_sample", Amount: &amount, PaidAt: p.GetDueAt()}
	}
	return p
}
