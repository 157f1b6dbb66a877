package subscription

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

func planMessage(p planRow) *subscriptionv1.Plan {
	out := &subscriptionv1.Plan{
		Id: p.ID.String(), Title: p.Title, Description: p.Description, Price: p.Price, Currency: p.Currency,
		IntervalUnit: enumValue[subscriptionv1.IntervalUnit](p.Unit), IntervalCount: p.Count,
		TrialDays: p.TrialDays, MinimumPeriods: p.MinimumPeriods,
		Bookings: enumValue[subscriptionv1.PlanBookings](p.Bookings), Credits: p.Credits, MaxRollover: p.MaxRollover,
		EligibleEventTypes: p.EligibleEventTypes, MediaCollectionIds: collectionIDs(p.Collections),
		Status: enumValue[subscriptionv1.PlanStatus](p.Status), Version: p.Version,
		CreatedAt: timestamppb.New(p.CreatedAt), UpdatedAt: timestamppb.New(p.UpdatedAt),
	}
	if p.Bookings != model.BookingsNone {
		out.PassTypeId = id.PassType(p.ID.UUID()).String()
	}
	return out
}

func collectionIDs(in []id.Collection) []string {
	out := make([]string, len(in))
	for i, c := range in {
		out[i] = c.String()
	}
	return out
}

// subscriptionMessage returns the message of a subscription with its current period. An empty view has none.
func subscriptionMessage(v model.View, loc *time.Location) *subscriptionv1.Subscription {
	if v.ID.IsZero() {
		return nil
	}
	out := &subscriptionv1.Subscription{
		Id: v.ID.String(), CustomerId: v.CustomerID.String(), PlanId: v.PlanID.String(), PlanTitle: v.PlanTitle,
		Status: enumValue[subscriptionv1.SubscriptionStatus](v.Status), Terms: termsMessage(v.Terms),
		StartDate: dayText(&v.StartDay), CurrentPeriod: periodMessage(v.Current, loc),
		RenewsOn: dayText(v.RenewsOn()), LastDay: dayText(v.LastDay),
		AmountDue: v.AmountDue, PastDueSince: instant(v.PastDueSince), SuspendedFrom: instant(v.SuspendedFrom),
		AccountCredit: v.AccountCredit, RefundDue: v.RefundDue, RefundedAmount: v.RefundedAmount,
		CreatedAt: timestamppb.New(v.CreatedAt), UpdatedAt: timestamppb.New(v.UpdatedAt), Version: v.Version,
		EndReason: enumValue[subscriptionv1.EndReason](v.EndReason), MediaCollectionIds: collectionIDs(v.Collections),
	}
	if v.HasPass {
		out.CustomerPassId = passOf(v.ID).String()
	}
	if v.PauseFirstDay != nil {
		out.Pause = &subscriptionv1.Pause{FirstDay: dayText(v.PauseFirstDay), ResumesOn: dayText(v.PauseResumesOn), Reason: v.PauseReason}
	}
	if v.NextPlanID != nil {
		out.PlanChange = &subscriptionv1.PlanChange{PlanId: v.NextPlanID.String(), On: dayText(v.PlanChangeOn())}
	}
	if v.CancelledAt != nil {
		out.Cancellation = &subscriptionv1.Cancellation{
			Reason: v.CancelReason, RequestedAt: timestamppb.New(*v.CancelledAt), AtPeriodEnd: v.CancelAtPeriodEnd,
		}
	}
	return out
}

func termsMessage(t model.Terms) *subscriptionv1.Terms {
	return &subscriptionv1.Terms{
		Price: t.Price, Currency: t.Currency, IntervalUnit: enumValue[subscriptionv1.IntervalUnit](t.Unit), IntervalCount: t.Count,
		Bookings: enumValue[subscriptionv1.PlanBookings](t.Bookings), Credits: t.Credits, MaxRollover: t.MaxRollover,
		MinimumPeriods: t.MinimumPeriods,
	}
}

