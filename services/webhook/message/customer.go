package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// customerCreated is customer.created.
func customerCreated() kind[*customerv1.CustomerCreated] {
	read := func(e *customerv1.CustomerCreated) *change { return customerChange(e.GetCustomer(), nil) }
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_CUSTOMER_CREATED, read, func(now time.Time) *customerv1.CustomerCreated {
		return &customerv1.CustomerCreated{Customer: sampleCustomer(now)}
	})
}

// customerUpdated is customer.updated.
func customerUpdated() kind[*customerv1.CustomerUpdated] {
	read := func(e *customerv1.CustomerUpdated) *change {
		if e.GetPrevious() == nil {
			return nil
		}
		return customerChange(e.GetCustomer(), e.GetPrevious())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_CUSTOMER_UPDATED, read, func(now time.Time) *customerv1.CustomerUpdated {
		changed := sampleCustomer(now)
		changed.Email, changed.UpdatedAt, changed.Version = "ada.example@example.com", timestamppb.New(now), 2
		return &customerv1.CustomerUpdated{Customer: changed, Previous: sampleCustomer(now)}
	})
}

// customerDeleted is customer.deleted. It shows the customer as they were.
func customerDeleted() kind[*customerv1.CustomerDeleted] {
	read := func(e *customerv1.CustomerDeleted) *change { return customerChange(e.GetCustomer(), nil) }
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_CUSTOMER_DELETED, read, func(now time.Time) *customerv1.CustomerDeleted {
		deleted := sampleCustomer(now)
		deleted.UpdatedAt, deleted.DeletedAt, deleted.Version = timestamppb.New(now), timestamppb.New(now), 2
		return &customerv1.CustomerDeleted{Customer: deleted}
	})
}

// customerChange returns the change of a customer; before is nil for one that is created or deleted.
func customerChange(after, before *customerv1.CustomerSnapshot) *change {
	c := &change{
		customers: []string{after.GetId()},
		after:     func(string) proto.Message { return resource.Customer(customerOf(after)) },
	}
	if before != nil {
		c.before = func(string) proto.Message { return resource.Customer(customerOf(before)) }
	}
	return c
}

// customerOf returns the customer that a snapshot shows.
func customerOf(s *customerv1.CustomerSnapshot) *customerv1.Customer {
	return &customerv1.Customer{
		Id: s.GetId(), FirstName: s.GetFirstName(), LastName: s.GetLastName(), Email: s.GetEmail(), Mobile: s.GetMobile(), Archived: s.GetArchived(),
		CreatedAt: s.GetCreatedAt(), UpdatedAt: s.GetUpdatedAt(), Version: s.GetVersion(), DeletedAt: s.GetDeletedAt(), Reference: s.GetReference(),
	}
}

func sampleCustomer(now time.Time) *customerv1.CustomerSnapshot {
	created := timestamppb.New(now.Add(-24 * time.Hour))
	p := samplePerson()
	return &customerv1.CustomerSnapshot{
		Id: p.ID, FirstName: p.FirstName, LastName: p.LastName, Email: p.Email, Mobile: "+44 20 7946 0000", CreatedAt: created, UpdatedAt: created, Version: 1,
	}
}
