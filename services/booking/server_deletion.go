package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/booking/model"
)

// A deletion is confirmed in several commits. Purchases lock the rows of their customers for key
// share. An update of the copy does not wait for that lock and does not block it:
//
//	store the deletion ──▶ wait: lock the row  ──▶ end waitlist entries, offers and holds
//	from here on every     exclusively, until       one that was being added is found;
//	purchase is refused    every purchase that      the freed spaces go to the waitlists
//	                       saw the customer ends
//
// New purchases are refused after the first commit, so this wait never starves. Its commit holds
// one lock and waits for no other, so there are no deadlocks. A purchase by pass that is pending then
// is refused its confirmation, and undone.

// ConfirmCustomerDeletion implements CustomerDeletionService. It reads only the customer's
// identifier from the request, so that a caller cannot use it to delete a customer.
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := check.ID[id.Customer](req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	deleted, err := s.fetchCustomers(ctx, company.ID, []id.Customer{customer}, nil)
	switch {
	case err != nil:
		return nil, err
	case len(deleted) == 0:
		return nil, fault.Missing("customer")
	case deleted[0].DeletedAt.IsZero():
		return nil, customers.NotDeleted()
	}
	if err := customers.AwaitCommits(ctx, s.store.Store, company.ID, customer); err != nil {
		return nil, err
	}
	leaver := &leaver{store: s.store, outbox: s.outbox, now: s.now, newID: s.newID}
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error { return leaver.leave(ctx, tx, deleted) })
	if err == nil {
		err = s.endHoldsOf(ctx, company, customer)
	}
	if err != nil {
		return nil, err
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}

// endHoldsOf releases the holds and offers that name a deleted customer, batch by batch. None can be
// confirmed any more.
func (s *Server) endHoldsOf(ctx context.Context, company tenancy.Company, customer id.Customer) error {
	for released := 1; released > 0; {
		err := s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
			released = 0
			holds, err := s.store.HoldsOfCustomer(ctx, tx, company.ID, customer, releaseBatch)
			if err == nil && len(holds) > 0 {
				released, err = s.release(ctx, tx, company, holds, model.HoldExpired, model.Held)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
