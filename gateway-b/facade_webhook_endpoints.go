package gatewayb

import (
	"context"
	"slices"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// webhookEndpoints is the path of the collection.
const webhookEndpoints = "webhook-endpoints"

// ListWebhookEndpoints is GET /webhook-endpoints. A company has so few endpoints that the service
// returns them all, and the page is cut from them.
func (f *facade) ListWebhookEndpoints(ctx context.Context, req *edgebv1.ListWebhookEndpointsRequest) (*edgebv1.ListWebhookEndpointsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 1)
	if _, err := id.Parse[id.WebhookEndpoint](p.cursor); err != nil && p.cursor != "" {
		q.Fail(fault.InvalidParameter("cursor", "format", "is not a cursor of this list"))
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.webhooks.ListEndpoints(ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return nil, err
	}
	all := res.GetEndpoints()
	endpoints, next := endpointsOn(p, all)
	return &edgebv1.ListWebhookEndpointsResponse{
		WebhookEndpoints: edge.Convert(endpoints, resource.WebhookEndpoint),
		Total:            int64(len(all)), Page: p.number, PerPage: p.size, NextCursor: nextCursor(next),
	}, nil
}

// endpointsOn cuts a page from all endpoints, which are ordered by their identifiers. The cursor of the
// next page is the last identifier on this one, so it stays valid after that endpoint is deleted.
func endpointsOn(p page, all []*webhookv1.Endpoint) (on []*webhookv1.Endpoint, next string) {
	rest := all[min(p.offset(), int64(len(all))):]
	rest = slices.DeleteFunc(slices.Clone(rest), func(e *webhookv1.Endpoint) bool { return e.GetId() <= p.cursor })
	if len(rest) <= int(p.size) {
		return rest, ""
	}
	return rest[:p.size], rest[p.size-1].GetId()
}

// GetWebhookEndpoint is GET /webhook-endpoints/{id}.
func (f *facade) GetWebhookEndpoint(ctx context.Context, req *edgebv1.GetWebhookEndpointRequest) (*edgebv1.GetWebhookEndpointResponse, error) {
	res, err := f.webhooks.GetEndpoint(ctx, &webhookv1.GetEndpointRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetWebhookEndpointResponse{Endpoint: resource.WebhookEndpoint(edge.Tag(ctx, res.GetEndpoint()))}, nil
}

// CreateWebhookEndpoint is POST /webhook-endpoints. Its response has the secret.
func (f *facade) CreateWebhookEndpoint(ctx context.Context, req *edgebv1.CreateWebhookEndpointRequest) (*edgebv1.CreateWebhookEndpointResponse, error) {
	create, err := newWebhookEndpoint(req.GetEndpoint())
	if err != nil {
		return nil, err
	}
	res, err := f.webhooks.CreateEndpoint(ctx, create)
	if err != nil {
		return nil, err
	}
	created := resource.WebhookEndpoint(setCreated(ctx, webhookEndpoints, res.GetEndpoint()))
	created.Secret = &res.Secret
	return &edgebv1.CreateWebhookEndpointResponse{Endpoint: created}, nil
}

// UpdateWebhookEndpoint is PUT and PATCH /webhook-endpoints/{id}.
func (f *facade) UpdateWebhookEndpoint(ctx context.Context, req *edgebv1.UpdateWebhookEndpointRequest) (*edgebv1.UpdateWebhookEndpointResponse, error) {
	update, err := webhookEndpointUpdate(req.GetEndpoint())
	if err != nil {
		_, look := f.webhooks.GetEndpoint(ctx, &webhookv1.GetEndpointRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.webhooks.UpdateEndpoint(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateWebhookEndpointResponse{Endpoint: resource.WebhookEndpoint(edge.Tag(ctx, res.GetEndpoint()))}, nil
}

// DeleteWebhookEndpoint is DELETE /webhook-endpoints/{id}.
func (f *facade) DeleteWebhookEndpoint(ctx context.Context, req *edgebv1.DeleteWebhookEndpointRequest) (*edgebv1.DeleteWebhookEndpointResponse, error) {
	_, err := f.webhooks.DeleteEndpoint(ctx, &webhookv1.DeleteEndpointRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteWebhookEndpointResponse{Id: req.GetId(), Deleted: true}, nil
}

// GetWebhookSecret is GET /webhook-endpoints/{id}/secret.
func (f *facade) GetWebhookSecret(ctx context.Context, req *edgebv1.GetWebhookSecretRequest) (*edgebv1.GetWebhookSecretResponse, error) {
	res, err := f.webhooks.GetSecret(ctx, &webhookv1.GetSecretRequest{EndpointId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetWebhookSecretResponse{Secret: resource.WebhookSecret(res.GetSecrets())}, nil
}

// RotateWebhookSecret is POST /webhook-endpoints/{id}/rotate-secret.
func (f *facade) RotateWebhookSecret(ctx context.Context, req *edgebv1.RotateWebhookSecretRequest) (*edgebv1.RotateWebhookSecretResponse, error) {
	res, err := f.webhooks.RotateSecret(ctx, &webhookv1.RotateSecretRequest{
		EndpointId: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx), Force: req.GetRotation().GetForce(),
	})
	if err != nil {
		return nil, err
	}
	return &edgebv1.RotateWebhookSecretResponse{Secret: resource.WebhookSecret(res.GetSecrets())}, nil
}

// SendWebhookTest is POST /webhook-endpoints/{id}/test.
func (f *facade) SendWebhookTest(ctx context.Context, req *edgebv1.SendWebhookTestRequest) (*edgebv1.SendWebhookTestResponse, error) {
	event := webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED
	if name := req.GetTest().GetEvent(); edge.OrEmpty(req.GetTest()).Event != nil {
		var b body
		event = b.eventType("event", name)
		if err := b.Err(); err != nil {
			_, look := f.webhooks.GetEndpoint(ctx, &webhookv1.GetEndpointRequest{Id: req.GetId()})
			return nil, missingOr(look, err)
		}
	}
	res, err := f.webhooks.SendTest(ctx, &webhookv1.SendTestRequest{EndpointId: req.GetId(), Event: event})
	if err != nil {
		return nil, err
	}
	return &edgebv1.SendWebhookTestResponse{
		DeliveryId: res.GetDeliveryId(), Body: &edgev1.Json{Text: res.GetBody()}, Attempt: resource.WebhookAttempt(edge.OrEmpty(res.GetAttempt())),
	}, nil
}
