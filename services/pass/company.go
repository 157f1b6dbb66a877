package pass

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/zone"
)

// Company is what the pass service needs to know of a tenant.
type Company struct {
	ID       id.Company
	Zone     *time.Location
	Currency string
}

// companyRecord is a company as the copy keeps it, as of a version.
type companyRecord struct {
	CompanyID id.Company
	Timezone  string // IANA
	Currency  string // ISO 4217
	Version   int64
}

// tenant returns the company that a request is for. The caller's token says all
// about its own; a platform credential that speaks for another one needs the
// copy, and auth is asked only for a company that the copy does not know yet.
func (s *Server) tenant(ctx context.Context) (Company, error) {
	company := rpc.Company(ctx)
	if company.IsZero() {
		return Company{}, fault.InvalidParameter("reservation-company", "required", "is required from a platform credential")
	}
	if claims := rpc.ClaimsFrom(ctx); claims != nil && claims.Company == company && claims.Zone != "" && claims.Currency != "" {
		loc, err := zone.Load(claims.Zone)
		return Company{ID: company, Zone: loc, Currency: claims.Currency}, err
	}
	known, err := s.store.company(ctx, company)
	if errors.Is(err, pgx.ErrNoRows) {
		known, err = s.meet(ctx, company)
	}
	if err != nil {
		return Company{}, err
	}
	loc, err := zone.Load(known.Timezone)
	return Company{ID: company, Zone: loc, Currency: known.Currency}, err
}

// meet fetches a company that is new here, and keeps it.
func (s *Server) meet(ctx context.Context, company id.Company) (companyRecord, error) {
	fetched, err := s.others.Company(ctx, company)
	if err != nil {
		return companyRecord{}, err
	}
	fetched.CompanyID = company
	return fetched, s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return keepCompanies(ctx, tx, []companyRecord{fetched})
	})
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
func (s *store) company(ctx context.Context, company id.Company) (companyRecord, error) {
	c, err := pg.One[companyRecord](ctx, s.db, pg.For(company), companySQL, company)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, err
	}
	return c, pg.Fault(err, nil)
}

// keepCompanies stores news about companies.
func keepCompanies(ctx context.Context, tx *pg.Tx, news []companyRecord) error {
	newest := map[id.Company]companyRecord{}
	for _, c := range news {
		if known, ok := newest[c.CompanyID]; !ok || known.Version < c.Version {
			newest[c.CompanyID] = c
		}
	}
	var ids []id.Company
	var zones, currencies []string
	var versions []int64
	for _, c := range newest {
		ids, zones, currencies = append(ids, c.CompanyID), append(zones, c.Timezone), append(currencies, c.Currency)
		versions = append(versions, c.Version)
	}
	_, err := tx.Exec(ctx, keepCompaniesSQL, ids, zones, currencies, versions)
	return err
}
