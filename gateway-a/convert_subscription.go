package gatewaya

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// typeSubscription is the value of type for subscriptions on Interface A.
const typeSubscription = "subscription"

func subscription(s *subscriptionv1.Subscription, c clock) *edgeav1.Subscription {
	t := s.GetTerms()
	out := &edgeav1.Subscription{
		Id: s.GetId(), Type: typeSubscription, CustomerId: s.GetCustomerId(), PlanId: s.GetPlanId(), PlanTitle: s.GetPlanTitle(),
		CustomerPassId: optional(s.GetCustomerPassId()), Status: enum.Name(s.GetStatus()), Base100Price: t.GetPrice(), Currency: t.GetCurrency(),
		Interval: enum.Name(t.GetIntervalUnit()), IntervalCount: t.GetIntervalCount(), Bookings: enum.Name(t.GetBookings()), Credits: t.GetCredits(),
		MaxRollover: t.GetMaxRollover(), StartDate: s.GetStartDate(), CurrentPeriod: period(s.GetCurrentPeriod(), c),
		RenewsOn: optional(s.GetRenewsOn()), LastDay: optional(s.GetLastDay()), Base100AmountDue: s.GetAmountDue(),
		PastDueSince: c.optional(s.GetPastDueSince()), SuspendedFrom: c.optional(s.GetSuspendedFrom()), Base100AccountCredit: s.GetAccountCredit(),
		Base100RefundDue: s.GetRefundDue(), Base100RefundedAmount: s.GetRefundedAmount(), EndReason: optional(enum.Name(s.GetEndReason())),
		CreatedAt: c.local(s.GetCreatedAt()), UpdatedAt: c.local(s.GetUpdatedAt()), Tz: c.name,
	}
	schedule(out, s, c)
	return out
}

// schedule sets what is planned for a subscription. Members without a plan are absent.
func schedule(out *edgeav1.Subscription, s *subscriptionv1.Subscription, c clock) {
	if p := s.GetPause(); p != nil {
		out.Pause = &edgeav1.SubscriptionPause{FirstDay: p.GetFirstDay(), ResumesOn: optional(p.GetResumesOn()), Reason: p.GetReason()}
	}
	if change := s.GetPlanChange(); change != nil {
		out.PlanChange = &edgeav1.PlanChange{PlanId: change.GetPlanId(), On: change.GetOn()}
	}
	if cancelled := s.GetCancellation(); cancelled != nil {
		out.Cancellation = &edgeav1.SubscriptionCancellation{
			Reason: cancelled.GetReason(), RequestedAt: c.local(cancelled.GetRequestedAt()), AtPeriodEnd: cancelled.GetAtPeriodEnd(),
		}
	}
}

// period converts a period of a subscription, or returns nil if there is none.
func period(p *subscriptionv1.Period, c clock) *edgeav1.SubscriptionPeriod {
	if p == nil {
		return nil
	}
	out := &edgeav1.SubscriptionPeriod{
		Number: p.GetNumber(), PlanId: p.GetPlanId(), FirstDay: p.GetFirstDay(), LastDay: p.GetLastDay(), Trial: p.GetTrial(), Base100Price: p.GetPrice(),
		Currency: p.GetCurrency(), Base100CreditApplied: p.GetCreditApplied(), Base100AmountDue: p.GetAmountDue(),
		PaymentStatus: enum.Name(p.GetPaymentStatus()), DueAt: c.optional(p.GetDueAt()), CreditsGranted: p.GetCreditsGranted(),
		CreditsCarriedOver: p.GetCreditsCarriedOver(), CreditsExpired: p.GetCreditsExpired(), PausedDays: p.GetPausedDays(), Granted: p.GetGranted(),
	}
	if paid := p.GetPayment(); paid != nil {
		out.Payment = &edgeav1.SubscriptionPayment{Method: paid.GetMethod(), Base100Amount: paid.GetAmount(), PaidAt: c.local(paid.GetPaidAt())}
	}
	return out
}

// optional returns a text that is absent if it is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// optional formats an instant as local does. A nil instant is absent.
func (c clock) optional(at *timestamppb.Timestamp) *string {
	if at == nil {
		return nil
	}
	return optional(c.local(at))
}
