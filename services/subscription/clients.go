package subscription

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Calls to other services use the subscription service's own credential, because a caller with the right
// to manage subscriptions does not need the right to read customers or passes.

// Passes calls the pass service.
type Passes interface {
	// SyncPlan creates or updates the pass type of a plan.
	SyncPlan(ctx context.Context, company id.Company, t *passv1.PlanPassType) error
	// SyncSubscription sends the state of a subscription's pass. Refusals are returned as faults.
	SyncSubscription(ctx context.Context, company id.Company, req *passv1.SyncSubscriptionPassRequest) (*passv1.SyncSubscriptionPassResponse, error)
	// CreditsLeft returns the remaining uses of a customer pass, or 0 if it does not exist.
	CreditsLeft(ctx context.Context, company id.Company, pass id.CustomerPass) (int32, error)
}

// passClient calls the pass service.
type passClient struct {
	passes        passv1.PassServiceClient
	subscriptions passv1.SubscriptionPassServiceClient
	source        *token.Source
}

// NewPasses returns a client of the pass service that uses conn and the tokens of source.
func NewPasses(conn grpc.ClientConnInterface, source *token.Source) Passes {
	return &passClient{
		passes: passv1.NewPassServiceClient(conn), subscriptions: passv1.NewSubscriptionPassServiceClient(conn), source: source,
	}
}

// SyncPlan implements Passes.
func (c *passClient) SyncPlan(ctx context.Context, company id.Company, t *passv1.PlanPassType) error {
	_, err := c.subscriptions.SyncPlanPassType(rpc.As(ctx, c.source, company), &passv1.SyncPlanPassTypeRequest{PassType: t})
	return rpc.OwnError("pass", err)
}

// SyncSubscription implements Passes.
func (c *passClient) SyncSubscription(ctx context.Context, company id.Company, req *passv1.SyncSubscriptionPassRequest) (*passv1.SyncSubscriptionPassResponse, error) {
	resp, err := c.subscriptions.SyncSubscriptionPass(rpc.As(ctx, c.source, company), req)
	if f := fault.From(err); f != nil && f.Kind == fault.Refused {
		return nil, f
	}
	return resp, rpc.OwnError("pass", err)
}

// CreditsLeft implements Passes.
func (c *passClient) CreditsLeft(ctx context.Context, company id.Company, pass id.CustomerPass) (int32, error) {
	resp, err := c.passes.GetCustomerPass(rpc.As(ctx, c.source, company), &passv1.GetCustomerPassRequest{Id: pass.String()})
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, rpc.OwnError("pass", err)
	}
	return resp.GetCustomerPass().GetRemainingUses(), nil
}

// Media looks collections up in the media service. Its errors are faults.
type Media interface {
	// Missing reports whether one of the collections, at most 50, does not exist.
	Missing(ctx context.Context, company id.Company, collections []id.Collection) (bool, error)
}

// mediaClient calls the media service.
type mediaClient struct {
	client mediav1.MediaServiceClient
	source *token.Source
}

// NewMedia returns a client of the media service that uses conn and the tokens of source.
func NewMedia(conn grpc.ClientConnInterface, source *token.Source) Media {
	return &mediaClient{client: mediav1.NewMediaServiceClient(conn), source: source}
}

// Missing implements Media.
func (c *mediaClient) Missing(ctx context.Context, company id.Company, collections []id.Collection) (bool, error) {
	req := &mediav1.ListCollectionsRequest{PageSize: int32(len(collections))}
	for _, collection := range collections {
		req.Ids = append(req.Ids, collection.String())
	}
	resp, err := c.client.ListCollections(rpc.As(ctx, c.source, company), req)
	return len(resp.GetCollections()) < len(collections), rpc.OwnError("media", err)
}
