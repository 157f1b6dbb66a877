// Package tenancy says which company a request is for, and keeps a service's copy of
// the companies, so that auth need not be asked.
//
// The auth service owns companies. The facts that other services decide by (the time
// zone, the currency, whether e-mail addresses are unique) come to a service on three
// ways, each with the company's version, of which the newest counts:
//
//   - the caller's token, which says what was true when it was issued;
//   - the copy, the table companies of the service's database, which follows auth's
//     events and is refreshed before auth answers a change (CompanyCopyService);
//   - auth itself, for a company that neither has: then it is fetched and kept.
package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Company is what services know of a company. Which facts a service keeps is up to its
// columns; the others are zero. A further fact, as whether the company is a test or
// what its clock says, is a field here and a Column.
type Company struct {
	ID           id.Company
	Timezone     string // IANA
	Currency     string // ISO 4217
	UniqueEmails bool   // no two customers may have the same e-mail address
	Version      int64  // of the company that the facts are of; 0 if it is not known
}

// Location returns the company's time zone.
func (c Company) Location() (*time.Location, error) { return zone.Load(c.Timezone) }

// Newest returns the newer one of two states of a company. The copy is older than a
// token after a restore, and while its event is on its way.
func (c Company) Newest(kept Company) Company {
	if kept.ID != c.ID || kept.Version < c.Version {
		return c
	}
	return kept
}

// Auth fetches companies from the auth service. Errors are faults; a company that does
// not exist is fault.NotFound.
type Auth interface {
	Company(ctx context.Context, company id.Company) (Company, error)
}

// Companies is a service's copy of the companies. It implements CompanyCopyService.
type Companies struct {
	authv1.UnimplementedCompanyCopyServiceServer
	db   *pg.DB
	auth Auth
	sql  statements
	// claimable reports that tokens have the facts of all columns.
	claimable bool
	// reads combines reads of one company's row, which many requests need at once.
	reads *combine.Reads[id.Company, Company]
}

// New returns the copy in db, whose table companies has company_id, version and those
// columns.
func New(db *pg.DB, auth Auth, columns ...Column) *Companies {
	c := &Companies{db: db, auth: auth, sql: statementsOf(columns), claimable: areClaims(columns)}
	c.reads = combine.New(c.read)
	return c
}

// Of returns the company that the request of ctx is for as it is now: the copy, with the
// facts of the caller's token if that is newer.
func (c *Companies) Of(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	kept, found, err := c.reads.Get(ctx, company, company)
	if err != nil {
		return Company{}, pg.Fault(err, nil)
	}
	claims := rpc.CompanyClaims(ctx)
	switch {
	case !found && (claims == nil || !c.claimable):
		return c.Fetch(ctx, company)
	case claims != nil && (!found || kept.Version < claims.CompanyVersion):
		return kept.updated(company, claims), nil
	}
	return kept, nil
}

// Claimed returns the company that the request of ctx is for as the caller's token
// describes it, without a round trip. A token that does not describe it, such as a
// platform credential's, needs the copy, and so does a service with columns that tokens
// do not have.
func (c *Companies) Claimed(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	if claims := rpc.CompanyClaims(ctx); claims != nil && c.claimable {
		return Company{}.updated(company, claims), nil
	}
	return c.Of(ctx)
}

// updated returns the company with the facts of a token. Those that a token does not
// have stay as they are.
func (c Company) updated(company id.Company, claims *token.Claims) Company {
	c.ID, c.Timezone, c.Currency, c.Version = company, claims.Zone, claims.Currency, claims.CompanyVersion
	return c
}

// Fetch fetches a company from auth and keeps it.
func (c *Companies) Fetch(ctx context.Context, company id.Company) (Company, error) {
	fetched, err := c.auth.Company(ctx, company)
	if err != nil {
		return Company{}, err
	}
	fetched.ID = company
	return fetched, pg.Fault(c.db.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
		return c.Keep(ctx, tx, []Company{fetched})
	}), nil)
}

// RefreshCompany implements CompanyCopyService.
func (c *Companies) RefreshCompany(ctx context.Context, _ *authv1.RefreshCompanyRequest) (*authv1.RefreshCompanyResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	fetched, err := c.Fetch(ctx, company)
	if err != nil {
		return nil, err
	}
	return &authv1.RefreshCompanyResponse{Version: fetched.Version}, nil
}

// Query returns the query that reads the copy of a company into out, for a transaction
// that decides by it. Without a copy, out stays as it is.
func (c *Companies) Query(company id.Company, out *Company) pg.Query {
	return pg.Query{SQL: c.sql.read, Args: []any{company}, Scan: pg.Each(func(rows pgx.Rows) error {
		return rows.Scan(c.sql.fields(out)...)
	})}
}

// read reads the copy of one company, for combined reads.
func (c *Companies) read(ctx context.Context, company id.Company, _ []id.Company) (map[id.Company]Company, error) {
	var kept Company
	if err := c.db.Read(ctx, pg.For(company), c.Query(company, &kept)); err != nil || kept.ID.IsZero() {
		return nil, err
	}
	return map[id.Company]Company{company: kept}, nil
}
