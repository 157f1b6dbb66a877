package auth

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store is every SQL statement of the service but those of the keys, which are
// in keys.go. Its methods with a tx run in the caller's transaction.
type store struct{ db *pg.DB }

// scope is the tenant's, or the whole platform's for platform credentials.
func scope(company id.Company) pg.Scope {
	if company.IsZero() {
		return pg.AllCompanies()
	}
	return pg.For(company)
}

// Write runs fn in one transaction of the company; zero: of the platform.
func (s *store) Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return pg.Fault(s.db.InTx(ctx, scope(company), fn), nil)
}

const companyColumns = `company_id, name, timezone, currency, unique_customer_emails, version, created_at, updated_at`

const (
	companySQL = `select ` + companyColumns + ` from companies where company_id = $1`

	lockCompanySQL = companySQL + ` for update`

	companiesSQL = `select ` + companyColumns + ` from companies where company_id > $1 order by company_id limit $2`

	insertCompanySQL = `insert into companies (` + companyColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8)`

	updateCompanySQL = `update companies set name = $2, timezone = $3, currency = $4, unique_customer_emails = $5, version = $6,
		updated_at = $7 where company_id = $1`
)

func missing(err error, what string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing(what)
	}
	return pg.Fault(err, nil)
}

func (s *store) company(ctx context.Context, company id.Company) (Company, error) {
	c, err := pg.One[Company](ctx, s.db, pg.For(company), companySQL, company)
	return c, missing(err, "company")
}

func (s *store) lockCompany(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	rows, err := tx.Query(ctx, lockCompanySQL, company)
	if err != nil {
		return Company{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Company])
	return c, missing(err, "company")
}

func (s *store) companyInTx(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	rows, err := tx.Query(ctx, companySQL, company)
	if err != nil {
		return Company{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Company])
	return c, missing(err, "company")
}

func (s *store) companies(ctx context.Context, after id.UUID, limit int) ([]Company, error) {
	list, err := pg.Rows[Company](ctx, s.db, pg.AllCompanies(), companiesSQL, [16]byte(after), limit)
	return list, pg.Fault(err, nil)
}

func (s *store) insertCompany(ctx context.Context, tx *pg.Tx, c Company) error {
	_, err := tx.Exec(ctx, insertCompanySQL, c.ID, c.Name, c.Timezone, c.Currency, c.UniqueEmails, c.Version, c.CreatedAt, c.UpdatedAt)
	return err
}

func (s *store) updateCompany(ctx context.Context, tx *pg.Tx, c Company) error {
	_, err := tx.Exec(ctx, updateCompanySQL, c.ID, c.Name, c.Timezone, c.Currency, c.UniqueEmails, c.Version, c.UpdatedAt)
	return err
}

// zeroable sends the zero company as the zero UUID, which stands for the
// platform, and not as NULL.
func zeroable(company id.Company) [16]byte { return company }
