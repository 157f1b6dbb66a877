package subscription

import (
	"context"

	"reservation.dev/platform/id"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// restoreBatch is the number of subscriptions in one commit of RestoreCustomerPasses.
const restoreBatch = 500

// RestoreCustomerPasses implements SubscriptionService. The job sends the passes. It can be repeated, so that a
// request needs no idempotency key.
func (s *Server) RestoreCustomerPasses(ctx context.Context, _ *subscriptionv1.RestoreCustomerPassesRequest) (*subscriptionv1.RestoreCustomerPassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.store.restorePlans(ctx, company.ID, s.now()); err != nil {
		return nil, err
	}
	resp := &subscriptionv1.RestoreCustomerPassesResponse{}
	for after := (id.Subscription{}); ; {
		last, n, err := s.store.restorePasses(ctx, company.ID, after, restoreBatch, s.now())
		if err != nil {
			return nil, err
		}
		resp.Subscriptions += int64(n)
		if n < restoreBatch {
			return resp, nil
		}
		after = last
	}
}
