package customer

import (
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// What the customer service publishes. It consumes nothing.
const (
	subjectCreated = "customer.v1.customer_created"
	subjectUpdated = "customer.v1.customer_updated"
	subjectDeleted = "customer.v1.customer_deleted"
)

func created(company id.Company, c Customer) outbox.Event {
	return event(company, subjectCreated, c, &customerv1.CustomerCreated{Customer: snapshot(c)})
}

func updated(company id.Company, c Customer) outbox.Event {
	return event(company, subjectUpdated, c, &customerv1.CustomerUpdated{Customer: snapshot(c)})
}

func deleted(company id.Company, c Customer) outbox.Event {
	return event(company, subjectDeleted, c, &customerv1.CustomerDeleted{Customer: snapshot(c)})
}

func event(company id.Company, subject string, c Customer, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company, Subject: subject, Payload: payload, OccurredAt: c.UpdatedAt}
}
