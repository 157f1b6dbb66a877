package subscription

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

const (
	// snapshotPlans is the number of plans in a message of a snapshot.
	snapshotPlans = 500
	// snapshotSubscriptions is the number of subscriptions that a snapshot reads at a time, and snapshotMovements
	// the number of movements after which a message is sent.
	snapshotSubscriptions = 100
	snapshotMovements     = 5000
)

// StreamPlans implements SubscriptionSnapshotService.
func (s *Server) StreamPlans(req *subscriptionv1.StreamPlansRequest, out grpc.ServerStreamingServer[subscriptionv1.StreamPlansResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.Plan]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	return page.Keyset[id.Plan, planRow]{
		Size: snapshotPlans, Key: func(p *planRow) id.Plan { return p.ID },
		Read: func(ctx context.Context, after id.Plan) ([]planRow, error) {
			return s.store.snapshotPlans(ctx, company.ID, after, snapshotPlans)
		},
		Send: func(all []planRow) error {
			resp := &subscriptionv1.StreamPlansResponse{Plans: make([]*subscriptionv1.Plan, len(all))}
			for i, p := range all {
				resp.Plans[i] = planMessage(p)
			}
			return out.Send(resp)
		},
	}.Stream(out.Context(), after)
}

// StreamSubscriptionMovements implements SubscriptionSnapshotService.
func (s *Server) StreamSubscriptionMovements(req *subscriptionv1.StreamSubscriptionMovementsRequest,
	out grpc.ServerStreamingServer[subscriptionv1.StreamSubscriptionMovementsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.Subscription]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	return page.Keyset[id.Subscription, paidSubscription]{
		Size: snapshotSubscriptions, Key: func(p *paidSubscription) id.Subscription { return p.ID },
		Read: func(ctx context.Context, after id.Subscription) ([]paidSubscription, error) {
			return s.store.paidSubscriptions(ctx, company.ID, after, snapshotSubscriptions)
		},
		Send: func(all []paidSubscription) error {
			resp, movements := &subscriptionv1.StreamSubscriptionMovementsResponse{}, 0
			for i, p := range all {
				resp.Subscriptions = append(resp.Subscriptions, &subscriptionv1.SubscriptionMovements{
					SubscriptionId: p.ID.String(), CustomerId: p.CustomerID.String(), Movements: movementMessages(p.Movements, company.zone),
				})
				if movements += len(p.Movements); movements < snapshotMovements && i < len(all)-1 {
					continue
				}
				if err := out.Send(resp); err != nil {
					return err
				}
				resp, movements = &subscriptionv1.StreamSubscriptionMovementsResponse{}, 0
			}
			return nil
		},
	}.Stream(out.Context(), after)
}
