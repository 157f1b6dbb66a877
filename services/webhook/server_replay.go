package webhook

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const (
	// maxReplayed is the largest number of deliveries of a filter that can be replayed at a time,
	// and maxIDs the largest number that can be listed.
	maxReplayed = 100_000
	maxIDs      = 200
	// countKept is how long after the count the deliveries of a filter can be replayed.
	countKept = time.Hour
)

// ReplayDelivery implements WebhookService.
func (s *Server) ReplayDelivery(ctx context.Context, req *webhookv1.ReplayDeliveryRequest) (*webhookv1.ReplayDeliveryResponse, error) {
	company, delivery, err := subjectOf[id.WebhookDelivery](ctx, req.GetId(), "delivery")
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.ReplayDeliveryResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		d, err := s.store.replay(ctx, tx, company, delivery, pg.Instant(s.now()))
		if err != nil {
			return err
		}
		resp.Delivery = deliveryMessage(&d)
		tx.AfterCommit(func() { s.engine.Wake(endpointKey{company, d.EndpointID}) })
		return s.engine.outbox.AppendChange(ctx, tx, company, delivery)
	})
}

// appendReplay adds the number of deliveries that a commit replays to the audit log, if a credential replays
// them. target is their endpoint, or the company if they can have several.
func (s *Server) appendReplay(ctx context.Context, tx *pg.Tx, company id.Company, target fmt.Stringer, replayed int) error {
	if replayed == 0 {
		return nil
	}
	return s.engine.outbox.AppendChange(ctx, tx, company, target, outbox.Fact{Field: "count", Value: strconv.Itoa(replayed)})
}

