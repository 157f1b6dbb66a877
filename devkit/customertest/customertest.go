// Package customertest has a fake of the customer service for the tests of services that look customers up.
package customertest

import (
	"context"
	"sync"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Fake has the customers that a test adds. It implements customers.Lookup.
type Fake struct {
	mu      sync.Mutex
	present map[id.Customer]id.Company
	deleted map[id.Customer]id.Company
	err     error
}

// New returns a fake without customers.
func New() *Fake {
	return &Fake{present: map[id.Customer]id.Company{}, deleted: map[id.Customer]id.Company{}}
}

// Add adds a customer, or restores a deleted one.
func (f *Fake) Add(company id.Company, customer id.Customer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.present[customer] = company
}

// Delete deletes a customer.
func (f *Fake) Delete(customer id.Customer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted[customer] = f.present[customer]
	delete(f.present, customer)
}

// Fail makes every lookup return err, until it is called with nil.
func (f *Fake) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Require implements customers.Lookup.
func (f *Fake) Require(ctx context.Context, company id.Company, customer id.Customer) error {
	missing, err := f.Missing(ctx, company, []id.Customer{customer})
	if err == nil && missing[customer] {
		err = fault.Missing("customer")
	}
	return err
}

// Missing implements customers.Lookup.
func (f *Fake) Missing(_ context.Context, company id.Company, customers []id.Customer) (map[id.Customer]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := map[id.Customer]bool{}
	for _, c := range customers {
		if owner, ok := f.present[c]; !ok || owner != company {
			missing[c] = true
		}
	}
	return missing, f.err
}

// Deleted implements customers.Lookup.
func (f *Fake) Deleted(_ context.Context, company id.Company, customer id.Customer) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return false, f.err
	case f.deleted[customer] == company:
		return true, nil
	case f.present[customer] == company:
		return false, nil
	}
	return false, fault.Missing("customer")
}
