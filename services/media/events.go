package media

import (
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// Subjects of the published events.
const (
	subjectItemCreated        = subjects.MediaItemCreated
	subjectItemUpdated        = subjects.MediaItemUpdated
	subjectItemDeleted        = subjects.MediaItemDeleted
	subjectEntitlementCreated = subjects.MediaEntitlementCreated
	subjectEntitlementDeleted = subjects.MediaEntitlementDeleted
	subjectMediaCompleted     = subjects.MediaCompleted
	subjectDataErased         = "media.v1.customer_data_erased"
)

// consumer is the name of the consumer of company events.
const consumer = "media-copies"

func event(company id.Company, subject string, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company, Subject: subject, Payload: payload}
}

func itemCreated(company id.Company, i Item) outbox.Event {
	return event(company, subjectItemCreated, &mediav1.MediaItemCreated{Item: itemMessage(i)})
}

func itemUpdated(company id.Company, i, previous Item) outbox.Event {
	return event(company, subjectItemUpdated, &mediav1.MediaItemUpdated{Item: itemMessage(i), Previous: itemMessage(previous)})
}

func itemDeleted(company id.Company, i Item) outbox.Event {
	return event(company, subjectItemDeleted, &mediav1.MediaItemDeleted{Item: itemMessage(i)})
}

func entitlementCreated(company id.Company, e Entitlement) outbox.Event {
	return event(company, subjectEntitlementCreated, &mediav1.MediaEntitlementCreated{Entitlement: entitlementMessage(e)})
}

func entitlementDeleted(company id.Company, e Entitlement) outbox.Event {
	return event(company, subjectEntitlementDeleted, &mediav1.MediaEntitlementDeleted{Entitlement: entitlementMessage(e)})
}

// entitlementsDeleted returns the events of entitlements that are deleted together.
func entitlementsDeleted(company id.Company, list []Entitlement) []outbox.Event {
	events := make([]outbox.Event, len(list))
	for n, e := range list {
		events[n] = entitlementDeleted(company, e)
	}
	return events
}

func mediaCompleted(company id.Company, i Item, customer id.Customer) outbox.Event {
	return event(company, subjectMediaCompleted, &mediav1.MediaCompleted{Item: itemMessage(i), CustomerId: customer.String()})
}