// ReplayFailed implements WebhookService.
func (s *Server) ReplayFailed(ctx context.Context, req *webhookv1.ReplayFailedRequest) (*webhookv1.ReplayFailedResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	endpoint, err := s.chosenEndpoint(ctx, company, req.GetEndpointId())
	if err != nil {
		return nil, err
	}
	if !endpoint.ID.IsZero() {
		if err := endpoint.refuseReplay(); err != nil {
			return nil, err
		}
	}
	now := pg.Instant(s.now())
	since, err := failedSince(req, now)
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.ReplayFailedResponse{}
	if resp.Replayed, err = s.replayFailed(ctx, company, endpoint.ID, since, now); err != nil {
		return nil, err
	}
	if resp.GetReplayed() == 0 {
		if resp.Tests, err = s.store.countFailedTests(ctx, company, endpoint.ID, since, maxReplayed); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// failedSince returns the instant since which failed deliveries are replayed.
func failedSince(req *webhookv1.ReplayFailedRequest, now time.Time) (time.Time, error) {
	since, err := boundOf("since", req.GetSince())
	switch {
	case err != nil:
		return since, err
	case since.IsZero():
		return since, fault.InvalidParameter("since", "required", "is required")
	case since.Before(now.Add(-logKept)):
		return since, fault.InvalidParameter("since", "range", "must not be more than 30 days ago")
	}
	return since, nil
}

// replayFailed replays the deliveries that have failed since an instant, in batches, and returns
// their number.
func (s *Server) replayFailed(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since, now time.Time) (total int64, err error) {
	for {
		owners, err := s.store.replayFailed(ctx, company, endpoint, since, now, func(ctx context.Context, tx *pg.Tx, replayed int) error {
			if endpoint.IsZero() {
				return s.appendReplay(ctx, tx, company, company, replayed)
			}
			return s.appendReplay(ctx, tx, company, endpoint, replayed)
		})
		if err != nil {
			return total, err
		}
		s.wake(company, owners)
		if total += int64(len(owners)); len(owners) < replayBatch {
			return total, nil
		}
	}
}

// CountDeliveries implements WebhookService.
func (s *Server) CountDeliveries(ctx context.Context, req *webhookv1.CountDeliveriesRequest) (*webhookv1.CountDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	now, err := s.store.clock(ctx, company)
	if err != nil {
		return nil, err
	}
	n, err := s.store.countReplays(ctx, company, filter, now, maxReplayed+1)
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.CountDeliveriesResponse{Count: min(n, maxReplayed), More: n > maxReplayed, AsOf: timestamppb.New(now)}
	if n == 0 {
		if resp.Tests, err = s.store.countTests(ctx, company, filter, now, maxReplayed); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// ReplayDeliveries implements WebhookService.
func (s *Server) ReplayDeliveries(ctx context.Context, req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	if (len(req.GetIds()) > 0) == (req.GetFilter() != nil) {
		return nil, fault.InvalidFields(fault.Field{Field: "ids", Rule: "required", Message: "must be set, or a filter, but not both"})
	}
	if req.GetFilter() == nil {
		return s.replayListed(ctx, company, req)
	}
	r := filteredReplay{}
	if r.now, err = s.store.clock(ctx, company); err != nil {
		return nil, err
	}
	if r.filter, err = filterOf(req.GetFilter()); err != nil {
		return nil, err
	}
	if r.asOf, err = countedAt(req, r.now); err != nil {
		return nil, err
	}
	return s.replayFiltered(ctx, company, r, req)
}

// countedAt returns when the deliveries of a filter were counted; now if the request does not say.
func countedAt(req *webhookv1.ReplayDeliveriesRequest, now time.Time) (time.Time, error) {
	asOf, err := boundOf("as_of", req.GetAsOf())
	switch {
	case err != nil:
		return asOf, err
	case req.GetAsOf() == nil:
		return now, nil
	case asOf.After(now) || asOf.Before(now.Add(-countKept)):
		return asOf, fault.InvalidParameter("as_of", "range", "must be at most an hour ago and not in the future; count again")
	}
	return pg.Instant(asOf), nil
}

// replayListed replays the deliveries that a request lists, in one commit.
func (s *Server) replayListed(ctx context.Context, company id.Company, req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
	ids := deliveryIDs(req.GetIds())
	resp := &webhookv1.ReplayDeliveriesResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		owners, err := s.store.replayListed(ctx, tx, company, ids, pg.Instant(s.now()))
		resp.Replayed, resp.Skipped = int64(len(owners)), int64(len(req.GetIds())-len(owners))
		tx.AfterCommit(func() { s.wake(company, owners) })
		if err != nil {
			return err
		}
		return s.appendReplay(ctx, tx, company, company, len(owners))
	})
}

// filteredReplay is a replay of the deliveries that matched a filter at an instant.
type filteredReplay struct {
	filter    logFilter
	asOf, now time.Time
}

// replayFiltered replays the deliveries of a filter, one batch per commit. The response is stored
// with the last batch. A request that is repeated before that, for example after a crash, replays
// only the rest, because every replayed delivery stores the instant.
func (s *Server) replayFiltered(
	ctx context.Context, company id.Company, r filteredReplay, req *webhookv1.ReplayDeliveriesRequest,
) (*webhookv1.ReplayDeliveriesResponse, error) {
	resp := &webhookv1.ReplayDeliveriesResponse{}
	answered, err := s.seen(ctx, company, req, resp)
	if err != nil {
		return nil, err
	}
	if answered {
		return resp, nil
	}
	if err := s.refuseFilter(ctx, company, r.filter); err != nil {
		return nil, err
	}
	n, err := s.store.countReplays(ctx, company, r.filter, r.asOf, maxReplayed+1)
	if err != nil {
		return nil, err
	}
	if n > maxReplayed {
		return nil, fault.Refuse(ReasonTooManyDeliveries, "more than 100,000 deliveries match the filter; narrow it")
	}
	for more := true; more; {
		if more, err = s.replayNext(ctx, company, r, req, resp); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// refuseFilter returns the refusal of a replay of a filter that names a disabled endpoint. A filter
// that names an endpoint that does not exist matches nothing.
func (s *Server) refuseFilter(ctx context.Context, company id.Company, f logFilter) error {
	if f.endpoint == nil || f.endpoint.IsZero() {
		return nil
	}
	endpoint, err := s.store.endpoint(ctx, company, *f.endpoint)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return endpoint.refuseReplay()
}

// replayNext replays one batch and adds it to resp. It reports whether there may be more.
func (s *Server) replayNext(
	ctx context.Context, company id.Company, r filteredReplay, req *webhookv1.ReplayDeliveriesRequest, resp *webhookv1.ReplayDeliveriesResponse,
) (more bool, err error) {
	var owners []id.WebhookEndpoint
	before := resp.GetReplayed()
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
		if owners, err = s.store.replayBatch(ctx, tx, company, r, s.batch); err != nil {
			return err
		}
		resp.Replayed = before + int64(len(owners))
		if err := s.appendReplay(ctx, tx, company, company, len(owners)); err != nil {
			return err
		}
		if len(owners) == s.batch {
			return nil
		}
		return idem.Do(ctx, tx, req, resp, func() error { return nil })
	})
	if err == nil {
		s.wake(company, owners)
	}
	return len(owners) == s.batch, err
}

// wake notifies the engines that endpoints have deliveries due.
func (s *Server) wake(company id.Company, owners []id.WebhookEndpoint) {
	var keys []endpointKey
	seen := map[id.WebhookEndpoint]bool{}
	for _, e := range owners {
		if !seen[e] {
			seen[e] = true
			keys = append(keys, endpointKey{company, e})
		}
	}
	s.engine.Wake(keys...)
}
