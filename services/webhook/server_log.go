package webhook

import (
	"bytes"
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// SendTest implements WebhookService. A repeated call with the same Idempotency-Key sends nothing.
func (s *Server) SendTest(ctx context.Context, req *webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
	company, endpoint, err := subjectOf[id.WebhookEndpoint](ctx, req.GetEndpointId(), "endpoint")
	if err != nil {
		return nil, err
	}
	event := webhookevent.Name(req.GetEvent())
	if event == "" {
		return nil, fault.InvalidFields(fault.Field{Field: "event", Rule: "enum", Message: fault.OneOf(webhookevent.Names())})
	}
	target, err := s.store.target(ctx, endpointKey{company, endpoint})
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.SendTestResponse{}
	if answered, err := s.seen(ctx, company, req, resp); answered || err != nil {
		return resp, err
	}
	body, err := s.sample(company, event)
	if err != nil {
		return nil, err
	}
	r := s.engine.attempt(&job{target: target, body: body, tries: 1})
	// The attempt is logged even if the caller has not waited for it.
	resp, err = idem.Write(context.WithoutCancel(ctx), s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		delivery, err := s.store.addTest(ctx, tx, r)
		resp.DeliveryId, resp.Body, resp.Attempt = delivery.String(), body.JSON, attemptMessage(attemptOf(r), nil)
		if err != nil {
			return err
		}
		return s.engine.outbox.AppendChange(ctx, tx, company, endpoint, outbox.Fact{Field: "event", Value: event})
	})
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(resp.GetBody(), body.JSON) { // a concurrent call with the same key was stored first
		return resp, nil
	}
	// The stored response has no headers, because they contain signatures.
	resp.Attempt.RequestHeaders = headerMessages(message.Sign(s.engine.settings.Issuer, r.signers, body, r.at))
	return resp, nil
}

// seen reports whether the request has been answered, and if so fills resp with the stored response.
func (s *Server) seen(ctx context.Context, company id.Company, req, resp proto.Message) (answered bool, err error) {
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
		answered, err = idem.Seen(ctx, tx, req, resp)
		return err
	})
	return answered, err
}

// sample returns the body of a test delivery.
func (s *Server) sample(company id.Company, event string) (*message.Body, error) {
	now := pg.Instant(s.now())
	data, err := s.catalogue.Sample(event, now)
	if err != nil {
		return nil, err
	}
	m := message.Message{ID: id.WebhookMessage(s.newID()), Company: company, Event: event, OccurredAt: now}
	m.JSON = message.TestEnvelope(&m, data)
	return message.NewBody(&m), nil
}

// ListDeliveries implements WebhookService.
func (s *Server) ListDeliveries(ctx context.Context, req *webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(&webhookv1.DeliveryFilter{
		EndpointId: req.GetEndpointId(), Event: req.GetEvent(), State: req.GetState(), Since: req.GetSince(), Until: req.GetUntil(),
	})
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), filter.order(), page.Sizes{Default: 50, Max: 200})
	if err != nil {
		return nil, err
	}
	list, err := s.store.deliveries(ctx, company, filter, p)
	if err != nil {
		return nil, err
	}
	list, next := page.Cut(p, list, filter.cursor)
	resp := &webhookv1.ListDeliveriesResponse{Deliveries: deliveryMessages(list), NextPageToken: next}
	if req.GetWithTotal() {
		resp.Total, err = s.store.countDeliveries(ctx, company, filter, maxReplayed)
	}
	return resp, err
}

// GetDelivery implements WebhookService.
func (s *Server) GetDelivery(ctx context.Context, req *webhookv1.GetDeliveryRequest) (*webhookv1.GetDeliveryResponse, error) {
	company, delivery, err := subjectOf[id.WebhookDelivery](ctx, req.GetId(), "delivery")
	if err != nil {
		return nil, err
	}
	d, err := s.store.delivery(ctx, company, delivery)
	if err != nil {
		return nil, err
	}
	m := d.message
	body := message.NewBody(&message.Message{ID: d.MessageID, Company: company, Event: m.Event, OccurredAt: m.OccurredAt, JSON: m.JSON})
	resp := &webhookv1.GetDeliveryResponse{Delivery: deliveryMessage(&d.Delivered), Body: m.JSON}
	for i := range d.attempts {
		resp.Attempts = append(resp.Attempts, attemptMessage(&d.attempts[i], s.headersOf(&d.attempts[i], d.secrets, body)))
	}
	return resp, nil
}

// headersOf reconstructs the headers of an attempt from its time, the body and the secrets. It
// returns none if a secret is no longer stored.
func (s *Server) headersOf(a *Attempt, secrets []message.Secret, body *message.Body) []message.Header {
	byID := make(map[id.UUID]message.Secret, len(secrets))
	for _, secret := range secrets {
		byID[secret.ID] = secret
	}
	var signers []message.Signer
	for _, secretID := range a.SecretIDs {
		secret, ok := byID[secretID]
		if !ok {
			return nil
		}
		signers = append(signers, message.NewSigner(secret))
	}
	return message.Sign(s.engine.settings.Issuer, signers, body, a.At)
}

// GetStatistics implements WebhookService.
func (s *Server) GetStatistics(ctx context.Context, req *webhookv1.GetStatisticsRequest) (*webhookv1.GetStatisticsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	endpoint, err := s.chosenEndpoint(ctx, company, req.GetEndpointId())
	if err != nil {
		return nil, err
	}
	span, err := spanOf(req, pg.Instant(s.now()))
	if err != nil {
		return nil, err
	}
	rows, err := s.store.statistics(ctx, company, endpoint.ID, span)
	if err != nil {
		return nil, err
	}
	return &webhookv1.GetStatisticsResponse{Buckets: bucketMessages(span, rows)}, nil
}

// chosenEndpoint returns the endpoint that a request is limited to; zero: not limited.
func (s *Server) chosenEndpoint(ctx context.Context, company id.Company, text string) (Endpoint, error) {
	if text == "" {
		return Endpoint{}, nil
	}
	endpoint, err := check.ID[id.WebhookEndpoint](text, "endpoint")
	if err != nil {
		return Endpoint{}, err
	}
	return s.store.endpoint(ctx, company, endpoint)
}
