package pass

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// ConfirmCustomerDeletion implements CustomerDeletionService. It reads only the customer's
// identifier from the request, so that a caller cannot use it to delete a customer.
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := check.ID[id.Customer](req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	if err := customers.ConfirmDeletion(ctx, s.store.Store, s.customers, company.ID, customer, s.clock(company)); err != nil {
		return nil, err
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}
