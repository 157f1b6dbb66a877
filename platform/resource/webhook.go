package resource

import (
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/webhookevent"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// WebhookEndpoint converts an endpoint.
func WebhookEndpoint(e *webhookv1.Endpoint) *edgebv1.WebhookEndpoint {
	return &edgebv1.WebhookEndpoint{
		Id: e.GetId(), Url: e.GetUrl(), Description: e.GetDescription(), Events: edge.Convert(e.GetEvents(), webhookevent.Name),
		Enabled: e.GetEnabled(), DisabledReason: nullableText(enum.Name(e.GetDisabledReason())), DisabledAt: nullableTime(e.GetDisabledAt()),
		FailingSince: nullableTime(e.GetFailingSince()), CreatedAt: utc(e.GetCreatedAt()), UpdatedAt: utc(e.GetUpdatedAt()),
	}
}

// WebhookSecret converts the secrets of an endpoint, newest first: the current one, and the one before
// it if that is still valid. An endpoint always has a secret.
func WebhookSecret(secrets []*webhookv1.Secret) *edgebv1.WebhookSecret {
	out := &edgebv1.WebhookSecret{}
	for i, s := range secrets {
		if i == 0 {
			out = &edgebv1.WebhookSecret{KeyId: s.GetKeyId(), Secret: s.GetSecret(), CreatedAt: utc(s.GetCreatedAt()), ExpiresAt: nullableTime(s.GetExpiresAt())}
			continue
		}
		out.Previous = &edgebv1.PreviousWebhookSecret{
			KeyId: s.GetKeyId(), Secret: s.GetSecret(), CreatedAt: utc(s.GetCreatedAt()), ExpiresAt: nullableTime(s.GetExpiresAt()),
		}
		break
	}
	return out
}

// WebhookDelivery converts a delivery.
func WebhookDelivery(d *webhookv1.Delivery) *edgebv1.WebhookDelivery {
	return &edgebv1.WebhookDelivery{
		Id: d.GetId(), MessageId: d.GetMessageId(), EndpointId: d.GetEndpointId(), Event: webhookevent.Name(d.GetEvent()),
		Status: enum.Name(d.GetState()), Test: d.GetTest(), AttemptCount: d.GetAttempts(), LastFailure: nullableText(enum.Name(d.GetLastFailure())),
		LastResponseStatus: limit(d.GetLastStatus()), CreatedAt: utc(d.GetCreatedAt()),
		NextAttemptAt: nullableTime(d.GetNextAttemptAt()), FinishedAt: nullableTime(d.GetFinishedAt()),
	}
}

// WebhookDeliveryDetails converts a delivery with its message and its attempts.
func WebhookDeliveryDetails(r *webhookv1.GetDeliveryResponse) *edgebv1.WebhookDeliveryDetails {
	d := WebhookDelivery(r.GetDelivery())
	return &edgebv1.WebhookDeliveryDetails{
		Id: d.GetId(), MessageId: d.GetMessageId(), EndpointId: d.GetEndpointId(), Event: d.GetEvent(), Status: d.GetStatus(), Test: d.GetTest(),
		AttemptCount: d.GetAttemptCount(), LastFailure: d.GetLastFailure(), LastResponseStatus: d.GetLastResponseStatus(),
		CreatedAt: d.GetCreatedAt(), NextAttemptAt: d.GetNextAttemptAt(), FinishedAt: d.GetFinishedAt(),
		Body: &edgev1.Json{Text: r.GetBody()}, Attempts: edge.Convert(r.GetAttempts(), WebhookAttempt),
	}
}

// WebhookAttempt converts an attempt. Bytes of the response that are not UTF-8 are replaced, because
// JSON cannot have them.
func WebhookAttempt(a *webhookv1.Attempt) *edgebv1.WebhookAttempt {
	return &edgebv1.WebhookAttempt{
		Number: a.GetNumber(), Url: a.GetUrl(), StartedAt: utc(a.GetStartedAt()), DurationMs: a.GetDurationMicroseconds() / 1000,
		Failure: nullableText(enum.Name(a.GetFailure())), Message: a.GetMessage(), ResponseStatus: limit(a.GetStatus()),
		ResponseBody: strings.ToValidUTF8(string(a.GetResponseBody()), "\uFFFD"),
	}
}

// WebhookMessage converts a message to the JSON that endpoints receive.
func WebhookMessage(m *webhookv1.Message) *edgev1.Json { return &edgev1.Json{Text: m.GetBody()} }
