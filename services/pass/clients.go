package pass

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Customers looks customers up in the customer service. Its errors are faults.
type Customers interface {
	// Exists reports whether a customer exists and is not deleted.
	Exists(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
	// Deleted reports whether a customer is deleted. It returns fault.NotFound if the customer
	// never existed.
	Deleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
}

// customerClient calls the customer service with the pass service's own credential, because a
// caller with the right to assign passes does not need the right to read customers.
type customerClient struct {
	client customerv1.CustomerServiceClient
	source *token.Source
}

// NewCustomers returns a client of the customer service that uses conn and the tokens of source.
func NewCustomers(conn grpc.ClientConnInterface, source *token.Source) Customers {
	return &customerClient{client: customerv1.NewCustomerServiceClient(conn), source: source}
}

// Exists implements Customers.
func (c *customerClient) Exists(ctx context.Context, company id.Company, customer id.Customer) (bool, error) {
	_, err := c.client.GetCustomer(rpc.As(ctx, c.source, company), &customerv1.GetCustomerRequest{Id: customer.String()})
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, rpc.OwnError("customer", err)
}

// Deleted implements Customers.
func (c *customerClient) Deleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error) {
	res, err := c.client.BatchGetCustomers(rpc.As(ctx, c.source, company), &customerv1.BatchGetCustomersRequest{
		Ids: []string{customer.String()}, IncludeDeleted: true,
	})
	if err != nil {
		return false, rpc.OwnError("customer", err)
	}
	if len(res.GetCustomers()) == 0 {
		return false, fault.Missing("customer")
	}
	return res.GetCustomers()[0].GetDeletedAt() != nil, nil
}
