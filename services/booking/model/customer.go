package model

import (
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// CustomerRecord is a customer as the customer service describes it.
type CustomerRecord struct {
	Company id.Company
	Customer
	Reference string // the key in an earlier system, or ""
	Version   int64
	DeletedAt time.Time // zero: not deleted
}

// KnownCustomer is a customer in the copy.
type KnownCustomer struct {
	Customer
	Deleted bool
}

// Exists returns an error if the customer is deleted or, if c is nil, not in the copy.
func (c *KnownCustomer) Exists(customer id.Customer) error {
	switch {
	case c == nil:
		return &UnknownCustomers{Ids: []id.Customer{customer}}
	case c.Deleted:
		return fault.Missing("customer")
	}
	return nil
}

// UnknownCustomers refuses a request that names customers who are not in the copy. They may exist,
// so the caller fetches them and tries again, once.
type UnknownCustomers struct{ Ids []id.Customer }

func (e *UnknownCustomers) Error() string {
	return fmt.Sprintf("%d customers are not in the copy", len(e.Ids))
}

// AsUnknownCustomers returns err as an UnknownCustomers, if it is one.
func AsUnknownCustomers(err error) (*UnknownCustomers, bool) {
	var unknown *UnknownCustomers
	ok := errors.As(err, &unknown)
	return unknown, ok
}

// ResolvedCustomers maps the customers that an import names to identifiers. A deleted customer has
// a zero identifier.
type ResolvedCustomers struct {
	ByID        map[id.Customer]id.Customer
	ByReference map[string]id.Customer
}

// Note records a customer. If several customers share a reference, it resolves to one
// that is not deleted.
func (r *ResolvedCustomers) Note(customer id.Customer, reference string, deleted bool) {
	known := customer
	if deleted {
		known = id.Customer{}
	}
	r.ByID[customer] = known
	if reference != "" && r.ByReference[reference].IsZero() {
		r.ByReference[reference] = known
	}
}
