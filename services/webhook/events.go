package webhook

import (
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// consumer is the name of the consumer of the catalogue's domain events.
const consumer = "webhook-intake"

// The events that the webhook service publishes.
const (
	subjectEndpointFailing  = "webhook.v1.endpoint_failing"
	subjectEndpointDisabled = "webhook.v1.endpoint_disabled"
	subjectDataErased       = "webhook.v1.customer_data_erased"
)

func endpointFailing(company id.Company, e *webhookv1.Endpoint) outbox.Event {
	return outbox.Event{Company: company, Subject: subjectEndpointFailing, Payload: &webhookv1.EndpointFailing{Endpoint: e}}
}

func endpointDisabled(company id.Company, e *webhookv1.Endpoint) outbox.Event {
	return outbox.Event{Company: company, Subject: subjectEndpointDisabled, Payload: &webhookv1.EndpointDisabled{Endpoint: e}}
}
