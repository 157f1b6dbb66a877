package webhook

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// events checks a list of events and returns their names, in their order and
// each once.
func (c *checks) events(field string, list []webhookv1.EventType) []string {
	for _, t := range list {
		if webhookevent.Name(t) == "" {
			c.add(field, "enum", fault.OneOf(webhookevent.Names()))
			return nil
		}
	}
	var names []string
	for _, e := range webhookevent.All() {
		if slices.Contains(list, e.Type) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		c.add(field, "required", "must name at least one event")
	}
	return names
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
		out.DisabledReason = map[string]webhookv1.DisabledReason{
			disabledRequested: webhookv1.DisabledReason_DISABLED_REASON_REQUESTED, disabledGone: webhookv1.DisabledReason_DISABLED_REASON_GONE,
			disabledFailing: webhookv1.DisabledReason_DISABLED_REASON_FAILING,
		}[*e.DisabledReason]
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
	return map[string]webhookv1.Failure{
		failureDNS: webhookv1.Failure_FAILURE_DNS, failureRefused: webhookv1.Failure_FAILURE_REFUSED, failureTLS: webhookv1.Failure_FAILURE_TLS,
		failureTimeout: webhookv1.Failure_FAILURE_TIMEOUT, failureBlocked: webhookv1.Failure_FAILURE_BLOCKED,
		failureStatus: webhookv1.Failure_FAILURE_STATUS, failureReset: webhookv1.Failure_FAILURE_RESET,
		failureProtocol: webhookv1.Failure_FAILURE_PROTOCOL, failureEndpoint: webhookv1.Failure_FAILURE_ENDPOINT,
	}[*failure]
}

func stateNames() map[webhookv1.DeliveryState]string {
	return map[webhookv1.DeliveryState]string{
		webhookv1.DeliveryState_DELIVERY_STATE_PENDING: statePending, webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED: stateDelivered,
		webhookv1.DeliveryState_DELIVERY_STATE_FAILED: stateFailed,
	}
}

func deliveryMessage(d *Delivered) *webhookv1.Delivery {
	out := &webhookv1.Delivery{
		Id: d.ID.String(), MessageId: d.MessageID.String(), EndpointId: d.EndpointID.String(), Event: webhookevent.Type(d.Event), Test: d.Test,
		Attempts: d.Attempts, LastFailure: failureMessage(d.LastFailure), LastStatus: d.LastStatus,
		CreatedAt: timestamppb.New(d.CreatedAt), NextAttemptAt: instantOf(d.DueAt), FinishedAt: instantOf(d.FinishedAt),
	}
	for state, name := range stateNames() {
		if name == d.State {
			out.State = state
		}
	}
	return out
}

func attemptMessage(a *Attempt, headers []message.Header) *webhookv1.Attempt {
	out := &webhookv1.Attempt{
		Number: a.Number, StartedAt: timestamppb.New(a.At), DurationMicroseconds: a.DurationUS, Failure: failureMessage(a.Failure),
		Status: a.Status, Message: a.Message, ResponseBody: a.Response, ConnectionReused: a.Reused, Url: a.URL,
	}
	for _, h := range headers {
		out.RequestHeaders = append(out.RequestHeaders, &webhookv1.Header{Name: h.Name, Value: h.Value})
	}
	return out
}
