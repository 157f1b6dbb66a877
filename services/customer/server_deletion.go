package customer

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// A deletion takes two commits, because its response must hold in every service:
//
//	delete, mark as unconfirmed, customer_deleted ──▶ the other services confirm ──▶ remove the mark ──▶ respond
//	                                                          │ one cannot
//	                                                          └──▶ UNAVAILABLE; a repeat continues from here
//
// If the process dies at any point, the mark stays and a repeat continues from there. If the caller
// never repeats, the mark stays, and only a deletion reads it. Booking then learns of the deletion
// from the event. Pass does not consume the event: it checks with this service before it assigns a
// pass, and redeems credits only for booking.

// confirmationTimeout is shorter than callers wait for a response, and longer than an ordinary
// commit takes.
const confirmationTimeout = 4 * time.Second

// DeleteCustomer implements CustomerService.
func (s *Server) DeleteCustomer(ctx context.Context, req *customerv1.DeleteCustomerRequest) (*customerv1.DeleteCustomerResponse, error) {
	company, customer, err := s.clockedCustomer(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &customerv1.DeleteCustomerResponse{}
	answered := false
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		if answered, err = idem.Seen(ctx, tx, req, resp); err != nil || answered {
			return err
		}
		return s.delete(ctx, tx, company, customer, req.ExpectedVersion)
	})
	if err != nil {
		return nil, err
	}
	if answered {
		return resp, nil
	}
	if err := s.confirm(ctx, customer); err != nil {
		return nil, err
	}
	// The response is stored with the confirmation, so it is never replayed before it.
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		first, err := s.store.confirmed(ctx, tx, company.ID, customer)
		if err == nil && !first {
			err = missing() // a concurrent request was answered OK
		}
		return err
	})
}

// delete deletes a customer, or returns nil if that is already done but not confirmed.
func (s *Server) delete(ctx context.Context, tx *pg.Tx, company tenancy.Company, customer id.Customer, expected *int64) error {
	c, err := s.store.lockAny(ctx, tx, company.ID, customer)
	if err != nil {
		return err
	}
	if c.DeletedAt != nil {
		unconfirmed, err := s.store.unconfirmed(ctx, tx, company.ID, customer)
		if err == nil && !unconfirmed {
			return missing()
		}
		return err
	}
	if err := check.Version(c.Version, expected, "customer"); err != nil {
		return err
	}
	c.Delete(s.clock(company))
	s.store.save(tx, company.ID, c)
	return s.outbox.Append(ctx, tx, deleted(company, c))
}

// confirm requests that the other services confirm a committed deletion. If one of them does not,
// for any reason, the fault asks the caller to repeat the request.
func (s *Server) confirm(ctx context.Context, customer id.Customer) error {
	ctx, cancel := context.WithTimeout(ctx, confirmationTimeout)
	defer cancel()
	if err := s.confirmer.ConfirmDeletion(ctx, customer); err != nil {
		return fault.New(fault.Unavailable, fault.ReasonServiceUnavailable,
			"the customer is deleted, but another service has not confirmed it yet; repeat the request").
			With("deletion", "unconfirmed").After(time.Second).Because(err)
	}
	return nil
}
