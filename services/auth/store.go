package auth

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/token"
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

// inTx runs fn in one transaction of the company; zero: of the platform.
func (s *store) inTx(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
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

const credentialColumns = `company_id, id, kind, name, description, scopes, secret_hash, generation, revoked_at, disabled_at,
	deleted_at, expires_at, rotated_at, last_used_at, version, created_at, rate_limit`

const (
	// A caller who asks for a token has no company yet.
	anyCredentialSQL = `select ` + credentialColumns + ` from credentials where id = $1`

	credentialSQL = `select ` + credentialColumns + ` from credentials
		where company_id = $1 and id = $2 and kind = $3 and deleted_at is null`

	// A credential of the platform may have a token that names a company.
	callersCredentialSQL = `select ` + credentialColumns + ` from credentials where id = $1`

	lockCredentialSQL = credentialSQL + ` for update`

	credentialsSQL = `select ` + credentialColumns + ` from credentials
		where company_id = $1 and kind = $2 and id > $3 and deleted_at is null order by id limit $4`

	insertCredentialSQL = `insert into credentials (` + credentialColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`

	updateCredentialSQL = `update credentials set name = $3, description = $4, scopes = $5, secret_hash = $6, generation = $7,
		revoked_at = $8, disabled_at = $9, deleted_at = $10, rotated_at = $11, version = $12, rate_limit = $13 where company_id = $1 and id = $2`

	// To the minute, so that a busy client does not write at each token.
	usedSQL = `update credentials set last_used_at = $3
		where company_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)`

	revokedSQL = `select ` + credentialColumns + ` from credentials where revoked_at > $1`
)

// zeroable sends the zero company as the zero UUID, which stands for the
// platform, and not as NULL.
func zeroable(company id.Company) [16]byte { return company }

func (s *store) anyCredential(ctx context.Context, credential id.UUID) (Credential, error) {
	c, err := pg.One[Credential](ctx, s.db, pg.AllCompanies(), anyCredentialSQL, credential)
	return c, missing(err, "credential")
}

func (s *store) credential(ctx context.Context, company id.Company, credential id.UUID, kind string) (Credential, error) {
	c, err := pg.One[Credential](ctx, s.db, scope(company), credentialSQL, zeroable(company), credential, kind)
	return c, missing(err, "credential")
}

func (s *store) lockCredential(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind string) (Credential, error) {
	rows, err := tx.Query(ctx, lockCredentialSQL, zeroable(company), credential, kind)
	if err != nil {
		return Credential{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Credential])
	return c, missing(err, "credential")
}

// callersCredential returns the credential that a token is of. It takes no lock:
// two credentials that rotate each other would wait for each other.
func (s *store) callersCredential(ctx context.Context, tx *pg.Tx, claims *token.Claims) (Credential, error) {
	u, _ := subjectUUID(claims.Subject)
	rows, err := tx.Query(ctx, callersCredentialSQL, u)
	if err != nil {
		return Credential{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Credential])
	if errors.Is(err, pgx.ErrNoRows) {
		return Credential{}, nil // of the platform, and so not visible for a company; those do not expire
	}
	return c, err
}

func (s *store) credentials(ctx context.Context, company id.Company, kind string, after id.UUID, limit int) ([]Credential, error) {
	list, err := pg.Rows[Credential](ctx, s.db, scope(company), credentialsSQL, zeroable(company), kind, [16]byte(after), limit)
	return list, pg.Fault(err, nil)
}

func (s *store) insertCredential(ctx context.Context, tx *pg.Tx, c Credential) error {
	_, err := tx.Exec(ctx, insertCredentialSQL, zeroable(c.Company), c.ID, c.Kind, c.Name, c.Description, c.Scopes, c.SecretHash,
		c.Generation, c.RevokedAt, c.DisabledAt, c.DeletedAt, c.ExpiresAt, c.RotatedAt, c.LastUsedAt, c.Version, c.CreatedAt, c.RateLimit)
	return err
}

func (s *store) updateCredential(ctx context.Context, tx *pg.Tx, c Credential) error {
	_, err := tx.Exec(ctx, updateCredentialSQL, zeroable(c.Company), c.ID, c.Name, c.Description, c.Scopes, c.SecretHash,
		c.Generation, c.RevokedAt, c.DisabledAt, c.DeletedAt, c.RotatedAt, c.Version, c.RateLimit)
	return err
}

// used notes when a credential last got a token.
func (s *store) used(ctx context.Context, c Credential, at time.Time) error {
	minute := at.Truncate(time.Minute)
	if c.LastUsedAt != nil && !c.LastUsedAt.Before(minute) {
		return nil
	}
	return s.inTx(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, usedSQL, zeroable(c.Company), c.ID, minute)
		return err
	})
}

// revokedSince returns the credentials that were revoked after an instant.
func (s *store) revokedSince(ctx context.Context, after time.Time) ([]Credential, error) {
	list, err := pg.Rows[Credential](ctx, s.db, pg.AllCompanies(), revokedSQL, after)
	return list, pg.Fault(err, nil)
}
