package subscription

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/subscription/model"
)

// endBatch is the number of subscriptions of a deleted customer that are looked up at once.
const endBatch = 100

// ConfirmCustomerDeletion implements CustomerDeletionService. It reads only the customer's
// identifier from the request, so that a caller cannot use it to delete a customer.
//
// From then on, no subscription is added for the customer. The existing subscriptions end.
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
	return &customerv1.ConfirmCustomerDeletionResponse{}, s.endSubscriptions(ctx, company, customer)
}

// endSubscriptions ends the subscriptions of a deleted customer, each in its own commit.
func (s *Server) endSubscriptions(ctx context.Context, company tenant, customer id.Customer) error {
	for {
		open, err := s.store.openOfCustomer(ctx, company.ID, customer, endBatch)
		if err != nil || len(open) == 0 {
			return err
		}
		for _, subscription := range open {
			err := s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
				_, err := s.change(ctx, tx, company, subscription, action{decide: func(a acting) ([]model.Step, error) {
					return a.DeleteCustomer(a.Clock)
				}}, nil)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
}
