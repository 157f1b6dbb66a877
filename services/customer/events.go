package customer

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// The events that the customer service publishes.
const (
	subjectCreated = subjects.CustomerCreated
	subjectUpdated = subjects.CustomerUpdated
	subjectDeleted = subjects.CustomerDeleted
	subjectErased  = subjects.CustomerErased
)

func created(company tenancy.Company, c Customer) outbox.Event {
	return event(company, subjectCreated, c, &customerv1.CustomerCreated{Customer: snapshot(c)})
}

func updated(company tenancy.Company, c, before Customer) outbox.Event {
	return event(company, subjectUpdated, c, &customerv1.CustomerUpdated{Customer: snapshot(c), Previous: snapshot(before)})
}

func deleted(company tenancy.Company, c Customer) outbox.Event {
	return event(company, subjectDeleted, c, &customerv1.CustomerDeleted{Customer: snapshot(c)})
}

// event returns the event of a change of c. It occurred at the real time of the change.
func event(company tenancy.Company, subject string, c Customer, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company.ID, Subject: subject, Payload: payload, OccurredAt: company.Real(c.UpdatedAt)}
}

// erased announces the round of an erasure. c is what is left of the customer.
func erased(e Erasure, c Customer) outbox.Event {
	return outbox.Event{
		Company: e.Company, Subject: subjectErased, OccurredAt: e.AnnouncedAt,
		Payload: &customerv1.CustomerErased{Customer: snapshot(c), Round: e.Round},
	}
}

// companyConsumer is the name of the consumer of company events.
const companyConsumer = "customer-copies"

// The other services answer an erasure on <service>.v1.customer_data_erased.
const (
	erasureConsumer = "customer-erasures"
	dataErased      = ".v1.customer_data_erased"
)

// allAnswers is the subject filter for the answers of all services.
func allAnswers() string { return "*" + dataErased }

func isAnswer(subject string) bool { return strings.HasSuffix(subject, dataErased) }

// answerOf reads a service's answer.
func answerOf(m bus.Message) (erasureAnswer, error) {
	var e privacyv1.CustomerDataErased
	if err := proto.Unmarshal(m.Payload, &e); err != nil {
		return erasureAnswer{}, err
	}
	customer, err := id.Parse[id.Customer](e.GetCustomerId())
	return erasureAnswer{Customer: customer, Service: e.GetService(), Round: e.GetRound(), ErasedAt: e.GetErasedAt().AsTime()}, err
}
