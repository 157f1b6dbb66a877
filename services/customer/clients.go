package customer

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CompanyClient asks the auth service as ourselves: a caller who may write
// customers need not have the right to read companies.
type CompanyClient struct {
	client authv1.CompanyServiceClient
	source *token.Source
}

// NewCompanyClient returns a client over conn with tokens of source.
func NewCompanyClient(conn grpc.ClientConnInterface, source *token.Source) *CompanyClient {
	return &CompanyClient{client: authv1.NewCompanyServiceClient(conn), source: source}
}

// Company implements Companies.
func (c *CompanyClient) Company(ctx context.Context, company id.Company) (Company, error) {
	resp, err := c.client.GetCompany(rpc.As(ctx, c.source, company), &authv1.GetCompanyRequest{Id: company.String()})
	switch {
	case fault.Is(err, fault.NotFound):
		return Company{}, fault.Missing("company")
	case fault.Is(err, fault.Unavailable):
		return Company{}, fault.Away(fmt.Errorf("auth service: %w", err))
	case err != nil:
		return Company{}, fmt.Errorf("auth service: %v", err) //nolint:errorlint // the fault of a service is not the caller's
	}
	in := resp.GetCompany()
	return Company{ID: company, UniqueEmails: in.GetUniqueCustomerEmails(), Version: in.GetVersion()}, nil
}
