package gatewayb

import (
	"strconv"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// newWebhookEndpoint converts the body of POST /webhook-endpoints.
func newWebhookEndpoint(in *edgebv1.WebhookEndpointWrite) (*webhookv1.CreateEndpointRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("url", in.GetUrl())
	out := &webhookv1.CreateEndpointRequest{
		Url: in.GetUrl(), Description: in.GetDescription(), Events: b.eventTypes(in.GetEvents()), Disabled: in.Enabled != nil && !in.GetEnabled(),
	}
	return out, b.Err()
}

// webhookEndpointUpdate converts the body of PUT /webhook-endpoints/{id}.
func webhookEndpointUpdate(in *edgebv1.WebhookEndpointWrite) (*webhookv1.UpdateEndpointRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &webhookv1.UpdateEndpointRequest{Url: in.Url, Description: in.Description, Enabled: in.Enabled}
	if in.GetEvents() != nil {
		out.Events = &webhookv1.EventTypes{Types: b.eventTypes(in.GetEvents())}
	}
	return out, b.Err()
}

// eventTypes reads the names of events.
func (b *body) eventTypes(names *edgev1.IdentifierList) []webhookv1.EventType {
	types := make([]webhookv1.EventType, len(names.GetValues()))
	for i, name := range names.GetValues() {
		types[i] = b.eventType("events["+strconv.Itoa(i)+"]", name)
	}
	return types
}

func (b *body) eventType(field, name string) webhookv1.EventType {
	t := webhookevent.Type(name)
	if t == webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		b.Add(field, "enum", fault.OneOf(webhookevent.NamesNear(name)))
	}
	return t
}

// queryEvent reads the name of an event. It returns 0 if the parameter is absent.
func queryEvent(q *edge.Query, name *string) webhookv1.EventType {
	if name == nil {
		return webhookv1.EventType_EVENT_TYPE_UNSPECIFIED
	}
	t := webhookevent.Type(*name)
	if t == webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		q.Fail(fault.InvalidParameter("event", "enum", fault.OneOf(webhookevent.NamesNear(*name))))
	}
	return t
}

// replayRequest converts the body of POST /webhook-deliveries/replay. It needs ids or at least one
// filter, so that an empty body does not replay everything.
func replayRequest(in *edgebv1.WebhookReplay) (*webhookv1.ReplayDeliveriesRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	filter := b.deliveryFilter(in)
	switch isFiltered := in.EndpointId != nil || in.Event != nil || in.Status != nil || in.Since != nil || in.Until != nil; {
	case isFiltered && len(in.GetIds()) > 0:
		b.Add("ids", "exclusive", "cannot be used together with filters")
	case !isFiltered && len(in.GetIds()) == 0:
		b.Add("ids", "required", "is required, or a filter: endpointId, event, status, since or until")
	case isFiltered:
		return &webhookv1.ReplayDeliveriesRequest{Filter: filter}, b.Err()
	}
	return &webhookv1.ReplayDeliveriesRequest{Ids: in.GetIds()}, b.Err()
}

func (b *body) deliveryFilter(in *edgebv1.WebhookReplay) *webhookv1.DeliveryFilter {
	out := &webhookv1.DeliveryFilter{
		EndpointId: identifier(in.EndpointId), State: value[webhookv1.DeliveryState](b, "status", in.Status),
		Since: b.instant("since", in.Since), Until: b.instant("until", in.Until),
	}
	if in.Event != nil {
		out.Event = b.eventType("event", in.GetEvent())
	}
	return out
}
