package pass

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Others is what the pass service asks of other services. Errors are faults.
type Others interface {
	// CustomerExists reports whether a customer exists and is not deleted.
	CustomerExists(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
	// CustomerDeleted reports whether a customer is deleted; fault.NotFound if there
	// never was one.
	CustomerDeleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
	// Company returns a company as auth knows it.
	Company(ctx context.Context, company id.Company) (companyRecord, error)
}

// clients asks the other services as ourselves: a caller who may assign a pass
// need not have the right to read customers.
type clients struct {
	customers customerv1.CustomerServiceClient
	companies authv1.CompanyServiceClient
	source    *token.Source
}

// NewClients returns the other services over connections, with tokens of source.
func NewClients(customerConn, authConn grpc.ClientConnInterface, source *token.Source) Others {
	return &clients{
		customers: customerv1.NewCustomerServiceClient(customerConn), companies: authv1.NewCompanyServiceClient(authConn), source: source,
	}
}

func (c *clients) CustomerExists(ctx context.Context, company id.Company, customer id.Customer) (bool, error) {
	_, err := c.customers.GetCustomer(rpc.As(ctx, c.source, company), &customerv1.GetCustomerRequest{Id: customer.String()})
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, ours("customer", err)
}

func (c *clients) CustomerDeleted(ctx context.Context, company id.Company, customer id.Customer) (bool, error) {
	res, err := c.customers.BatchGetCustomers(rpc.As(ctx, c.source, company), &customerv1.BatchGetCustomersRequest{
		Ids: []string{customer.String()}, IncludeDeleted: true,
	})
	if err != nil {
		return false, ours("customer", err)
	}
	if len(res.GetCustomers()) == 0 {
		return false, fault.Missing("customer")
	}
	return res.GetCustomers()[0].GetDeletedAt() != nil, nil
}

func (c *clients) Company(ctx context.Context, company id.Company) (companyRecord, error) {
	res, err := c.companies.GetCompany(rpc.As(ctx, c.source, company), &authv1.GetCompanyRequest{Id: company.String()})
	if fault.Is(err, fault.NotFound) {
		return companyRecord{}, fault.Missing("company")
	}
	if err != nil {
		return companyRecord{}, ours("auth", err)
	}
	in := res.GetCompany()
	return companyRecord{CompanyID: company, Timezone: in.GetTimezone(), Currency: in.GetCurrency(), Version: in.GetVersion()}, nil
}

// ours keeps another service's complaints about ourselves from our caller.
func ours(service string, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Unavailable):
		return fault.Away(fmt.Errorf("%s service: %w", service, err))
	}
	return fmt.Errorf("%s service: %v", service, err) //nolint:errorlint // the fault of a service is not the caller's
}
