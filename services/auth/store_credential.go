package auth

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/token"
)

const credentialColumns = `company_id, id, kind, name, description, scopes, secret_hash, generation, revoked_at, disabled_at,
	deleted_at, expires_at, rotated_at, last_used_at, version, created_at, rate_limit, allowed_networks,
	previous_secret_hash, previous_secret_replaced_at, previous_secret_expires_at, previous_secret_last_used_at`

const (
	// The company is not known when a token is requested.
	anyCredentialSQL = `select ` + credentialColumns + ` from credentials where id = $1`

	credentialSQL = `select ` + credentialColumns + ` from credentials
		where company_id = $1 and id = $2 and kind = $3 and deleted_at is null`

	// A platform credential can have a token that names a company.
	callersCredentialSQL = `select ` + credentialColumns + ` from credentials where id = $1`

	lockCredentialSQL = credentialSQL + ` for update`

	credentialsSQL = `select ` + credentialColumns + ` from credentials
		where company_id = $1 and kind = $2 and deleted_at is null`

	insertCredentialSQL = `insert into credentials (` + credentialColumns + `)
		values (@company_id, @id, @kind, @name, @description, @scopes, @secret_hash, @generation, @revoked_at, @disabled_at,
		@deleted_at, @expires_at, @rotated_at, @last_used_at, @version, @created_at, @rate_limit, @allowed_networks,
		@previous_secret_hash, @previous_secret_replaced_at, @previous_secret_expires_at, @previous_secret_last_used_at)`

	updateCredentialSQL = `update credentials set name = @name, description = @description, scopes = @scopes, secret_hash = @secret_hash,
		generation = @generation, revoked_at = @revoked_at, disabled_at = @disabled_at, deleted_at = @deleted_at,
		rotated_at = @rotated_at, version = @version, rate_limit = @rate_limit, allowed_networks = @allowed_networks,
		previous_secret_hash = @previous_secret_hash, previous_secret_replaced_at = @previous_secret_replaced_at,
		previous_secret_expires_at = @previous_secret_expires_at, previous_secret_last_used_at = @previous_secret_last_used_at
		where company_id = @company_id and id = @id`

	// To the minute, so that a busy client does not write at every token.
	usedSQL = `update credentials set last_used_at = greatest(last_used_at, $3),
		previous_secret_last_used_at = case when previous_secret_hash = $4 then $3 else previous_secret_last_used_at end
		where company_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3
		or (previous_secret_hash = $4 and (previous_secret_last_used_at is null or previous_secret_last_used_at < $3)))`

	revokedSQL = `select ` + credentialColumns + ` from credentials where revoked_at > $1`
)

func (s *store) anyCredential(ctx context.Context, credential id.UUID) (Credential, error) {
	return one[Credential](ctx, s, pg.Lookup(), "credential", anyCredentialSQL, credential)
}

func (s *store) credential(ctx context.Context, company id.Company, credential id.UUID, kind string) (Credential, error) {
	return one[Credential](ctx, s, scope(company), "credential", credentialSQL, zeroable(company), credential, kind)
}

func (s *store) lockCredential(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind string) (Credential, error) {
	return pg.GetInTx[Credential](ctx, tx, "credential", lockCredentialSQL, zeroable(company), credential, kind)
}

// callersCredential returns the credential of a token. It takes no lock, because two credentials
// that rotate each other would deadlock.
func (s *store) callersCredential(ctx context.Context, tx *pg.Tx, claims *token.Claims) (Credential, error) {
	u, _ := subjectUUID(claims.Subject)
	rows, err := tx.Query(ctx, callersCredentialSQL, u)
	if err != nil {
		return Credential{}, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Credential])
	if errors.Is(err, pgx.ErrNoRows) {
		return Credential{}, nil // of the platform, so not visible for a company; those do not expire
	}
	return c, err
}

func (s *store) credentials(ctx context.Context, company id.Company, kind string, p page.Page) ([]Credential, error) {
	return pageOf[Credential](ctx, s, scope(company), p, credentialsSQL, zeroable(company), kind)
}

func (s *store) insertCredential(ctx context.Context, tx *pg.Tx, c Credential) error {
	_, err := tx.Exec(ctx, insertCredentialSQL, rowArgs(c, pgx.NamedArgs{"company_id": zeroable(c.Company)}))
	return err
}

const insertBootstrapSQL = `insert into credentials (company_id, id, kind, name, scopes, secret_hash, rotated_at, created_at)
	values ('00000000-0000-0000-0000-000000000000', $1, 'service', $2, $3, $4, $5, $5) on conflict do nothing`

// insertBootstrap adds a platform credential, and reports whether it was new.
func (s *store) insertBootstrap(ctx context.Context, tx *pg.Tx, c Credential) (bool, error) {
	tag, err := tx.Exec(ctx, insertBootstrapSQL, c.ID, c.Name, c.Scopes, c.SecretHash, c.CreatedAt)
	return tag.RowsAffected() > 0, err
}

func (s *store) updateCredential(ctx context.Context, tx *pg.Tx, c Credential) error {
	_, err := tx.Exec(ctx, updateCredentialSQL, rowArgs(c, pgx.NamedArgs{"company_id": zeroable(c.Company)}))
	return err
}

// used records when a credential last got a token, and for which secret: the one with a hash.
func (s *store) used(ctx context.Context, c Credential, hash []byte, at time.Time) error {
	minute := at.Truncate(time.Minute)
	if !c.isUseNew(hash, minute) {
		return nil
	}
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, usedSQL, zeroable(c.Company), c.ID, minute, hash)
		return err
	})
}

// revokedSince returns the credentials that were revoked after an instant.
func (s *store) revokedSince(ctx context.Context, after time.Time) ([]Credential, error) {
	return all[Credential](ctx, s, pg.Lookup(), revokedSQL, after)
}
