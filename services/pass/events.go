package pass

import (
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Subjects of the published events.
const (
	subjectPassTypeCreated      = "pass.v1.pass_type_created"
	subjectPassTypeUpdated      = "pass.v1.pass_type_updated"
	subjectCustomerPassAssigned = subjects.CustomerPassAssigned
	subjectCustomerPassUpdated  = subjects.CustomerPassUpdated
	subjectCustomerPassImported = subjects.CustomerPassImported
	subjectDataErased           = "pass.v1.customer_data_erased"
)

func event(company id.Company, subject string, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company, Subject: subject, Payload: payload}
}

func passTypeCreated(company id.Company, t *passv1.PassType) outbox.Event {
	return event(company, subjectPassTypeCreated, &passv1.PassTypeCreated{PassType: t})
}

func customerPassAssigned(company id.Company, p *passv1.CustomerPass, t *passv1.PassType, added []*passv1.LedgerEntry) outbox.Event {
	return event(company, subjectCustomerPassAssigned, &passv1.CustomerPassAssigned{CustomerPass: p, PassType: t, LedgerEntries: added})
}

func customerPassImported(company id.Company, p *passv1.CustomerPass, t *passv1.PassType, added []*passv1.LedgerEntry) outbox.Event {
	return event(company, subjectCustomerPassImported, &passv1.CustomerPassImported{CustomerPass: p, PassType: t, LedgerEntries: added})
}

func passTypeUpdated(company id.Company, t *passv1.PassType) outbox.Event {
	return event(company, subjectPassTypeUpdated, &passv1.PassTypeUpdated{PassType: t})
}

func customerPassUpdated(company id.Company, p, previous *passv1.CustomerPass, added []*passv1.LedgerEntry) outbox.Event {
	return event(company, subjectCustomerPassUpdated, &passv1.CustomerPassUpdated{CustomerPass: p, Previous: previous, LedgerEntries: added})
}

// consumer is the name of the consumer of company events.
const consumer = "pass-copies"
