package booking

import (
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// customerRecord is a customer as the customer service describes it.
type customerRecord struct {
	company id.Company
	Customer
	reference string // the key in an earlier system, or ""
	version   int64
	deletedAt time.Time // zero: not deleted
}

// knownCustomer is a customer as the copy has it.
type knownCustomer struct {
	Customer
	deleted bool
}

// exists returns why a customer cannot be served: deleted, or, where c is nil, not
// in the copy.
func (c *knownCustomer) exists(customer id.Customer) error {
	switch {
	case c == nil:
		return &unknownCustomers{ids: []id.Customer{customer}}
	case c.deleted:
		return fault.Missing("customer")
	}
	return nil
}

// unknownCustomers is the refusal of a request that names customers that the copy does
// not have. They may exist nevertheless: the caller fetches them and tries again, once.
type unknownCustomers struct{ ids []id.Customer }

func (e *unknownCustomers) Error() string {
	return fmt.Sprintf("%d customers are not in the copy", len(e.ids))
}

// asUnknown reports an error about customers that may exist nevertheless.
func asUnknown(err error) (*unknownCustomers, bool) {
	var unknown *unknownCustomers
	ok := errors.As(err, &unknown)
	return unknown, ok
}

// resolved is what is known of the customers that an import names. A deleted one has a
// zero identifier.
type resolved struct {
	byID        map[id.Customer]id.Customer
	byReference map[string]id.Customer
}

// note records a customer. If several customers share a reference, it resolves to one
// that is not deleted.
func (r *resolved) note(customer id.Customer, reference string, deleted bool) {
	known := customer
	if deleted {
		known = id.Customer{}
	}
	r.byID[customer] = known
	if reference != "" && r.byReference[reference].IsZero() {
		r.byReference[reference] = known
	}
}
