package subscription

import (
	"context"

	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// RestoreCustomerPasses implements SubscriptionService. The job sends the passes.
func (s *Server) RestoreCustomerPasses(ctx context.Context, req *subscriptionv1.RestoreCustomerPassesRequest) (*subscriptionv1.RestoreCustomerPassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.RestoreCustomerPassesResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		n, err := s.store.restorePasses(ctx, tx, company.ID, s.now())
		resp.Subscriptions = n
		return err
	})
}
