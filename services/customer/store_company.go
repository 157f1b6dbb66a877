package customer

import (
	"context"
	"errors"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
)

// NewCompanies returns the copies of companies in db. Missing ones are fetched from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.UniqueEmails(), tenancy.OptionalEmails(), tenancy.ClockOffset())
}

// errNewCompany reports a company that has no copy yet.
var errNewCompany = errors.New("there is no copy of the company")

// companyStore is the store for transactions that need the copy of the company.
type companyStore struct {
	*store
	companies *tenancy.Companies
}

// Write runs fn in one transaction of the company. If fn fails because there is no copy of the
// company, Write fetches it and runs fn again. fn must be repeatable.
func (s companyStore) Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	err := s.store.Write(ctx, company, fn)
	if !errors.Is(err, errNewCompany) {
		return err
	}
	if _, err := s.companies.Fetch(ctx, company); err != nil {
		return err
	}
	return s.store.Write(ctx, company, fn)
}
