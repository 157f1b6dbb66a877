package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// ListSubscriptions is GET /customer/{id}/subscriptions.
func (f *facade) ListSubscriptions(ctx context.Context, req *edgeav1.ListSubscriptionsRequest) (*edgeav1.ListSubscriptionsResponse, error) {
	var q edge.Query
	p := newPage(&q, req.Page, req.PageSize)
	list := &subscriptionv1.ListSubscriptionsRequest{
		CustomerId: req.GetId(), CustomerMustExist: true, PageSize: p.size, Offset: p.offset(),
		Status: edge.QueryEnum[subscriptionv1.SubscriptionStatus](&q, "status", req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.subscriptions.ListSubscriptions(ctx, list)
	if err != nil {
		return nil, err
	}
	clock := companyClock(ctx)
	return &edgeav1.ListSubscriptionsResponse{
		Data:  edge.Convert(res.GetSubscriptions(), func(s *subscriptionv1.Subscription) *edgeav1.Subscription { return subscription(s, clock) }),
		Total: res.GetTotal(), Page: p.number, PageSize: p.size,
	}, nil
}

// GetSubscription is GET /customer/{id}/subscription/{subscriptionId}.
func (f *facade) GetSubscription(ctx context.Context, req *edgeav1.GetSubscriptionRequest) (*edgeav1.GetSubscriptionResponse, error) {
	res, err := f.subscriptions.GetSubscription(ctx, &subscriptionv1.GetSubscriptionRequest{Id: req.GetSubscriptionId(), CustomerId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetSubscriptionResponse{Data: subscription(edge.Tag(ctx, res.GetSubscription()), companyClock(ctx))}, nil
}
