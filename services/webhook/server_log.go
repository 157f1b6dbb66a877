package webhook

import (
	"context"
	"encoding/base64"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// SendTest implements WebhookService.
func (s *Server) SendTest(ctx context.Context, req *webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
	company, endpoint, err := named[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	event := webhookevent.Name(req.GetEvent())
	if event == "" {
		return nil, fault.InvalidFields(fault.Field{Field: "event", Rule: "enum", Message: fault.OneOf(webhookevent.Names())})
	}
	targets, err := s.store.targets(ctx, []endpointKey{{company, endpoint}})
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	if len(targets) == 0 {
		return nil, fault.Missing("endpoint")
	}
	now := instant(s.now())
	data, err := s.catalogue.Sample(event, now)
	if err != nil {
		return nil, err
	}
	messageID := id.WebhookMessage(s.newID())
	body := message.NewBody(messageID, event, now, message.TestEnvelope(messageID, event, now, data))
	// The exchange may take longer than the caller waits: it is logged all the same.
	r := s.engine.attempt(&job{target: targets[0], body: body, tries: 1})
	var delivery id.WebhookDelivery
	err = s.store.inTx(context.WithoutCancel(ctx), company, func(ctx context.Context, tx *pg.Tx) error {
		delivery, err = s.store.addTest(ctx, tx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &webhookv1.SendTestResponse{
		DeliveryId: delivery.String(), Body: body.JSON,
		Attempt: attemptMessage(attemptOf(r), message.Sign(s.engine.settings.Issuer, r.signers, body, r.at)),
	}, nil
}

// ListDeliveries implements WebhookService.
func (s *Server) ListDeliveries(ctx context.Context, req *webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	q, err := logQueryOf(req)
	if err != nil {
		return nil, err
	}
	page, err := s.store.deliveries(ctx, company, q)
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.ListDeliveriesResponse{}
	if len(page) > q.size {
		page = page[:q.size]
		last := page[q.size-1].ID.UUID()
		if q.endpoint != nil {
			last = page[q.size-1].MessageID.UUID()
		}
		resp.NextPageToken = pageToken(q.endpoint, last)
	}
	for i := range page {
		resp.Deliveries = append(resp.Deliveries, deliveryMessage(&page[i]))
	}
	return resp, nil
}

// logQueryOf reads which deliveries a list is to hold.
func logQueryOf(req *webhookv1.ListDeliveriesRequest) (logQuery, error) {
	q, err := filterOf(&webhookv1.DeliveryFilter{
		EndpointId: req.GetEndpointId(), Event: req.GetEvent(), State: req.GetState(), Since: req.GetSince(), Until: req.GetUntil(),
	})
	if err != nil {
		return q, err
	}
	if size := req.GetPageSize(); size < 0 || size > 200 {
		return q, fault.InvalidParameter("page_size", "range", "must be 1 to 200")
	} else if size > 0 {
		q.size = int(size)
	}
	if req.GetPageToken() != "" {
		if q.after, err = afterToken(req.GetPageToken(), q.endpoint); err != nil {
			return q, err
		}
	}
	return q, nil
}

// filterOf reads what narrows a list.
func filterOf(req *webhookv1.DeliveryFilter) (logQuery, error) {
	q := logQuery{size: 50, event: webhookevent.Name(req.GetEvent()), state: stateNames()[req.GetState()]}
	q.endpoint = id.Filter[id.WebhookEndpoint](req.GetEndpointId())
	var err error
	if q.event == "" && req.GetEvent() != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return q, fault.InvalidParameter("event", "enum", "is not an event")
	}
	if q.state == "" && req.GetState() != webhookv1.DeliveryState_DELIVERY_STATE_UNSPECIFIED {
		return q, fault.InvalidParameter("state", "enum", "is not a state")
	}
	if q.since, err = boundOf("since", req.GetSince()); err != nil {
		return q, err
	}
	q.until, err = boundOf("until", req.GetUntil())
	return q, err
}

// boundOf reads an instant of years that identifiers can begin with; nil is zero.
func boundOf(name string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	at := t.AsTime()
	if !t.IsValid() || at.Year() < 1970 || at.Year() > 9999 {
		return at, fault.InvalidParameter(name, "range", "must be an instant of the years 1970 to 9999")
	}
	return at, nil
}

// pageToken is the last row of a page, behind the endpoint whose list it is of; nil
// is the list of all.
func pageToken(endpoint *id.WebhookEndpoint, last id.UUID) string {
	if endpoint == nil {
		endpoint = &id.WebhookEndpoint{}
	}
	return base64.RawURLEncoding.EncodeToString(append(append(make([]byte, 0, 32), endpoint[:]...), last[:]...))
}

func afterToken(token string, endpoint *id.WebhookEndpoint) (id.UUID, error) {
	if endpoint == nil {
		endpoint = &id.WebhookEndpoint{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32 || id.WebhookEndpoint(raw[:16]) != *endpoint {
		return id.UUID{}, fault.InvalidParameter("page_token", "format", "is not one that this list returned")
	}
	return id.UUID(raw[16:]), nil
}

// GetDelivery implements WebhookService.
func (s *Server) GetDelivery(ctx context.Context, req *webhookv1.GetDeliveryRequest) (*webhookv1.GetDeliveryResponse, error) {
	company, delivery, err := named[id.WebhookDelivery](ctx, req.GetId(), "delivery")
	if err != nil {
		return nil, err
	}
	d, m, attempts, err := s.store.delivery(ctx, company, delivery)
	if err != nil {
		return nil, err
	}
	secrets, err := s.store.secrets(ctx, company, d.EndpointID)
	if err != nil {
		return nil, err
	}
	byID := make(map[id.UUID]message.Secret, len(secrets))
	for _, secret := range secrets {
		byID[secret.ID] = secret
	}
	body := message.NewBody(d.MessageID, m.Event, m.OccurredAt, m.Body)
	resp := &webhookv1.GetDeliveryResponse{Delivery: deliveryMessage(&d), Body: m.Body}
	for i := range attempts {
		resp.Attempts = append(resp.Attempts, attemptMessage(&attempts[i], s.headersOf(&attempts[i], byID, body)))
	}
	return resp, nil
}

// headersOf makes the headers of an attempt once more: they follow from its time,
// the body and the secrets. Without the secrets there are none.
func (s *Server) headersOf(a *Attempt, secrets map[id.UUID]message.Secret, body *message.Body) []message.Header {
	var signers []message.Signer
	for _, secretID := range a.SecretIDs {
		secret, ok := secrets[secretID]
		if !ok {
			return nil
		}
		signers = append(signers, message.NewSigner(secret))
	}
	return message.Sign(s.engine.settings.Issuer, signers, body, a.At)
}

const (
	defaultBucket = 3600
	minBucket     = 60
	maxBucket     = 86400
	maxBuckets    = 1000
)

// GetStatistics implements WebhookService.
func (s *Server) GetStatistics(ctx context.Context, req *webhookv1.GetStatisticsRequest) (*webhookv1.GetStatisticsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var endpoint id.WebhookEndpoint
	if req.GetEndpointId() != "" {
		if company, endpoint, err = named[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint"); err != nil {
			return nil, err
		}
		if _, err := s.store.endpoint(ctx, company, endpoint); err != nil {
			return nil, err
		}
	}
	since, until, bucket, err := s.span(req)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.statistics(ctx, company, endpoint, since, until, bucket)
	if err != nil {
		return nil, err
	}
	step := time.Duration(bucket) * time.Second
	resp := &webhookv1.GetStatisticsResponse{}
	for at := since; at.Before(until); at = at.Add(step) {
		resp.Buckets = append(resp.Buckets, &webhookv1.StatisticsBucket{StartsAt: timestamppb.New(at)})
	}
	for _, r := range rows {
		b := resp.GetBuckets()[r.Bucket]
		b.Delivered, b.Retried, b.Failed = r.Delivered, r.Retried, r.Failed
		b.P50Microseconds, b.P95Microseconds, b.P99Microseconds = r.Percentiles[0], r.Percentiles[1], r.Percentiles[2]
	}
	return resp, nil
}

// span reads the time that statistics are about, and the seconds of a bucket.
func (s *Server) span(req *webhookv1.GetStatisticsRequest) (since, until time.Time, bucket int, err error) {
	if until, err = boundOf("until", req.GetUntil()); err != nil {
		return since, until, 0, err
	}
	if until.IsZero() {
		until = instant(s.now())
	}
	if since, err = boundOf("since", req.GetSince()); err != nil {
		return since, until, 0, err
	}
	if since.IsZero() {
		since = until.Add(-24 * time.Hour)
	}
	if bucket = int(req.GetBucketSeconds()); bucket == 0 {
		bucket = defaultBucket
	}
	switch {
	case bucket < minBucket || bucket > maxBucket:
		err = fault.InvalidParameter("bucket_seconds", "range", "must be 60 to 86400")
	case !since.Before(until):
		err = fault.InvalidParameter("since", "range", "must be before until")
	case until.Sub(since) > maxBuckets*time.Duration(bucket)*time.Second:
		err = fault.InvalidParameter("bucket_seconds", "range", "must not make more than 1000 buckets")
	}
	return since, until, bucket, err
}
