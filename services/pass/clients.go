package pass

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Company is what the pass service needs to know of a tenant.
type Company struct {
	ID       id.Company
	Zone     *time.Location
	Currency string
}

// Others is what the pass service asks of other services. Errors are faults.
type Others interface {
	// CustomerExists reports whether a customer exists and is not deleted.
	CustomerExists(ctx context.Context, company id.Company, customer id.Customer) (bool, error)
	// Company returns a company's zone and currency.
	Company(ctx context.Context, company id.Company) (timezone, currency string, err error)
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

func (c *clients) Company(ctx context.Context, company id.Company) (string, string, error) {
	res, err := c.companies.GetCompany(rpc.As(ctx, c.source, company), &authv1.GetCompanyRequest{Id: company.String()})
	if fault.Is(err, fault.NotFound) {
		return "", "", fault.Missing("company")
	}
	return res.GetCompany().GetTimezone(), res.GetCompany().GetCurrency(), ours("auth", err)
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

// tenant returns the company that a request is for. The caller's token says all
// about its own; of another one, which a platform credential names, auth is asked.
func (s *Server) tenant(ctx context.Context) (Company, error) {
	company := rpc.Company(ctx)
	if company.IsZero() {
		return Company{}, fault.InvalidParameter("reservation-company", "required", "is required from a platform credential")
	}
	timezone, currency := "", ""
	if claims := rpc.ClaimsFrom(ctx); claims != nil && claims.Company == company {
		timezone, currency = claims.Zone, claims.Currency
	}
	if timezone == "" || currency == "" {
		var err error
		if timezone, currency, err = s.others.Company(ctx, company); err != nil {
			return Company{}, err
		}
	}
	loc, err := zone.Load(timezone)
	return Company{ID: company, Zone: loc, Currency: currency}, err
}
