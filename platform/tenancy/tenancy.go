// Package tenancy determines the company of a request, and keeps a copy of the companies in each
// service, so that the service rarely needs to call auth.
//
// The auth service owns the companies. Other services need facts about them: the time zone, the
// currency, and whether e-mail addresses must be unique or may be missing. A service gets these facts
// from three sources. Each has the company's version, and the newest version counts:
//
//   - the caller's token, with the facts at the time when it was issued;
//   - the copy in the table companies of the service's database, which follows auth's events, and
//     which auth refreshes before it responds to a change (CompanyCopyService);
//   - auth itself, if neither the token nor the copy has the facts. They are then kept in the copy.
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

// Company has the facts about a company that services need. A service keeps only the facts of its
// columns; the other fields are zero. To add a fact, add a field here and a Column.
type Company struct {
	ID             id.Company
	Name           string // only from Kept
	Timezone       string // IANA name
	Currency       string // ISO 4217
	UniqueEmails   bool   // whether each customer must have another e-mail address
	OptionalEmails bool   // whether customers may have no e-mail address
	ClockOffset    int64  // by how many seconds the company's test clock is ahead; 0 in live mode
	Version        int64  // the company's version that has these facts; 0 if it is not known
}

// Location returns the company's time zone.
func (c Company) Location() (*time.Location, error) { return zone.Load(c.Timezone) }

// Now returns the company's time at an instant: in test mode, what its test clock shows then.
func (c Company) Now(at time.Time) time.Time { return at.Add(c.Ahead()) }

// Real returns the instant at which the company's time is shown. It is the inverse of Now.
func (c Company) Real(shown time.Time) time.Time { return shown.Add(-c.Ahead()) }

// Ahead returns how far the company's test clock is ahead; 0 in live mode.
func (c Company) Ahead() time.Duration { return time.Duration(c.ClockOffset) * time.Second }

// Newest returns the newer one of c and kept. The copy can be older than a token: after a restore, or
// until an event arrives.
func (c Company) Newest(kept Company) Company {
	if kept.ID != c.ID || kept.Version < c.Version {
		return c
	}
	return kept
}

// Auth fetches companies from the auth service. Errors are faults, and fault.NotFound if the company
// does not exist.
type Auth interface {
	Company(ctx context.Context, company id.Company) (Company, error)
}

// Companies is a service's copy of the companies. It implements CompanyCopyService.
type Companies struct {
	authv1.UnimplementedCompanyCopyServiceServer
	db   *pg.DB
	auth Auth
	sql  statements
	// claimable means that tokens contain the facts of all columns.
	claimable bool
	// reads combines concurrent reads of one company's row.
	reads *combine.Reads[id.Company, id.Company, Company]
}

// New returns the copy in db. Its table companies has the columns company_id and version, and the
// given ones.
func New(db *pg.DB, auth Auth, columns ...Column) *Companies {
	c := &Companies{db: db, auth: auth, sql: statementsOf(columns), claimable: areClaims(columns)}
	c.reads = combine.New(c.read)
	return c
}

// Of returns the current state of the company that the request of ctx is for: the copy, updated with
// the facts of the caller's token if the token is newer.
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

// Claimed returns the company that the request of ctx is for, as the caller's token describes it,
// without a round trip. It falls back to Of if the token does not describe the company, as with a
// platform credential, if the service has columns that tokens do not contain, and in test mode.
func (c *Companies) Claimed(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return Company{}, err
	}
	// A token can be older than the position of the test clock.
	if claims := rpc.CompanyClaims(ctx); claims != nil && c.claimable && !company.IsTest() {
		return Company{}.updated(company, claims), nil
	}
	return c.Of(ctx)
}

// Clocked returns the company that the request of ctx is for, with its test clock. In live mode, it
// makes no round trip, and the company has no other facts.
func (c *Companies) Clocked(ctx context.Context) (Company, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil || !company.IsTest() {
		return Company{ID: company}, err
	}
	return c.Of(ctx)
}

// ClockedInTx is Clocked for work without a request. It reads the copy within tx. Without a copy, the
// test clock shows the real time.
func (c *Companies) ClockedInTx(ctx context.Context, tx *pg.Tx, company id.Company) (Company, error) {
	kept := Company{ID: company}
	if !company.IsTest() {
		return kept, nil
	}
	return kept, tx.Pipeline(ctx, c.Query(company, &kept))
}

// updated returns the company with the facts of a token. Facts that tokens do not contain do not
// change.
func (c Company) updated(company id.Company, claims *token.Claims) Company {
	c.ID, c.Timezone, c.Currency, c.Version = company, claims.Zone, claims.Currency, claims.CompanyVersion
	c.ClockOffset = claims.ClockOffset
	return c
}

// Kept returns the copy of a company, for work without a token of the company. Without a copy, it fetches the
// company from auth.
func (c *Companies) Kept(ctx context.Context, company id.Company) (Company, error) {
	kept, found, err := c.reads.Get(ctx, company, company)
	if err != nil {
		return Company{}, pg.Fault(err, nil)
	}
	if !found {
		return c.Fetch(ctx, company)
	}
	return kept, nil
}

// Fetch fetches a company from auth and keeps it in the copy.
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

// Query returns the query that reads the copy of a company into out, for use in a transaction. If
// there is no copy, out does not change.
func (c *Companies) Query(company id.Company, out *Company) pg.Query {
	return pg.Query{SQL: c.sql.read, Args: []any{company}, Scan: pg.Each(func(rows pgx.Rows) error {
		return rows.Scan(c.sql.fields(out)...)
	})}
}

// read reads the copy of one company for reads.
func (c *Companies) read(ctx context.Context, company id.Company, _ []id.Company) (map[id.Company]Company, error) {
	var kept Company
	if err := c.db.Read(ctx, pg.For(company), c.Query(company, &kept)); err != nil || kept.ID.IsZero() {
		return nil, err
	}
	return map[id.Company]Company{company: kept}, nil
}
