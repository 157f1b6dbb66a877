package edge

import (
	"context"
	"time"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// lookupTimeout is how long a lookup can take, together with the call that it waits for.
const lookupTimeout = 5 * time.Second

// Customers looks up single customers. Concurrent lookups with the same token share a call to the
// customer service, because a call costs more than the lookup. The service checks every token, so
// lookups with different tokens never share a call.
type Customers struct {
	client customerv1.CustomerServiceClient
	reads  *combine.Reads[string, string, *customerv1.Customer] // by token and identifier
}

// NewCustomers returns Customers that call client.
func NewCustomers(client customerv1.CustomerServiceClient) *Customers {
	c := &Customers{client: client}
	c.reads = combine.New(c.fetch)
	return c
}

// Get returns a customer, with the caller's token. Other callers can get the same message, so callers
// must not modify it.
func (c *Customers) Get(ctx context.Context, customer string) (*customerv1.Customer, error) {
	claims := rpc.ClaimsFrom(ctx)
	if claims == nil || !claims.Has(scopes.CustomersRead) { // BatchGetCustomers needs the scope
		return c.one(ctx, customer)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, ok, err := c.reads.Get(ctx, claims.Raw, customer)
	if err == nil && !ok {
		err = fault.Missing("customer")
	}
	return found, err
}

func (c *Customers) one(ctx context.Context, customer string) (*customerv1.Customer, error) {
	res, err := c.client.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: customer})
	return res.GetCustomer(), err
}

// fetch returns the customers that exist, by identifier. ctx carries the token.
func (c *Customers) fetch(ctx context.Context, _ string, customers []string) (map[string]*customerv1.Customer, error) {
	if len(customers) == 1 {
		found, err := c.one(ctx, customers[0])
		if fault.Is(err, fault.NotFound) {
			return nil, nil
		}
		return map[string]*customerv1.Customer{customers[0]: found}, err
	}
	res, err := c.client.BatchGetCustomers(ctx, &customerv1.BatchGetCustomersRequest{Ids: customers})
	if err != nil {
		return nil, err
	}
	found := make(map[string]*customerv1.Customer, len(customers))
	for _, customer := range res.GetCustomers() {
		found[customer.GetId()] = customer
	}
	return found, nil
}