func periodMessage(p model.Period, loc *time.Location) *subscriptionv1.Period {
	out := &subscriptionv1.Period{
		Number: p.Number, PlanId: p.PlanID.String(), FirstDay: dayText(&p.FirstDay), LastDay: dayText(&p.LastDay), Trial: p.Trial,
		Price: p.Price, Currency: p.Currency, CreditApplied: p.CreditApplied, AmountDue: p.AmountDue,
		PaymentStatus: enumValue[subscriptionv1.PaymentStatus](p.PaymentStatus), DueAt: instant(p.DueAt),
		FailureReason: p.FailureReason, FailedAttempts: p.FailedAttempts,
		CreditsGranted: p.CreditsGranted, CreditsCarriedOver: p.CreditsCarriedOver, CreditsExpired: p.CreditsExpired, Granted: p.Granted,
		PausedDays: p.PausedDays, UnusedValue: p.UnusedValue,
	}
	if p.PaidAt != nil {
		out.Payment = &subscriptionv1.SubscriptionPayment{
			Method: p.PaymentMethod, Reference: p.PaymentReference, Amount: &p.PaidAmount, PaidAt: timestamppb.New(*p.PaidAt),
			PaidOn: zone.StoredDay(p.PaidOn, *p.PaidAt, p.EarlierZone, loc),
		}
	}
	return out
}

func entryMessage(e model.AccountEntry, loc *time.Location) *subscriptionv1.AccountEntry {
	return &subscriptionv1.AccountEntry{
		Sequence: e.Sequence, Kind: enumValue[subscriptionv1.AccountEntryKind](e.Kind), Credit: e.Credit, Refund: e.Refund,
		CreditBalance: e.CreditBalance, RefundBalance: e.RefundBalance, Period: e.Period, Reference: e.Reference,
		CreatedAt: timestamppb.New(e.CreatedAt), Actor: e.Actor,
		Day: zone.StoredDay(e.Day, e.CreatedAt, e.EarlierZone, loc),
	}
}

func settingsMessage(n model.Settings) *subscriptionv1.SubscriptionSettings {
	return &subscriptionv1.SubscriptionSettings{
		PastDueAfterDays: n.PastDueAfterDays, GraceDays: n.GraceDays, ReminderDays: n.ReminderDays, EndAfterDays: n.EndAfterDays, Version: n.Version,
	}
}

func planChangeMessage(p model.PlanChangePreview) *subscriptionv1.PreviewPlanChangeResponse {
	return &subscriptionv1.PreviewPlanChangeResponse{
		On: dayText(&p.On), UnusedValue: p.UnusedValue, Price: p.Price, CreditApplied: p.CreditApplied, AmountDue: p.AmountDue,
		AccountCredit: p.AccountCredit, Currency: p.Currency, RemainingCredits: p.RemainingCredits,
		CreditsExpired: p.CreditsExpired, CreditsCarriedOver: p.CreditsCarriedOver, CreditsGranted: p.CreditsGranted,
	}
}

func cancellationMessage(p model.CancellationPreview) *subscriptionv1.PreviewCancellationResponse {
	return &subscriptionv1.PreviewCancellationResponse{
		LastDay: dayText(&p.LastDay), RefundDue: p.RefundDue, AmountCancelled: p.AmountCancelled, Currency: p.Currency,
		MinimumTermApplies: p.MinimumTermApplies, MinimumTermLastDay: dayText(p.MinimumTermLastDay),
	}
}

// passOf returns the customer pass of a subscription, which has the same UUID.
func passOf(s id.Subscription) id.CustomerPass { return id.CustomerPass(s.UUID()) }

// dayText returns a day as YYYY-MM-DD, or "" for nil.
func dayText(day *time.Time) string {
	if day == nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

func movementMessages(all []model.Movement, loc *time.Location) []*subscriptionv1.SubscriptionMovement {
	var out []*subscriptionv1.SubscriptionMovement
	for _, m := range all {
		out = append(out, &subscriptionv1.SubscriptionMovement{
			Period: m.Period, AccountEntry: m.Entry, Amount: m.Amount, Currency: m.Currency, Method: m.Method, PlanId: m.Plan.String(),
			At: timestamppb.New(m.At), Day: zone.StoredDay(m.Day, m.At, m.EarlierZone, loc),
		})
	}
	return out
}

// instant returns a time, or nil for nil.
func instant(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}

// enumValue returns the enum value with a stored name.
func enumValue[E enum.Enum, N ~string](name N) E {
	v, _ := enum.Parse[E](string(name))
	return v
}
