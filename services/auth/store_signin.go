package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const pendingColumns = `company_id, token_hash, administrator_id, failures, address, created_at, expires_at`

const (
	// Who shows a token has no company yet.
	pendingByTokenSQL = `select ` + pendingColumns + ` from pending_sign_ins where token_hash = $1`

	lockPendingSQL = `select ` + pendingColumns + ` from pending_sign_ins where company_id = $1 and token_hash = $2 for update`

	insertPendingSQL = `insert into pending_sign_ins (` + pendingColumns + `) values ($1, $2, $3, $4, $5, $6, $7)`

	failPendingSQL = `update pending_sign_ins set failures = $3 where company_id = $1 and token_hash = $2`

	deletePendingSQL = `delete from pending_sign_ins where company_id = $1 and token_hash = $2`

	deletePendingsSQL = `delete from pending_sign_ins where company_id = $1 and administrator_id = $2 returning ` + pendingColumns

	// The administrator's row is locked, so that no two make room at once.
	boundPendingsSQL = `delete from pending_sign_ins where company_id = $1 and token_hash in (
		select token_hash from pending_sign_ins where company_id = $1 and administrator_id = $2
		order by created_at desc, token_hash offset $3)
		returning ` + pendingColumns

	prunePendingsSQL = `delete from pending_sign_ins where token_hash in (
		select token_hash from pending_sign_ins where expires_at <= $1 order by expires_at limit $2 for update skip locked)
		returning ` + pendingColumns
)

func (s *store) pendingByToken(ctx context.Context, hash []byte) (pendingSignIn, error) {
	p, err := pg.One[pendingSignIn](ctx, s.db, pg.AllCompanies(), pendingByTokenSQL, hash)
	return p, missing(err, "sign-in")
}

func (s *store) lockPending(ctx context.Context, tx *pg.Tx, p pendingSignIn) (pendingSignIn, error) {
	rows, err := tx.Query(ctx, lockPendingSQL, p.Company, p.TokenHash)
	if err != nil {
		return p, err
	}
	p, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[pendingSignIn])
	return p, missing(err, "sign-in")
}

// insertPending adds one to those of an administrator whose row is locked.
func (s *store) insertPending(ctx context.Context, tx *pg.Tx, p pendingSignIn) error {
	if _, err := s.abandon(ctx, tx, p.CreatedAt, boundPendingsSQL, p.Company, p.Administrator, mostPending-1); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertPendingSQL, p.Company, p.TokenHash, p.Administrator, p.Failures, p.Address, p.CreatedAt, p.ExpiresAt)
	return err
}

// abandon deletes sign-ins by a statement that returns them, and returns how many.
// The password of each was right: its owner should see that somebody had it who
// came without a code. Wrong codes are in the audit log already.
func (s *store) abandon(ctx context.Context, tx *pg.Tx, now time.Time, statement string, args ...any) (int, error) {
	rows, err := tx.Query(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowToStructByName[pendingSignIn])
	if err != nil {
		return 0, err
	}
	for _, p := range gone {
		if p.Failures > 0 {
			continue
		}
		err := s.audit(ctx, tx, p.Company, now, p.Administrator.String(), "session.refuse", p.Administrator.String(),
			Detail{Field: "reason", After: "no code"}, Detail{Field: "address", After: p.Address})
		if err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}

// failPending counts a wrong code; one too many ends it.
func (s *store) failPending(ctx context.Context, tx *pg.Tx, p pendingSignIn) (err error) {
	if p.Failures >= pendingFailures {
		return s.deletePending(ctx, tx, p)
	}
	_, err = tx.Exec(ctx, failPendingSQL, p.Company, p.TokenHash, p.Failures)
	return err
}

func (s *store) deletePending(ctx context.Context, tx *pg.Tx, p pendingSignIn) error {
	_, err := tx.Exec(ctx, deletePendingSQL, p.Company, p.TokenHash)
	return err
}

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

	pruneResetsSQL = `delete from password_resets where expires_at <= $1`
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
