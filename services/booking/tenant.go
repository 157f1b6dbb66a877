package booking

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Company is what the booking service needs to know of a tenant.
type Company struct {
	ID       id.Company
	Timezone string // IANA
	Currency string // ISO 4217
	asOf     int64  // the version of the company that this is of; 0: not known
}

// companyRecord is a company as the copy keeps it.
type companyRecord struct {
	Company
	version int64
}

// Companies is what the booking service asks of the auth service. Errors are
// faults; a company that does not exist is fault.NotFound.
type Companies interface {
	Company(ctx context.Context, company id.Company) (companyRecord, error)
}

// tenant returns the company that a request is for. The caller's token says all
// about its own; a platform credential that speaks for another one needs the copy.
func (s *Server) tenant(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	if claims := rpc.CompanyClaims(ctx); claims != nil {
		return Company{ID: company, Timezone: claims.Zone, Currency: claims.Currency, asOf: claims.CompanyVersion}, nil
	}
	known, err := s.store.company(ctx, company)
	if err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return known, err
	}
	return s.fetchCompany(ctx, company)
}

// currentTenant returns the company as it is now, for what takes its zone or its
// currency from it: a token may have been issued before the company changed.
func (s *Server) currentTenant(ctx context.Context) (Company, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	known, err := s.store.company(ctx, company.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return company, nil
	}
	return company.newest(known), err
}

// newest returns the newer one of what a token and what the copy says. The copy is
// older after a restore, and for as long as its event is on its way.
func (c Company) newest(known Company) Company {
	if known.ID != c.ID || known.asOf < c.asOf {
		return c
	}
	return known
}

// fetchCompany fetches a company and keeps it.
func (s *Server) fetchCompany(ctx context.Context, company id.Company) (Company, error) {
	fetched, err := s.companies.Company(ctx, company)
	if err != nil {
		return Company{}, err
	}
	fetched.ID, fetched.asOf = company, fetched.version
	return fetched.Company, s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return keepCompanies(ctx, tx, []companyRecord{fetched})
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
	return &authv1.RefreshCompanyResponse{Version: fetched.asOf}, nil
}

const (
	companySQL = `select company_id, timezone, currency, version from companies where company_id = $1`

	// What is older than the copy changes nothing, in whatever order news comes.
	keepCompaniesSQL = `insert into companies as c (company_id, timezone, currency, version)
		select n.company_id, n.timezone, n.currency, n.version
		from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[]) n(company_id, timezone, currency, version)
		on conflict (company_id) do update
			set timezone = excluded.timezone, currency = excluded.currency, version = excluded.version
			where c.version < excluded.version`
)

// company reads the copy; pgx.ErrNoRows where it has none.
func (s *store) company(ctx context.Context, company id.Company) (Company, error) {
	var c Company
	err := s.read(ctx, company, c.query(company))
	if err == nil && c.ID.IsZero() {
		err = pgx.ErrNoRows
	}
	return c, err
}

// query returns the query that reads the copy of a company into c, which stays as
// it is if there is no copy.
func (c *Company) query(company id.Company) pg.Query {
	return pg.Query{SQL: companySQL, Args: []any{company}, Scan: each(func(rows pgx.Rows) error {
		return rows.Scan(&c.ID, &c.Timezone, &c.Currency, &c.asOf)
	})}
}

// keepCompanies stores news about companies.
func keepCompanies(ctx context.Context, tx *pg.Tx, records []companyRecord) error {
	newest := newestOf(records, func(r companyRecord) (rowKey, int64) { return rowKey{company: r.ID}, r.version })
	var ids []id.Company
	var zones, currencies []string
	var versions []int64
	for _, r := range newest {
		ids = append(ids, r.ID)
		zones, currencies = append(zones, r.Timezone), append(currencies, r.Currency)
		versions = append(versions, r.version)
	}
	_, err := tx.Exec(ctx, keepCompaniesSQL, ids, zones, currencies, versions)
	return err
}
