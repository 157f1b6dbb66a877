package subscription

import (
	"cmp"
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// PauseSubscription implements SubscriptionService.
func (s *Server) PauseSubscription(ctx context.Context, req *subscriptionv1.PauseSubscriptionRequest) (*subscriptionv1.PauseSubscriptionResponse, error) {
	var d days
	in := model.PauseRequest{FirstDay: d.optional("first_day", req.GetFirstDay()), ResumesOn: d.optional("resumes_on", req.GetResumesOn())}
	invalid := d.Err()
	resp := &subscriptionv1.PauseSubscriptionResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		if invalid != nil {
			return nil, invalid
		}
		in.Reason = a.text(req.GetReason())
		return a.Pause(a.Clock, in)
	}})
}

// ResumeSubscription implements SubscriptionService.
func (s *Server) ResumeSubscription(ctx context.Context, req *subscriptionv1.ResumeSubscriptionRequest) (*subscriptionv1.ResumeSubscriptionResponse, error) {
	var d days
	on := d.optional("on", req.GetOn())
	invalid := d.Err()
	resp := &subscriptionv1.ResumeSubscriptionResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		if invalid != nil {
			return nil, invalid
		}
		return a.Resume(a.Clock, on)
	}})
}

// ChangePlan implements SubscriptionService.
func (s *Server) ChangePlan(ctx context.Context, req *subscriptionv1.ChangePlanRequest) (*subscriptionv1.ChangePlanResponse, error) {
	now, plan, err := planChangeOf(req.GetWhen(), req.GetPlanId())
	if err != nil {
		return nil, err
	}
	left := s.creditsIf(ctx, now, req.GetId())
	resp := &subscriptionv1.ChangePlanResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		in, err := s.planChange(a, now, plan, left)
		if err != nil {
			return nil, err
		}
		if in.Payment = paymentOf(req.GetPayment()); in.Payment != nil {
			in.Payment.Reference = a.text(in.Payment.Reference)
		}
		return a.ChangePlan(a.Clock, in)
	}})
}

// planChangeOf reads when the plan changes, and to which plan.
func planChangeOf(when subscriptionv1.ChangeTime, to string) (now bool, plan id.Plan, err error) {
	if now, err = isNow("when", when); err != nil {
		return now, plan, err
	}
	plan, err = check.ID[id.Plan](to, "plan")
	return now, plan, err
}

// planChange returns a change of plan. The new plan does not change until the commit.
func (s *Server) planChange(a acting, now bool, plan id.Plan, left creditsLeft) (model.PlanChangeRequest, error) {
	p, err := s.store.sharePlan(a, a.tx, a.company.ID, plan)
	if err != nil {
		return model.PlanChangeRequest{}, err
	}
	credits, err := left.of(a.View())
	return model.PlanChangeRequest{Plan: p.Plan, Now: now, CreditsLeft: credits}, err
}

// WithdrawPlanChange implements SubscriptionService.
func (s *Server) WithdrawPlanChange(ctx context.Context, req *subscriptionv1.WithdrawPlanChangeRequest) (*subscriptionv1.WithdrawPlanChangeResponse, error) {
	resp := &subscriptionv1.WithdrawPlanChangeResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		return a.WithdrawPlanChange(a.Clock)
	}})
}

// CancelSubscription implements SubscriptionService.
func (s *Server) CancelSubscription(ctx context.Context, req *subscriptionv1.CancelSubscriptionRequest) (*subscriptionv1.CancelSubscriptionResponse, error) {
	now, err := isNow("when", req.GetWhen())
	if err != nil {
		return nil, err
	}
	left := s.creditsIf(ctx, now && req.GetProrate(), req.GetId())
	resp := &subscriptionv1.CancelSubscriptionResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		credits, err := left.of(a.View())
		if err != nil {
			return nil, err
		}
		return a.Cancel(a.Clock, model.CancelRequest{
			Now: now, Reason: a.text(req.GetReason()), Prorate: req.GetProrate(), WaiveTerm: req.GetWaiveMinimumTerm(), CreditsLeft: credits,
		})
	}})
}

// WithdrawCancellation implements SubscriptionService.
func (s *Server) WithdrawCancellation(ctx context.Context, req *subscriptionv1.WithdrawCancellationRequest) (*subscriptionv1.WithdrawCancellationResponse, error) {
	resp := &subscriptionv1.WithdrawCancellationResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		return a.WithdrawCancellation(a.Clock)
	}})
}

// RecordPayment implements SubscriptionService.
func (s *Server) RecordPayment(ctx context.Context, req *subscriptionv1.RecordPaymentRequest) (*subscriptionv1.RecordPaymentResponse, error) {
	resp := &subscriptionv1.RecordPaymentResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, period: req.GetPeriod(), decide: func(a acting) ([]model.Step, error) {
		if err := checkPeriod(req.GetPeriod()); err != nil {
			return nil, err
		}
		in := model.Payment{}
		if given := paymentOf(req.GetPayment()); given != nil {
			in = *given
			in.Reference = a.text(in.Reference)
		}
		return a.RecordPayment(a.Clock, req.GetPeriod(), in)
	}})
}

// RecordPaymentFailure implements SubscriptionService.
func (s *Server) RecordPaymentFailure(ctx context.Context, req *subscriptionv1.RecordPaymentFailureRequest) (*subscriptionv1.RecordPaymentFailureResponse, error) {
	resp := &subscriptionv1.RecordPaymentFailureResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, period: req.GetPeriod(), decide: func(a acting) ([]model.Step, error) {
		if err := checkPeriod(req.GetPeriod()); err != nil {
			return nil, err
		}
		return a.RecordFailure(a.Clock, req.GetPeriod(), a.text(req.GetReason()))
	}})
}

// WaivePayment implements SubscriptionService.
func (s *Server) WaivePayment(ctx context.Context, req *subscriptionv1.WaivePaymentRequest) (*subscriptionv1.WaivePaymentResponse, error) {
	resp := &subscriptionv1.WaivePaymentResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, period: req.GetPeriod(), decide: func(a acting) ([]model.Step, error) {
		if err := checkPeriod(req.GetPeriod()); err != nil {
			return nil, err
		}
		return a.Waive(a.Clock, req.GetPeriod(), a.text(req.GetReason()))
	}})
}

// checkPeriod checks the number of a period in a request.
func checkPeriod(number int32) error {
	if number < 0 {
		return fault.InvalidFields(fault.Field{Field: "period", Rule: "range", Message: "must be 0 or more"})
	}
	return nil
}

// RecordRefund implements SubscriptionService.
func (s *Server) RecordRefund(ctx context.Context, req *subscriptionv1.RecordRefundRequest) (*subscriptionv1.RecordRefundResponse, error) {
	resp := &subscriptionv1.RecordRefundResponse{}
	return act(ctx, s, req, resp, &resp.Subscription, action{id: req.GetId(), expected: req.ExpectedVersion, decide: func(a acting) ([]model.Step, error) {
		method, err := s.store.lastMethod(a, a.tx, a.company.ID, a.ID)
		if err != nil {
			return nil, err
		}
		return a.RecordRefund(a.Clock, req.Amount, cmp.Or(method, money.MethodOther), a.text(req.GetReference()))
	}})
}
