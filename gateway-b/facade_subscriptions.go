package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// ListSubscriptions is GET /subscriptions.
func (f *facade) ListSubscriptions(ctx context.Context, req *edgebv1.ListSubscriptionsRequest) (*edgebv1.ListSubscriptionsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	due := q.Bool("paymentDue", req.PaymentDue)
	list := &subscriptionv1.ListSubscriptionsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: subscriptionv1.SubscriptionOrder(p.sort),
		CustomerId: identifier(req.CustomerId), PlanId: identifier(req.PlanId), PaymentDue: due != nil && *due,
		Status: edge.QueryEnum[subscriptionv1.SubscriptionStatus](&q, "status", req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.subscriptions.ListSubscriptions(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListSubscriptionsResponse{
		Subscriptions: edge.Convert(res.GetSubscriptions(), resource.Subscription),
		Total:         res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetSubscription is GET /subscriptions/{id}.
func (f *facade) GetSubscription(ctx context.Context, req *edgebv1.GetSubscriptionRequest) (*edgebv1.GetSubscriptionResponse, error) {
	res, err := f.subscriptions.GetSubscription(ctx, &subscriptionv1.GetSubscriptionRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetSubscriptionResponse{Subscription: taggedSubscription(ctx, res)}, nil
}

// CreateSubscription is POST /subscriptions.
func (f *facade) CreateSubscription(ctx context.Context, req *edgebv1.CreateSubscriptionRequest) (*edgebv1.CreateSubscriptionResponse, error) {
	create, err := newSubscription(req.GetSubscription())
	if err != nil {
		return nil, err
	}
	res, err := f.subscriptions.CreateSubscription(ctx, create)
	if err != nil {
		return nil, paymentFault(err)
	}
	return &edgebv1.CreateSubscriptionResponse{
		Subscription: resource.Subscription(setCreated(ctx, "subscriptions", res.GetSubscription())),
	}, nil
}

// ListSubscriptionPeriods is GET /subscriptions/{id}/periods.
func (f *facade) ListSubscriptionPeriods(ctx context.Context, req *edgebv1.ListSubscriptionPeriodsRequest) (*edgebv1.ListSubscriptionPeriodsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, sort: req.Sort}, ledgerOrders)
	if err := q.Err(); err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.ListPeriods(ctx, &subscriptionv1.ListPeriodsRequest{
		SubscriptionId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), Descending: p.sort != orderCreated,
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListSubscriptionPeriodsResponse{
		Periods: edge.Convert(res.GetPeriods(), resource.SubscriptionPeriod),
		Total:   res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// ListAccountEntries is GET /subscriptions/{id}/account-entries.
func (f *facade) ListAccountEntries(ctx context.Context, req *edgebv1.ListAccountEntriesRequest) (*edgebv1.ListAccountEntriesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, sort: req.Sort}, ledgerOrders)
	if err := q.Err(); err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.ListAccountEntries(ctx, &subscriptionv1.ListAccountEntriesRequest{
		SubscriptionId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), Descending: p.sort != orderCreated,
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListAccountEntriesResponse{
		AccountEntries: edge.Convert(res.GetEntries(), resource.AccountEntry),
		Total:          res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// PreviewPlanChange is GET /subscriptions/{id}/plan-change-preview.
func (f *facade) PreviewPlanChange(ctx context.Context, req *edgebv1.PreviewPlanChangeRequest) (*edgebv1.PreviewPlanChangeResponse, error) {
	var q edge.Query
	preview := &subscriptionv1.PreviewPlanChangeRequest{
		Id: req.GetId(), PlanId: queryRequired(&q, "planId", req.PlanId), When: edge.QueryEnum[subscriptionv1.ChangeTime](&q, "when", req.When),
	}
	if err := q.Err(); err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.PreviewPlanChange(ctx, preview)
	if err != nil {
		return nil, err
	}
	return resource.PlanChangePreview(res), nil
}

// PreviewSubscriptionCancellation is GET /subscriptions/{id}/cancellation-preview.
func (f *facade) PreviewSubscriptionCancellation(ctx context.Context, req *edgebv1.PreviewSubscriptionCancellationRequest) (*edgebv1.PreviewSubscriptionCancellationResponse, error) {
	var q edge.Query
	prorate, waive := q.Bool("prorate", req.Prorate), q.Bool("waiveMinimumTerm", req.WaiveMinimumTerm)
	preview := &subscriptionv1.PreviewCancellationRequest{
		Id: req.GetId(), When: edge.QueryEnum[subscriptionv1.ChangeTime](&q, "when", req.When),
		Prorate: prorate != nil && *prorate, WaiveMinimumTerm: waive != nil && *waive,
	}
	if err := q.Err(); err != nil {
		return nil, f.missingSubscriptionOr(ctx, req.GetId(), err)
	}
	res, err := f.subscriptions.PreviewCancellation(ctx, preview)
	if err != nil {
		return nil, err
	}
	return resource.SubscriptionCancellationPreview(res), nil
}

// taggedSubscription converts the subscription of a response and sets the ETag of the gateway's response.
func taggedSubscription(ctx context.Context, res interface {
	GetSubscription() *subscriptionv1.Subscription
}) *edgebv1.Subscription {
	return resource.Subscription(edge.Tag(ctx, res.GetSubscription()))
}

// missingSubscriptionOr is missingEventOr for a subscription.
func (f *facade) missingSubscriptionOr(ctx context.Context, id string, wrong error) error {
	_, look := f.subscriptions.GetSubscription(ctx, &subscriptionv1.GetSubscriptionRequest{Id: id})
	return missingOr(look, wrong)
}
