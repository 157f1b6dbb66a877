package auth

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// movingCompaniesSQL lists the companies that move, in live mode (UUIDs of version 7). They need no row here.
	movingCompaniesSQL = `select company as company_id, state from company_moves
		where effective_at <= now() and company > $1 and substr(company::text, 15, 1) = '7'
		order by company limit $2`

	// A company that arrives is not visible here.
	directoryCompanyColumns = `select c.company_id, coalesce((select m.state from company_moves m
			where m.company = c.company_id and m.effective_at <= now()), '') as state
		from companies c where c.live_version = 0`

	directoryCompaniesSQL = directoryCompanyColumns + ` and c.company_id > $1 order by c.company_id limit $2`

	directoryCompaniesByIDSQL = directoryCompanyColumns + ` and c.company_id = any ($1)`

	directoryCredentialsSQL = `(select company_id, id, kind from credentials
			where id > $1 and deleted_at is null and company_id <> '00000000-0000-0000-0000-000000000000' order by id limit $2)
		union all
		(select company_id, id, 'publishable' from publishable_keys where id > $1 and deleted_at is null order by id limit $2)
		order by id limit $2`
)

// movingCompanies returns at most limit companies that move, by identifier, after one.
func (s *store) movingCompanies(ctx context.Context, after id.UUID, limit int) ([]directoryCompany, error) {
	return all[directoryCompany](ctx, s, pg.Lookup(), movingCompaniesSQL, [16]byte(after), limit)
}

// directoryCompanies returns at most limit companies in live mode, by identifier, after one.
func (s *store) directoryCompanies(ctx context.Context, after id.UUID, limit int) ([]directoryCompany, error) {
	return all[directoryCompany](ctx, s, pg.Lookup(), directoryCompaniesSQL, [16]byte(after), limit)
}

// directoryCompaniesByID returns those of the companies that exist here.
func (s *store) directoryCompaniesByID(ctx context.Context, companies []id.Company) ([]directoryCompany, error) {
	return all[directoryCompany](ctx, s, pg.Lookup(), directoryCompaniesByIDSQL, companies)
}

// directoryCredentials returns at most limit credentials of all kinds, by UUID, after one.
func (s *store) directoryCredentials(ctx context.Context, after id.UUID, limit int) ([]directoryCredential, error) {
	return all[directoryCredential](ctx, s, pg.Lookup(), directoryCredentialsSQL, [16]byte(after), limit)
}
