package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const resetColumns = `company_id, token_hash, administrator_id, made_by, created_at, expires_at, used_at`

const (
	// Who has a link has no company yet.
	resetByTokenSQL = `select ` + resetColumns + ` from password_resets where token_hash = $1`

	lockResetSQL = `select ` + resetColumns + ` from password_resets where company_id = $1 and token_hash = $2 for update`

	openResetSQL = `select ` + resetColumns + ` from password_resets
		where company_id = $1 and administrator_id = $2 and used_at is null and expires_at > $3`

	insertResetSQL = `insert into password_resets (` + resetColumns + `) values ($1, $2, $3, $4, $5, $6, $7)`

	useResetSQL = `update password_resets set used_at = $3 where company_id = $1 and token_hash = $2`

	deleteResetsSQL = `delete from password_resets where company_id = $1 and administrator_id = $2 and used_at is null`

	deleteResetsBySQL = `delete from password_resets where company_id = $1 and made_by = $2 and used_at is null`
)

func (s *store) resetByToken(ctx context.Context, hash []byte) (passwordReset, error) {
	r, err := pg.One[passwordReset](ctx, s.db, pg.AllCompanies(), resetByTokenSQL, hash)
	return r, missing(err, "link")
}

// openReset returns the link with which an administrator could reset the password.
func (s *store) openReset(ctx context.Context, company id.Company, a id.Administrator, now time.Time) (passwordReset, error) {
	r, err := pg.One[passwordReset](ctx, s.db, pg.For(company), openResetSQL, company, a, now)
	return r, missing(err, "link")
}

func (s *store) lockReset(ctx context.Context, tx *pg.Tx, r passwordReset) (passwordReset, error) {
	rows, err := tx.Query(ctx, lockResetSQL, r.Company, r.TokenHash)
	if err != nil {
		return r, err
	}
	r, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[passwordReset])
	return r, missing(err, "link")
}

func (s *store) insertReset(ctx context.Context, tx *pg.Tx, r passwordReset) error {
	_, err := tx.Exec(ctx, insertResetSQL, r.Company, r.TokenHash, r.Administrator, r.MadeBy, r.CreatedAt, r.ExpiresAt, r.UsedAt)
	return err
}

func (s *store) useReset(ctx context.Context, tx *pg.Tx, r passwordReset) error {
	_, err := tx.Exec(ctx, useResetSQL, r.Company, r.TokenHash, r.UsedAt)
	return err
}

// deleteResets withdraws the links of an administrator, and reports whether there
// was one.
func (s *store) deleteResets(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator) (bool, error) {
	tag, err := tx.Exec(ctx, deleteResetsSQL, company, a)
	return tag.RowsAffected() > 0, err
}

// deleteResetsBy withdraws the links that an administrator has made.
func (s *store) deleteResetsBy(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator) error {
	_, err := tx.Exec(ctx, deleteResetsBySQL, company, a.String())
	return err
}

const pruneResetsSQL = `delete from password_resets where expires_at <= $1`

func (s *store) pruneResets(ctx context.Context, tx *pg.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, pruneResetsSQL, before)
	return err
}
