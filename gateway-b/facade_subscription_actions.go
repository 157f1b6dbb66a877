package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// PauseSubscription is POST /subscriptions/{id}/pause.
func (f *facade) PauseSubscription(ctx context.Context, req *edgebv1.PauseSubscriptionRequest) (*edgebv1.PauseSubscriptionResponse, error) {
	call, err := pause(req.GetPause())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.PauseSubscription(ctx, call)
	if err != nil {
		return nil, err
	}
	return &edgebv1.PauseSubscriptionResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// ResumeSubscription is POST /subscriptions/{id}/resume.
func (f *facade) ResumeSubscription(ctx context.Context, req *edgebv1.ResumeSubscriptionRequest) (*edgebv1.ResumeSubscriptionResponse, error) {
	call, err := resumption(req.GetResumption())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.ResumeSubscription(ctx, call)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ResumeSubscriptionResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// ChangePlan is POST /subscriptions/{id}/change-plan.
func (f *facade) ChangePlan(ctx context.Context, req *edgebv1.ChangePlanRequest) (*edgebv1.ChangePlanResponse, error) {
	call, err := planChange(req.GetChange())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.ChangePlan(ctx, call)
	if err != nil {
		return nil, paymentFault(err)
	}
	return &edgebv1.ChangePlanResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// WithdrawPlanChange is POST /subscriptions/{id}/withdraw-plan-change.
func (f *facade) WithdrawPlanChange(ctx context.Context, req *edgebv1.WithdrawPlanChangeRequest) (*edgebv1.WithdrawPlanChangeResponse, error) {
	res, err := f.subscriptions.WithdrawPlanChange(ctx, &subscriptionv1.WithdrawPlanChangeRequest{
		Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.WithdrawPlanChangeResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// CancelSubscription is POST /subscriptions/{id}/cancel.
func (f *facade) CancelSubscription(ctx context.Context, req *edgebv1.CancelSubscriptionRequest) (*edgebv1.CancelSubscriptionResponse, error) {
	call, err := cancellation(req.GetCancellation())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.CancelSubscription(ctx, call)
	if err != nil {
		return nil, err
	}
	return &edgebv1.CancelSubscriptionResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// WithdrawCancellation is POST /subscriptions/{id}/withdraw-cancellation.
func (f *facade) WithdrawCancellation(ctx context.Context, req *edgebv1.WithdrawCancellationRequest) (*edgebv1.WithdrawCancellationResponse, error) {
	res, err := f.subscriptions.WithdrawCancellation(ctx, &subscriptionv1.WithdrawCancellationRequest{
		Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.WithdrawCancellationResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// RecordPayment is POST /subscriptions/{id}/record-payment.
func (f *facade) RecordPayment(ctx context.Context, req *edgebv1.RecordPaymentRequest) (*edgebv1.RecordPaymentResponse, error) {
	call, err := paymentRecord(req.GetRecord())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.RecordPayment(ctx, call)
	if err != nil {
		return nil, paymentFault(err)
	}
	return &edgebv1.RecordPaymentResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// RecordPaymentFailure is POST /subscriptions/{id}/record-failure.
func (f *facade) RecordPaymentFailure(ctx context.Context, req *edgebv1.RecordPaymentFailureRequest) (*edgebv1.RecordPaymentFailureResponse, error) {
	period, reason, err := remark(req.GetFailure())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.RecordPaymentFailure(ctx, &subscriptionv1.RecordPaymentFailureRequest{
		Id: req.GetId(), Period: period, Reason: reason, ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.RecordPaymentFailureResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// WaivePayment is POST /subscriptions/{id}/waive-payment.
func (f *facade) WaivePayment(ctx context.Context, req *edgebv1.WaivePaymentRequest) (*edgebv1.WaivePaymentResponse, error) {
	period, reason, err := remark(req.GetWaiver())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.WaivePayment(ctx, &subscriptionv1.WaivePaymentRequest{
		Id: req.GetId(), Period: period, Reason: reason, ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.WaivePaymentResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// RecordRefund is POST /subscriptions/{id}/record-refund.
func (f *facade) RecordRefund(ctx context.Context, req *edgebv1.RecordRefundRequest) (*edgebv1.RecordRefundResponse, error) {
	call, err := subscriptionRefund(req.GetRefund())
	if err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	call.Id, call.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.subscriptions.RecordRefund(ctx, call)
	if err != nil {
		return nil, amountFault(err, map[string]string{"amount": "must be at most the refund due"})
	}
	return &edgebv1.RecordRefundResponse{Subscription: taggedSubscription(ctx, res)}, nil
}
