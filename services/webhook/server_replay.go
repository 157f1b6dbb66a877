package webhook

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// ReplayDelivery implements WebhookService.
func (s *Server) ReplayDelivery(ctx context.Context, req *webhookv1.ReplayDeliveryRequest) (*webhookv1.ReplayDeliveryResponse, error) {
	company, delivery, err := named[id.WebhookDelivery](ctx, req.GetId(), "delivery")
	if err != nil {
		return nil, err
	}
	var d Delivered
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		d, err = s.store.replay(ctx, tx, company, delivery, instant(s.now()))
		return err
	})
	if err != nil {
		return nil, err
	}
	s.engine.Wake(endpointKey{company, d.EndpointID})
	return &webhookv1.ReplayDeliveryResponse{Delivery: deliveryMessage(&d)}, nil
}

// ReplayFailed implements WebhookService.
func (s *Server) ReplayFailed(ctx context.Context, req *webhookv1.ReplayFailedRequest) (*webhookv1.ReplayFailedResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var endpoint id.WebhookEndpoint
	if req.GetEndpointId() != "" {
		if company, endpoint, err = named[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint"); err != nil {
			return nil, err
		}
		e, err := s.store.endpoint(ctx, company, endpoint)
		if err != nil {
			return nil, err
		}
		if !e.Enabled {
			return nil, fault.Refuse(ReasonEndpointDisabled, "the endpoint is disabled")
		}
	}
	now := instant(s.now())
	since, err := boundOf("since", req.GetSince())
	switch {
	case err != nil:
		return nil, err
	case since.IsZero():
		return nil, fault.InvalidParameter("since", "required", "is required")
	case since.Before(now.Add(-logKept)):
		return nil, fault.InvalidParameter("since", "range", "must not be more than 30 days ago")
	}
	resp := &webhookv1.ReplayFailedResponse{}
	for {
		n, whose, err := s.store.replayFailed(ctx, company, endpoint, since, now)
		if err != nil {
			return nil, err
		}
		s.wake(company, whose)
		resp.Replayed += int64(n)
		if n < replayBatch {
			break
		}
	}
	if resp.GetReplayed() == 0 {
		resp.Tests, err = s.store.countFailedTests(ctx, company, endpoint, since, mostReplayed)
	}
	return resp, err
}

const (
	// mostReplayed is how many a filter may hold to be replayed, mostNamed how many
	// may be named.
	mostReplayed = 100_000
	mostNamed    = 200
	// asOfKept is how long a count can be acted upon.
	asOfKept = time.Hour
)

// CountDeliveries implements WebhookService.
func (s *Server) CountDeliveries(ctx context.Context, req *webhookv1.CountDeliveriesRequest) (*webhookv1.CountDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	q, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	now := instant(s.now())
	n, err := s.store.countReplays(ctx, company, q, now, mostReplayed+1)
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.CountDeliveriesResponse{Count: min(n, mostReplayed), More: n > mostReplayed, AsOf: timestamppb.New(now)}
	if n == 0 {
		resp.Tests, err = s.store.countTests(ctx, company, q, now, mostReplayed)
	}
	return resp, err
}

// ReplayDeliveries implements WebhookService.
func (s *Server) ReplayDeliveries(ctx context.Context, req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	if (len(req.GetIds()) > 0) == (req.GetFilter() != nil) {
		return nil, fault.InvalidFields(fault.Field{Field: "ids", Rule: "required", Message: "must be given, or a filter, and not both"})
	}
	if req.GetFilter() == nil {
		return s.replayNamed(ctx, company, req)
	}
	q, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	now := instant(s.now())
	asOf, err := boundOf("as_of", req.GetAsOf())
	switch {
	case err != nil:
		return nil, err
	case req.GetAsOf() == nil:
		return nil, fault.InvalidParameter("as_of", "required", "is required with a filter")
	case asOf.After(now) || asOf.Before(now.Add(-asOfKept)):
		return nil, fault.InvalidParameter("as_of", "range", "must not be more than an hour ago, nor to come: count again")
	}
	return s.replayFiltered(ctx, company, q, instant(asOf), now, req)
}

// replayNamed replays those that are named, in one commit.
func (s *Server) replayNamed(ctx context.Context, company id.Company, req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
	named := map[id.WebhookDelivery]bool{}
	for _, text := range req.GetIds() {
		// What is no identifier is one of nothing.
		if delivery, err := id.Parse[id.WebhookDelivery](text); err == nil {
			named[delivery] = true
		}
	}
	ids := make([]id.UUID, 0, len(named))
	for delivery := range named {
		ids = append(ids, delivery.UUID())
	}
	resp := &webhookv1.ReplayDeliveriesResponse{}
	var whose []id.WebhookEndpoint
	err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		whose = nil
		return idem.Do(ctx, tx, req, resp, func() error {
			all, err := s.store.replayNamed(ctx, tx, company, ids, instant(s.now()))
			resp.Replayed, resp.Skipped = int64(len(all)), int64(len(req.GetIds())-len(all))
			whose = distinct(all)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.wake(company, whose)
	return resp, nil
}

// replayFiltered replays what a filter held at an instant, a batch per commit. The
// answer is kept with the last one. Whoever comes again before that, after a
// process that died say, replays the rest: what was taken has the instant on it.
func (s *Server) replayFiltered(
	ctx context.Context, company id.Company, q logQuery, asOf, now time.Time, req *webhookv1.ReplayDeliveriesRequest,
) (*webhookv1.ReplayDeliveriesResponse, error) {
	resp := &webhookv1.ReplayDeliveriesResponse{}
	seen := false
	err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
		seen, err = idem.Seen(ctx, tx, req, resp)
		return err
	})
	if err != nil || seen {
		return resp, err
	}
	if n, err := s.store.countReplays(ctx, company, q, asOf, mostReplayed+1); err != nil {
		return nil, err
	} else if n > mostReplayed {
		return nil, fault.Refuse(ReasonTooManyDeliveries, "more than 100,000 deliveries fit the filter; narrow it")
	}
	for total := int64(0); ; {
		var all []id.WebhookEndpoint
		err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
			if all, err = s.store.replayBatch(ctx, tx, company, q, asOf, now, s.batch); err != nil || len(all) == s.batch {
				return err
			}
			resp.Replayed = total + int64(len(all))
			return idem.Do(ctx, tx, req, resp, func() error { return nil })
		})
		if err != nil {
			return nil, err
		}
		s.wake(company, distinct(all))
		if total += int64(len(all)); len(all) < s.batch {
			return resp, nil
		}
	}
}

// wake sends what is due to the endpoints.
func (s *Server) wake(company id.Company, endpoints []id.WebhookEndpoint) {
	keys := make([]endpointKey, len(endpoints))
	for i, e := range endpoints {
		keys[i] = endpointKey{company, e}
	}
	s.engine.Wake(keys...)
}
