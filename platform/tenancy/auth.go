package tenancy

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// client fetches companies with the service's own credential, because a caller that can write
// customers, for example, does not always have the scope to read companies.
type client struct {
	companies authv1.CompanyServiceClient
	source    *token.Source
}

// NewAuth returns a client of the auth service that calls conn with tokens from source.
func NewAuth(conn grpc.ClientConnInterface, source *token.Source) Auth {
	return &client{companies: authv1.NewCompanyServiceClient(conn), source: source}
}

// Company implements Auth.
func (c *client) Company(ctx context.Context, company id.Company) (Company, error) {
	resp, err := c.companies.GetCompany(rpc.As(ctx, c.source, company), &authv1.GetCompanyRequest{Id: company.String()})
	if fault.Is(err, fault.NotFound) {
		return Company{}, fault.Missing("company")
	}
	if err != nil {
		return Company{}, rpc.OwnError("auth", err)
	}
	in := resp.GetCompany()
	return Company{
		ID: company, Name: in.GetName(), Timezone: in.GetTimezone(), Currency: in.GetCurrency(),
		UniqueEmails: in.GetUniqueCustomerEmails(), OptionalEmails: in.GetOptionalCustomerEmails(),
		Version: in.GetVersion(), ClockOffset: in.GetClockOffsetSeconds(),
	}, nil
}
