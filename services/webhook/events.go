package webhook

import (
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// The consumers of the catalogue's domain events. Processes of the previous release read from the first
// one too, and drop the events that they do not know, so these have a consumer of their own.
const (
	purchaseConsumer = "webhook-intake"
	changeConsumer   = "webhook-changes"
)

// purchaseSubjects are the domain events of purchaseConsumer.
func purchaseSubjects() []string {
	return []string{subjects.BookingConfirmed, subjects.CustomerPassAssigned}
}

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
