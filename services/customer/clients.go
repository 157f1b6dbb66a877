package customer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
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

// Confirmer has the services that act in a customer's name confirm a deletion.
type Confirmer interface {
	// ConfirmDeletion returns nil once no replica of any of them serves the
	// customer. It reads the company and the token from ctx.
	ConfirmDeletion(ctx context.Context, customer id.Customer) error
}

// ConfirmationClient asks services to confirm deletions, with the caller's own
// token: they read the customer themselves, and so need not trust it.
type ConfirmationClient []customerv1.CustomerDeletionServiceClient

// ConfirmDeletion implements Confirmer: it asks all services at once.
func (c ConfirmationClient) ConfirmDeletion(ctx context.Context, customer id.Customer) error {
	faults := make([]error, len(c))
	var all sync.WaitGroup
	for i, client := range c {
		all.Go(func() {
			_, faults[i] = client.ConfirmCustomerDeletion(ctx, &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer.String()})
		})
	}
	all.Wait()
	return errors.Join(faults...)
}
