package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// ListWebhookDeliveries is GET /webhook-deliveries.
func (f *facade) ListWebhookDeliveries(ctx context.Context, req *edgebv1.ListWebhookDeliveriesRequest) (*edgebv1.ListWebhookDeliveriesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 1)
	list := &webhookv1.ListDeliveriesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), WithTotal: true,
		EndpointId: identifier(req.EndpointId), Event: queryEvent(&q, req.Event), State: edge.QueryEnum[webhookv1.DeliveryState](&q, "status", req.Status),
		Since: q.Instant("since", req.Since), Until: q.Instant("until", req.Until),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.webhooks.ListDeliveries(ctx, list)
	if err != nil {
		return nil, renameFields(err, deliveryNames())
	}
	return &edgebv1.ListWebhookDeliveriesResponse{
		WebhookDeliveries: edge.Convert(res.GetDeliveries(), resource.WebhookDelivery),
		Total:             res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetWebhookDelivery is GET /webhook-deliveries/{id}.
func (f *facade) GetWebhookDelivery(ctx context.Context, req *edgebv1.GetWebhookDeliveryRequest) (*edgebv1.GetWebhookDeliveryResponse, error) {
	res, err := f.webhooks.GetDelivery(ctx, &webhookv1.GetDeliveryRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetWebhookDeliveryResponse{Delivery: resource.WebhookDeliveryDetails(res)}, nil
}

// ReplayWebhookDelivery is POST /webhook-deliveries/{id}/replay.
func (f *facade) ReplayWebhookDelivery(ctx context.Context, req *edgebv1.ReplayWebhookDeliveryRequest) (*edgebv1.ReplayWebhookDeliveryResponse, error) {
	res, err := f.webhooks.ReplayDelivery(ctx, &webhookv1.ReplayDeliveryRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ReplayWebhookDeliveryResponse{Delivery: resource.WebhookDelivery(res.GetDelivery())}, nil
}

// ReplayWebhookDeliveries is POST /webhook-deliveries/replay.
func (f *facade) ReplayWebhookDeliveries(ctx context.Context, req *edgebv1.ReplayWebhookDeliveriesRequest) (*edgebv1.ReplayWebhookDeliveriesResponse, error) {
	replay, err := replayRequest(req.GetReplay())
	if err != nil {
		return nil, err
	}
	res, err := f.webhooks.ReplayDeliveries(ctx, replay)
	if err != nil {
		return nil, renameFields(err, deliveryNames())
	}
	return &edgebv1.ReplayWebhookDeliveriesResponse{Replayed: res.GetReplayed(), Skipped: res.GetSkipped()}, nil
}

// ListWebhookMessages is GET /webhook-messages.
func (f *facade) ListWebhookMessages(ctx context.Context, req *edgebv1.ListWebhookMessagesRequest) (*edgebv1.ListWebhookMessagesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{perPage: req.PerPage, cursor: req.Cursor}, 1)
	list := &webhookv1.ListMessagesRequest{
		PageSize: p.size, PageToken: p.cursor, Event: queryEvent(&q, req.Event), Since: q.Instant("since", req.Since),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.webhooks.ListMessages(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListWebhookMessagesResponse{
		WebhookMessages: edge.Convert(res.GetMessages(), resource.WebhookMessage),
		PerPage:         p.size, NextCursor: res.GetNextPageToken(), HasMore: res.GetHasMore(),
	}, nil
}

// deliveryNames maps the service's fields of a delivery to those of Interface B.
func deliveryNames() map[string]string {
	return map[string]string{"state": "status"}
}
