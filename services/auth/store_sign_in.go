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
	// The company is not known from the token.
	pendingByTokenSQL = `select ` + pendingColumns + ` from pending_sign_ins where token_hash = $1`

	lockPendingSQL = `select ` + pendingColumns + ` from pending_sign_ins where company_id = $1 and token_hash = $2 for update`

	insertPendingSQL = `insert into pending_sign_ins (` + pendingColumns + `) values ($1, $2, $3, $4, $5, $6, $7)`

	failPendingSQL = `update pending_sign_ins set failures = $3 where company_id = $1 and token_hash = $2`

	deletePendingSQL = `delete from pending_sign_ins where company_id = $1 and token_hash = $2`

	// The administrator's row is locked, so that two sign-ins cannot make room at the same time.
	boundPendingsSQL = `delete from pending_sign_ins where company_id = $1 and token_hash in (
		select token_hash from pending_sign_ins where company_id = $1 and administrator_id = $2
		order by created_at desc, token_hash offset $3)
		returning ` + pendingColumns
)

func (s *store) pendingByToken(ctx context.Context, hash []byte) (pendingSignIn, error) {
	return one[pendingSignIn](ctx, s, pg.Lookup(), "sign-in", pendingByTokenSQL, hash)
}

func (s *store) lockPending(ctx context.Context, tx *pg.Tx, p pendingSignIn) (pendingSignIn, error) {
	return pg.GetInTx[pendingSignIn](ctx, tx, "sign-in", lockPendingSQL, p.Company, p.TokenHash)
}

// insertPending adds a pending sign-in of an administrator, whose row is locked.
func (s *store) insertPending(ctx context.Context, tx *pg.Tx, p pendingSignIn) error {
	if _, err := s.abandon(ctx, tx, p.CreatedAt, boundPendingsSQL, p.Company, p.Administrator, maxPending-1); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertPendingSQL, p.Company, p.TokenHash, p.Administrator, p.Failures, p.Address, p.CreatedAt, p.ExpiresAt)
	return err
}

// abandon deletes sign-ins with a statement that returns them, and returns how many. Each had a
// right password, so it is added to the audit log for the owner: somebody knew the password but
// gave no code. Wrong codes are in the audit log already.
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

// failPending counts a wrong code; one too many ends the sign-in.
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

const abandonAllSQL = `delete from pending_sign_ins where company_id = $1 and administrator_id = $2 returning ` + pendingColumns

// abandonAll deletes the pending sign-ins of an administrator.
func (s *store) abandonAll(ctx context.Context, tx *pg.Tx, now time.Time, company id.Company, a id.Administrator) error {
	_, err := s.abandon(ctx, tx, now, abandonAllSQL, company, a)
	return err
}

const abandonExpiredSQL = `delete from pending_sign_ins where token_hash in (
	select token_hash from pending_sign_ins where expires_at <= $1 order by expires_at limit $2 for update skip locked)
	returning ` + pendingColumns

// abandonExpired deletes expired sign-ins of any company, and returns how many.
func (s *store) abandonExpired(ctx context.Context, tx *pg.Tx, now time.Time, limit int) (int, error) {
	return s.abandon(ctx, tx, now, abandonExpiredSQL, now, limit)
}
