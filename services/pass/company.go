package pass

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
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

// tenant returns the company that a request is for, by the newer one of the copy
// and the caller's token: a token may have been issued before the company moved to
// another zone, and the copy is older after a restore. Auth is asked only by a
// platform credential, for a company that the copy does not know yet.
func (s *Server) tenant(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	known, found, err := s.store.companies.Get(ctx, company, company)
	if err != nil {
		return Company{}, pg.Fault(err, nil)
	}
	claims := rpc.CompanyClaims(ctx)
	switch {
	case claims != nil && (!found || known.Version < claims.CompanyVersion):
		known.Timezone, known.Currency = claims.Zone, claims.Currency
	case !found:
		if known, err = s.fetchCompany(ctx, company); err != nil {
			return Company{}, err
		}
	}
	loc, err := zone.Load(known.Timezone)
	return Company{ID: company, Zone: loc, Currency: known.Currency}, err
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

// fetchCompany fetches a company and keeps it.
func (s *Server) fetchCompany(ctx context.Context, company id.Company) (companyRecord, error) {
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

// readCompanies reads the copy.
func (s *store) readCompanies(ctx context.Context, company id.Company, _ []id.Company) (map[id.Company]companyRecord, error) {
	rows, err := pg.Rows[companyRecord](ctx, s.db, pg.For(company), companySQL, company)
	found := make(map[id.Company]companyRecord, len(rows))
	for _, c := range rows {
		found[c.CompanyID] = c
	}
	return found, err
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
