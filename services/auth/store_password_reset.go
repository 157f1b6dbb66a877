package auth

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const resetColumns = `company_id, token_hash, administrator_id, made_by, created_at, expires_at, used_at`

const (
	// The company is not known from a link.
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
	return one[passwordReset](ctx, s, pg.Lookup(), "link", resetByTokenSQL, hash)
}

// openReset returns the open link for an administrator.
func (s *store) openReset(ctx context.Context, company id.Company, a id.Administrator, now time.Time) (passwordReset, error) {
	return one[passwordReset](ctx, s, pg.For(company), "link", openResetSQL, company, a, now)
}

func (s *store) lockReset(ctx context.Context, tx *pg.Tx, r passwordReset) (passwordReset, error) {
	return pg.GetInTx[passwordReset](ctx, tx, "link", lockResetSQL, r.Company, r.TokenHash)
}

func (s *store) insertReset(ctx context.Context, tx *pg.Tx, r passwordReset) error {
	_, err := tx.Exec(ctx, insertResetSQL, r.Company, r.TokenHash, r.Administrator, r.MadeBy, r.CreatedAt, r.ExpiresAt, r.UsedAt)
	return err
}

func (s *store) useReset(ctx context.Context, tx *pg.Tx, r passwordReset) error {
	_, err := tx.Exec(ctx, useResetSQL, r.Company, r.TokenHash, r.UsedAt)
	return err
}

// deleteResets withdraws the links for an administrator, and reports whether there was one.
func (s *store) deleteResets(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator) (bool, error) {
	tag, err := tx.Exec(ctx, deleteResetsSQL, company, a)
	return tag.RowsAffected() > 0, err
}

// deleteResetsBy withdraws the links that an administrator has created.
func (s *store) deleteResetsBy(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator) error {
	_, err := tx.Exec(ctx, deleteResetsBySQL, company, a.String())
	return err
}

const pruneResetsSQL = `delete from password_resets where expires_at <= $1`

func (s *store) pruneResets(ctx context.Context, tx *pg.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, pruneResetsSQL, before)
	return err
}
