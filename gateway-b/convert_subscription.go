package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// newSubscription converts the body of POST /subscriptions.
func newSubscription(in *edgebv1.SubscriptionCreate) (*subscriptionv1.CreateSubscriptionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("customerId", in.GetCustomerId())
	b.required("planId", in.GetPlanId())
	b.notEmpty("startDate", in.StartDate)
	return &subscriptionv1.CreateSubscriptionRequest{
		CustomerId: in.GetCustomerId(), PlanId: in.GetPlanId(), StartDate: in.GetStartDate(), SkipTrial: in.GetSkipTrial(),
		Payment: b.subscriptionPayment(in.GetPayment()),
	}, b.Err()
}

// subscriptionPayment converts the payment of a period. nil, which means that nothing was paid, stays nil.
func (b *body) subscriptionPayment(in *edgebv1.SubscriptionPaymentWrite) *subscriptionv1.SubscriptionPayment {
	if in == nil {
		return nil
	}
	choice[int32](b, "payment.method", in.Method, money.SubscriptionMethods())
	out := &subscriptionv1.SubscriptionPayment{Method: in.GetMethod(), Reference: in.GetReference()}
	if in.GetAmount() != nil {
		out.Amount = &in.GetAmount().Minor
	}
	return out
}

// pause converts the body of POST /subscriptions/{id}/pause.
func pause(in *edgebv1.SubscriptionPauseWrite) (*subscriptionv1.PauseSubscriptionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("firstDay", in.FirstDay)
	b.notEmpty("resumesOn", in.ResumesOn)
	return &subscriptionv1.PauseSubscriptionRequest{FirstDay: in.GetFirstDay(), ResumesOn: in.GetResumesOn(), Reason: in.GetReason()}, b.Err()
}

// resumption converts the body of POST /subscriptions/{id}/resume.
func resumption(in *edgebv1.SubscriptionResumption) (*subscriptionv1.ResumeSubscriptionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("on", in.On)
	return &subscriptionv1.ResumeSubscriptionRequest{On: in.GetOn()}, b.Err()
}

// planChange converts the body of POST /subscriptions/{id}/change-plan.
func planChange(in *edgebv1.PlanChangeWrite) (*subscriptionv1.ChangePlanRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("planId", in.GetPlanId())
	out := &subscriptionv1.ChangePlanRequest{
		PlanId: in.GetPlanId(), When: value[subscriptionv1.ChangeTime](&b, "when", in.When), Payment: b.subscriptionPayment(in.GetPayment()),
	}
	return out, b.Err()
}

// cancellation converts the body of POST /subscriptions/{id}/cancel.
func cancellation(in *edgebv1.SubscriptionCancellationWrite) (*subscriptionv1.CancelSubscriptionRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &subscriptionv1.CancelSubscriptionRequest{
		When: value[subscriptionv1.ChangeTime](&b, "when", in.When), Reason: in.GetReason(), Prorate: in.GetProrate(), WaiveMinimumTerm: in.GetWaiveMinimumTerm(),
	}
	return out, b.Err()
}

// paymentRecord converts the body of POST /subscriptions/{id}/record-payment.
func paymentRecord(in *edgebv1.PaymentRecord) (*subscriptionv1.RecordPaymentRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &subscriptionv1.RecordPaymentRequest{Period: b.period(in.Period), Payment: b.subscriptionPayment(in.GetPayment())}
	return out, b.Err()
}

// period reads the number of a period. It is required: for the service, 0 is the oldest unpaid period, so
// a request that is sent twice would record two payments.
func (b *body) period(number *int32) int32 {
	switch {
	case number == nil:
		b.required("period", "")
		return 0
	case *number < 1:
		b.Add("period", "min", "must be 1 or more")
	}
	return *number
}

// remark converts the body of POST /subscriptions/{id}/record-failure and of …/waive-payment.
func remark(in *edgebv1.PaymentRemark) (period int32, reason string, err error) {
	in = edge.OrEmpty(in)
	var b body
	return b.period(in.Period), in.GetReason(), b.Err()
}

// subscriptionRefund converts the body of POST /subscriptions/{id}/record-refund.
func subscriptionRefund(in *edgebv1.SubscriptionRefundWrite) (*subscriptionv1.RecordRefundRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &subscriptionv1.RecordRefundRequest{Reference: in.GetReference()}
	if in.GetAmount() != nil {
		out.Amount = &in.GetAmount().Minor
		if out.GetAmount() < 1 {
			b.Add("amount", "range", "must be more than 0")
		}
	}
	return out, b.Err()
}

// subscriptionSettings converts the body of PUT /subscription-settings, which has all settings.
func subscriptionSettings(in *edgebv1.SubscriptionSettingsWrite) (*subscriptionv1.SubscriptionSettings, error) {
	in = edge.OrEmpty(in)
	var b body
	for _, member := range []struct {
		name   string
		absent bool
	}{
		{"pastDueAfterDays", in.PastDueAfterDays == nil}, {"graceDays", in.GraceDays == nil},
		{"reminderDays", in.GetReminderDays() == nil}, {"endAfterDays", in.GetEndAfterDays() == nil},
	} {
		if member.absent {
			b.required(member.name, "")
		}
	}
	return &subscriptionv1.SubscriptionSettings{
		PastDueAfterDays: in.GetPastDueAfterDays(), GraceDays: in.GetGraceDays(), ReminderDays: in.GetReminderDays().GetValues(),
		EndAfterDays: edge.OrEmpty(in.GetEndAfterDays()).Value,
	}, b.Err()
}

// amountFault gives the fault of an amount the units of Interface B: the service names amounts in minor
// units.
func amountFault(err error, phrases map[string]string) error {
	f := fault.From(err)
	for i := range f.Fields {
		if phrase := phrases[f.Fields[i].Field]; phrase != "" {
			f.Fields[i].Message = phrase
			f.Message = f.Fields[0].Field + " " + f.Fields[0].Message
		}
	}
	return f
}

// paymentFault is amountFault for the payment of a period.
func paymentFault(err error) error {
	return amountFault(err, map[string]string{"payment.amount": "must be the amount due"})
}
