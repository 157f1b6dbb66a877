package customer

import (
	"context"
	"errors"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Company is what the customer service needs to know of a tenant, as of a
// version.
type Company struct {
	ID           id.Company
	UniqueEmails bool // no two customers may have the same address
	Version      int64
}

// Companies is what the customer service asks of the auth service. Errors are
// faults; a company that does not exist is fault.NotFound.
type Companies interface {
	Company(ctx context.Context, company id.Company) (Company, error)
}

// errNewCompany is of a company that the copy does not know yet.
var errNewCompany = errors.New("the copy has no such company")

// inCompany runs fn in one transaction of the company. A company that fn finds
// to be new is fetched and kept, and fn runs again. fn must be repeatable.
func (s *Server) inCompany(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	err := s.store.inTx(ctx, company, fn)
	if !errors.Is(err, errNewCompany) {
		return err
	}
	if _, err := s.fetchCompany(ctx, company); err != nil {
		return err
	}
	return s.store.inTx(ctx, company, fn)
}

// fetchCompany fetches a company and keeps it.
func (s *Server) fetchCompany(ctx context.Context, company id.Company) (Company, error) {
	fetched, err := s.companies.Company(ctx, company)
	if err != nil {
		return Company{}, err
	}
	return fetched, s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return s.store.keepCompanies(ctx, tx, []Company{fetched})
	})
}

// RefreshCompany implements CompanyCopyService.
func (s *Server) RefreshCompany(ctx context.Context, _ *authv1.RefreshCompanyRequest) (*authv1.RefreshCompanyResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	fetched, err := s.fetchCompany(ctx, company)
	if err != nil {
		return nil, err
	}
	return &authv1.RefreshCompanyResponse{Version: fetched.Version}, nil
}
