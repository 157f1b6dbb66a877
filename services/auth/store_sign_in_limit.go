package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
)

// Creates the row if necessary and locks it, also for concurrent callers.
const lockFailuresSQL = `insert into sign_in_failures as f (subject, failures, last_at) values ($1, 0, $2)
	on conflict (subject) do update set failures = case when f.last_at < $3 then 0 else f.failures end
	returning failures, last_at`

// lockFailures returns the failures of a limit and the time of the last one.
func (s *store) lockFailures(ctx context.Context, tx *pg.Tx, l signInLimit, now time.Time) (failed int, last time.Time, err error) {
	err = tx.QueryRow(ctx, lockFailuresSQL, l.key(), now, now.Add(-failuresForgotten)).Scan(&failed, &last)
	return failed, last, err
}

const countFailureSQL = `update sign_in_failures set failures = failures + 1, last_at = $2 where subject = $1`

func (s *store) countFailures(ctx context.Context, tx *pg.Tx, limits []signInLimit, now time.Time) error {
	batch := &pgx.Batch{}
	for _, l := range limits {
		batch.Queue(countFailureSQL, l.key(), now)
	}
	return tx.SendBatch(ctx, batch).Close()
}

const (
	forgetFailuresSQL = `delete from sign_in_failures where subject = $1`

	uncountFailureSQL = `update sign_in_failures set failures = greatest(failures - 1, 0) where subject = $1`
)

// correctFailures deletes all failures of some limits, and subtracts one from others.
func (s *store) correctFailures(ctx context.Context, tx *pg.Tx, forget, uncount []signInLimit) error {
	batch := &pgx.Batch{}
	for _, l := range forget {
		batch.Queue(forgetFailuresSQL, l.key())
	}
	for _, l := range uncount {
		batch.Queue(uncountFailureSQL, l.key())
	}
	return tx.SendBatch(ctx, batch).Close()
}

const pruneFailuresSQL = `delete from sign_in_failures where last_at < $1`

func (s *store) pruneFailures(ctx context.Context, tx *pg.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, pruneFailuresSQL, before)
	return err
}
