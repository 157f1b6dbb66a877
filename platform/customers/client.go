package customers

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Lookup looks customers up. Its errors are faults.
type Lookup interface {
	// Require returns fault.NotFound unless the customer exists and is not deleted.
	Require(ctx context.Context, company id.Company, customer id.Customer) error
	// Missing returns those of the customers that do not exist or are deleted.
	Missing(ctx context.Context, company id.Company, customers []id.Customer) (map[id.Customer]bool, error)
	// Deleted reports whether a customer is deleted. It returns fault.NotFound if the customer never existed.
	Deleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
}

// Client looks customers up in the customer service. It uses the credential of the calling service, because
// a caller with the right to assign passes does not need the right to read customers.
type Client struct {
	client customerv1.CustomerServiceClient
	source *token.Source
}

// NewClient returns a client of the customer service that uses conn and the tokens of source.
func NewClient(conn grpc.ClientConnInterface, source *token.Source) *Client {
	return &Client{client: customerv1.NewCustomerServiceClient(conn), source: source}
}

// Require implements Lookup.
func (c *Client) Require(ctx context.Context, company id.Company, customer id.Customer) error {
	_, err := c.client.GetCustomer(rpc.As(ctx, c.source, company), &customerv1.GetCustomerRequest{Id: customer.String()})
	if fault.Is(err, fault.NotFound) {
		return fault.Missing("customer")
	}
	return rpc.OwnError("customer", err)
}

// Missing implements Lookup.
func (c *Client) Missing(ctx context.Context, company id.Company, customers []id.Customer) (map[id.Customer]bool, error) {
	missing, req := map[id.Customer]bool{}, &customerv1.BatchGetCustomersRequest{}
	for _, customer := range customers {
		if !missing[customer] {
			req.Ids = append(req.Ids, customer.String())
		}
		missing[customer] = true
	}
	if len(req.GetIds()) == 0 {
		return missing, nil
	}
	resp, err := c.client.BatchGetCustomers(rpc.As(ctx, c.source, company), req)
	if err != nil {
		return nil, rpc.OwnError("customer", err)
	}
	for _, found := range resp.GetCustomers() {
		if customer, err := id.Parse[id.Customer](found.GetId()); err == nil && found.GetDeletedAt() == nil {
			delete(missing, customer)
		}
	}
	return missing, nil
}

// Deleted implements Lookup.
func (c *Client) Deleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error) {
	resp, err := c.client.BatchGetCustomers(rpc.As(ctx, c.source, company), &customerv1.BatchGetCustomersRequest{
		Ids: []string{customer.String()}, IncludeDeleted: true,
	})
	if err != nil {
		return false, rpc.OwnError("customer", err)
	}
	if len(resp.GetCustomers()) == 0 {
		return false, fault.Missing("customer")
	}
	return resp.GetCustomers()[0].GetDeletedAt() != nil, nil
}
