package pass

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// ConfirmCustomerDeletion implements CustomerDeletionService. It reads only the customer's
// identifier from the request, so that a caller cannot use it to delete a customer.
//
// The deletion is committed first, and from then on every new request is refused. The fence then
// waits for the commits that have read the customer as present. They lock the customer's row for
// key share, which the first commit does not wait for. The fence holds no other lock, so there are
// no deadlocks.
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := check.ID[id.Customer](req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	deleted, err := s.customers.Deleted(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	if !deleted {
		return nil, fault.InvalidParameter("customer_id", "deleted", "must be a deleted customer")
	}
	if err := s.store.deleteCustomer(ctx, company.ID, customer, s.clock(company)); err != nil {
		return nil, err
	}
	if err := s.store.awaitCommits(ctx, company.ID, customer); err != nil {
		return nil, err
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}
