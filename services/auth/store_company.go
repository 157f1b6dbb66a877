package auth

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const companyColumns = `company_id, name, timezone, currency, unique_customer_emails, version, created_at, updated_at, live_version, clock_offset_seconds,
	optional_customer_emails`

const (
	companySQL = `select ` + companyColumns + ` from companies where company_id = $1`

	lockCompanySQL = companySQL + ` for update`

	companiesSQL = `select ` + companyColumns + ` from companies where live_version = 0`

	insertCompanySQL = `insert into companies (` + companyColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	updateCompanySQL = `update companies set name = $2, timezone = $3, currency = $4, unique_customer_emails = $5, version = $6,
		updated_at = $7, live_version = $8, clock_offset_seconds = $9, optional_customer_emails = $10 where company_id = $1`
)

func (s *store) company(ctx context.Context, company id.Company) (Company, error) {
	return one[Company](ctx, s, pg.For(company), "company", companySQL, company)
}

func (s *store) lockCompany(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	return pg.GetInTx[Company](ctx, tx, "company", lockCompanySQL, company)
}

// lockLiveCompany is lockCompany for what exists in live mode only: administrators.
func (s *store) lockLiveCompany(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	if company.IsTest() {
		return Company{}, testMode("administrators belong to the company in live mode")
	}
	return s.lockCompany(ctx, tx, company)
}

func (s *store) companyInTx(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	return pg.GetInTx[Company](ctx, tx, "company", companySQL, company)
}

// companies lists the companies in live mode.
func (s *store) companies(ctx context.Context, p page.Page) ([]Company, error) {
	return pageOf[Company](ctx, s, pg.AllCompanies(), p, companiesSQL)
}

func (s *store) insertCompany(ctx context.Context, tx *pg.Tx, c Company) error {
	_, err := tx.Exec(ctx, insertCompanySQL, c.ID, c.Name, c.Timezone, c.Currency, c.UniqueEmails, c.Version, c.CreatedAt, c.UpdatedAt,
		c.LiveVersion, c.ClockOffset, c.OptionalEmails)
	return err
}

// insertTestCompany adds a company in test mode, and reports whether it did not exist.
func (s *store) insertTestCompany(ctx context.Context, tx *pg.Tx, c Company) (created bool, err error) {
	tag, err := tx.Exec(ctx, insertCompanySQL+` on conflict (company_id) do nothing`, c.ID, c.Name, c.Timezone, c.Currency, c.UniqueEmails,
		c.Version, c.CreatedAt, c.UpdatedAt, c.LiveVersion, c.ClockOffset, c.OptionalEmails)
	return tag.RowsAffected() == 1, err
}

func (s *store) updateCompany(ctx context.Context, tx *pg.Tx, c Company) error {
	_, err := tx.Exec(ctx, updateCompanySQL, c.ID, c.Name, c.Timezone, c.Currency, c.UniqueEmails, c.Version, c.UpdatedAt, c.LiveVersion,
		c.ClockOffset, c.OptionalEmails)
	return err
}
