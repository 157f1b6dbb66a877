package resource

import (
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Subscription converts a subscription.
func Subscription(s *subscriptionv1.Subscription) *edgebv1.Subscription {
	t := s.GetTerms()
	out := &edgebv1.Subscription{
		Id: s.GetId(), CustomerId: s.GetCustomerId(), PlanId: s.GetPlanId(), PlanTitle: s.GetPlanTitle(), CustomerPassId: nullableText(s.GetCustomerPassId()),
		Status: enum.Name(s.GetStatus()), Price: amount(t.GetPrice()), Currency: t.GetCurrency(), Interval: enum.Name(t.GetIntervalUnit()),
		IntervalCount: t.GetIntervalCount(), MinimumPeriods: t.GetMinimumPeriods(), Bookings: enum.Name(t.GetBookings()), Credits: t.GetCredits(),
		MaxRollover: t.GetMaxRollover(), MediaCollectionIds: s.GetMediaCollectionIds(), StartDate: s.GetStartDate(),
		RenewsOn: nullableText(s.GetRenewsOn()), LastDay: nullableText(s.GetLastDay()), AmountDue: amount(s.GetAmountDue()),
		PastDueSince: nullableTime(s.GetPastDueSince()), SuspendedFrom: nullableTime(s.GetSuspendedFrom()), AccountCredit: amount(s.GetAccountCredit()),
		RefundDue: amount(s.GetRefundDue()), RefundedAmount: amount(s.GetRefundedAmount()), EndReason: nullableText(enum.Name(s.GetEndReason())),
		CreatedAt: utc(s.GetCreatedAt()), UpdatedAt: utc(s.GetUpdatedAt()),
	}
	if p := s.GetCurrentPeriod(); p != nil {
		out.CurrentPeriod = SubscriptionPeriod(p)
	}
	schedule(out, s)
	return out
}

// schedule sets what is planned for a subscription. Members without a plan are absent.
func schedule(out *edgebv1.Subscription, s *subscriptionv1.Subscription) {
	if p := s.GetPause(); p != nil {
		out.Pause = &edgebv1.SubscriptionPause{FirstDay: p.GetFirstDay(), ResumesOn: nullableText(p.GetResumesOn()), Reason: p.GetReason()}
	}
	if c := s.GetPlanChange(); c != nil {
		out.PlanChange = &edgebv1.PlanChange{PlanId: c.GetPlanId(), On: c.GetOn()}
	}
	if c := s.GetCancellation(); c != nil {
		out.Cancellation = &edgebv1.SubscriptionCancellation{Reason: c.GetReason(), RequestedAt: utc(c.GetRequestedAt()), AtPeriodEnd: c.GetAtPeriodEnd()}
	}
}

// SubscriptionPeriod converts a period of a subscription.
func SubscriptionPeriod(p *subscriptionv1.Period) *edgebv1.SubscriptionPeriod {
	out := &edgebv1.SubscriptionPeriod{
		Number: p.GetNumber(), PlanId: p.GetPlanId(), FirstDay: p.GetFirstDay(), LastDay: p.GetLastDay(), Trial: p.GetTrial(), Price: amount(p.GetPrice()),
		Currency: p.GetCurrency(), CreditApplied: amount(p.GetCreditApplied()), AmountDue: amount(p.GetAmountDue()), PaymentStatus: enum.Name(p.GetPaymentStatus()),
		DueAt: nullableTime(p.GetDueAt()), FailureReason: p.GetFailureReason(), FailedAttempts: p.GetFailedAttempts(),
		CreditsGranted: p.GetCreditsGranted(), CreditsCarriedOver: p.GetCreditsCarriedOver(), CreditsExpired: p.GetCreditsExpired(),
		PausedDays: p.GetPausedDays(), UnusedValue: amount(p.GetUnusedValue()), Granted: p.GetGranted(),
	}
	if paid := p.GetPayment(); paid != nil {
		out.Payment = &edgebv1.SubscriptionPayment{
			Method: paid.GetMethod(), Reference: paid.GetReference(), Amount: amount(paid.GetAmount()), PaidAt: utc(paid.GetPaidAt()),
		}
	}
	return out
}

// AccountEntry converts a change of the account credit or the refund due of a subscription.
func AccountEntry(e *subscriptionv1.AccountEntry) *edgebv1.AccountEntry {
	return &edgebv1.AccountEntry{
		Sequence: e.GetSequence(), Kind: enum.Name(e.GetKind()), Credit: amount(e.GetCredit()), Refund: amount(e.GetRefund()),
		CreditBalance: amount(e.GetCreditBalance()), RefundBalance: amount(e.GetRefundBalance()), Period: limit(e.GetPeriod()),
		Reference: e.GetReference(), CreatedAt: utc(e.GetCreatedAt()),
	}
}

// PlanChangePreview converts what a change of plan would do.
func PlanChangePreview(p *subscriptionv1.PreviewPlanChangeResponse) *edgebv1.PreviewPlanChangeResponse {
	return &edgebv1.PreviewPlanChangeResponse{
		On: p.GetOn(), UnusedValue: amount(p.GetUnusedValue()), Price: amount(p.GetPrice()), CreditApplied: amount(p.GetCreditApplied()),
		AmountDue: amount(p.GetAmountDue()), AccountCredit: amount(p.GetAccountCredit()), Currency: p.GetCurrency(), RemainingCredits: p.GetRemainingCredits(),
		CreditsExpired: p.GetCreditsExpired(), CreditsCarriedOver: p.GetCreditsCarriedOver(), CreditsGranted: p.GetCreditsGranted(),
	}
}

// SubscriptionCancellationPreview converts what a cancellation of a subscription would do.
func SubscriptionCancellationPreview(p *subscriptionv1.PreviewCancellationResponse) *edgebv1.PreviewSubscriptionCancellationResponse {
	return &edgebv1.PreviewSubscriptionCancellationResponse{
		LastDay: p.GetLastDay(), RefundDue: amount(p.GetRefundDue()), AmountCancelled: amount(p.GetAmountCancelled()), Currency: p.GetCurrency(),
		MinimumTermApplies: p.GetMinimumTermApplies(), MinimumTermLastDay: nullableText(p.GetMinimumTermLastDay()),
	}
}

// SubscriptionSettings converts the dunning settings of a company.
func SubscriptionSettings(s *subscriptionv1.SubscriptionSettings) *edgebv1.SubscriptionSettings {
	return &edgebv1.SubscriptionSettings{
		PastDueAfterDays: s.GetPastDueAfterDays(), GraceDays: s.GetGraceDays(),
		ReminderDays: s.GetReminderDays(), EndAfterDays: nullableInt(s.EndAfterDays),
	}
}
