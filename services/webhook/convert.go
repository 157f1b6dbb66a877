package webhook

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// eventNames returns the names of events; "" for one that does not exist.
func eventNames(types []webhookv1.EventType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = webhookevent.Name(t)
	}
	return names
}

// endpointOf returns the fields of a new endpoint.
func endpointOf(req *webhookv1.CreateEndpointRequest) endpointChange {
	enabled := !req.GetDisabled()
	return endpointChange{url: &req.Url, description: &req.Description, events: eventNames(req.GetEvents()), enabled: &enabled}
}

// changeOf returns the fields of an endpoint that a request sets.
func changeOf(req *webhookv1.UpdateEndpointRequest) endpointChange {
	c := endpointChange{url: req.Url, description: req.Description, enabled: req.Enabled}
	if req.GetEvents() != nil {
		c.events = eventNames(req.GetEvents().GetTypes())
	}
	return c
}

func instantOf(t *time.Time) *timestamppb.Timestamp {
	if t == nil || t.IsZero() {
		return nil
	}
	return timestamppb.New(*t)
}

func endpointMessage(e Endpoint) *webhookv1.Endpoint {
	out := &webhookv1.Endpoint{
		Id: e.ID.String(), Url: e.URL, Description: e.Description, Enabled: e.Enabled, DisabledAt: instantOf(e.DisabledAt),
		FailingSince: instantOf(e.FailingSince), CreatedAt: timestamppb.New(e.CreatedAt), UpdatedAt: timestamppb.New(e.UpdatedAt), Version: e.Version,
	}
	for _, name := range e.Events {
		out.Events = append(out.Events, webhookevent.Type(name))
	}
	if e.DisabledReason != nil {
		out.DisabledReason, _ = enum.Parse[webhookv1.DisabledReason](*e.DisabledReason)
	}
	return out
}

func endpointMessages(list []Endpoint) []*webhookv1.Endpoint {
	var out []*webhookv1.Endpoint
	for _, e := range list {
		out = append(out, endpointMessage(e))
	}
	return out
}

func secretMessages(secrets []message.Secret) []*webhookv1.Secret {
	out := make([]*webhookv1.Secret, len(secrets))
	for i := range secrets {
		s := &secrets[i]
		out[i] = &webhookv1.Secret{KeyId: s.KeyID(), Secret: s.Text(), CreatedAt: timestamppb.New(s.CreatedAt), ExpiresAt: instantOf(&s.ExpiresAt)}
	}
	return out
}

func failureMessage(failure *string) webhookv1.Failure {
	if failure == nil {
		return webhookv1.Failure_FAILURE_UNSPECIFIED
	}
	class, _ := enum.Parse[webhookv1.Failure](*failure)
	return class
}

func deliveryMessage(d *Delivered) *webhookv1.Delivery {
	out := &webhookv1.Delivery{
		Id: d.ID.String(), MessageId: d.MessageID.String(), EndpointId: d.EndpointID.String(), Event: webhookevent.Type(d.Event), Test: d.Test,
		Attempts: d.Attempts, LastFailure: failureMessage(d.LastFailure), LastStatus: d.LastStatus,
		CreatedAt: timestamppb.New(d.CreatedAt), NextAttemptAt: instantOf(d.DueAt), FinishedAt: instantOf(d.FinishedAt),
	}
	out.State, _ = enum.Parse[webhookv1.DeliveryState](d.State)
	return out
}

func deliveryMessages(list []Delivered) []*webhookv1.Delivery {
	var out []*webhookv1.Delivery
	for i := range list {
		out = append(out, deliveryMessage(&list[i]))
	}
	return out
}

func attemptMessage(a *Attempt, headers []message.Header) *webhookv1.Attempt {
	out := &webhookv1.Attempt{
		Number: a.Number, StartedAt: timestamppb.New(a.At), DurationMicroseconds: a.DurationUS, Failure: failureMessage(a.Failure),
		Status: a.Status, Message: a.Message, ResponseBody: a.Response, ConnectionReused: a.Reused, Url: a.URL,
	}
	out.RequestHeaders = headerMessages(headers)
	return out
}

func headerMessages(headers []message.Header) []*webhookv1.Header {
	var out []*webhookv1.Header
	for _, h := range headers {
		out = append(out, &webhookv1.Header{Name: h.Name, Value: h.Value})
	}
	return out
}

// filterOf checks the filter of a list of deliveries and returns it.
func filterOf(req *webhookv1.DeliveryFilter) (f logFilter, err error) {
	f = logFilter{event: webhookevent.Name(req.GetEvent()), state: enum.Name(req.GetState()), endpoint: id.Filter[id.WebhookEndpoint](req.GetEndpointId())}
	if f.event == "" && req.GetEvent() != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return f, fault.InvalidParameter("event", "enum", "is not an event")
	}
	if f.state == "" && req.GetState() != webhookv1.DeliveryState_DELIVERY_STATE_UNSPECIFIED {
		return f, fault.InvalidParameter("state", "enum", "is not a state")
	}
	if f.since, err = boundOf("since", req.GetSince()); err != nil {
		return f, err
	}
	f.until, err = boundOf("until", req.GetUntil())
	return f, err
}

// boundOf returns an instant that limits a list; zero if it is not given. It must be from 1970 on,
// because lists are limited by identifiers, which begin with a time.
func boundOf(parameter string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	at := t.AsTime()
	if !t.IsValid() || at.Year() < 1970 || at.Year() > 9999 {
		return at, fault.InvalidParameter(parameter, "range", "must be in the years 1970 to 9999")
	}
	return at, nil
}

// spanOf returns the span of a request for statistics.
func spanOf(req *webhookv1.GetStatisticsRequest, now time.Time) (s span, err error) {
	if s.until, err = boundOf("until", req.GetUntil()); err != nil {
		return s, err
	}
	if s.since, err = boundOf("since", req.GetSince()); err != nil {
		return s, err
	}
	s.bucket = int(req.GetBucketSeconds())
	err = s.complete(now)
	return s, err
}

// bucketMessages returns every bucket of a span. rows are those with attempts.
func bucketMessages(s span, rows []bucketRow) []*webhookv1.StatisticsBucket {
	var buckets []*webhookv1.StatisticsBucket
	for at := s.since; at.Before(s.until); at = at.Add(s.step()) {
		buckets = append(buckets, &webhookv1.StatisticsBucket{StartsAt: timestamppb.New(at)})
	}
	for _, r := range rows {
		b := buckets[r.Bucket]
		b.Delivered, b.Retried, b.Failed = r.Delivered, r.Retried, r.Failed
		b.P50Microseconds, b.P95Microseconds, b.P99Microseconds = r.Percentiles[0], r.Percentiles[1], r.Percentiles[2]
	}
	return buckets
}

// deliveryIDs returns the deliveries that a request lists, each once. A text that is not an
// identifier becomes one that no delivery has.
func deliveryIDs(texts []string) []id.UUID {
	var ids []id.UUID
	for _, text := range texts {
		delivery, err := id.Parse[id.WebhookDelivery](text)
		if err == nil && !slices.Contains(ids, delivery.UUID()) {
			ids = append(ids, delivery.UUID())
		}
	}
	return ids
}
