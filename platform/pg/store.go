package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Store is a database as a service uses it: each call is in the scope of one company,
// and errors of the database are faults.
type Store struct {
	*DB
	// Constraints are the faults of requests that only the database can find, by the
	// names of its constraints.
	Constraints map[string]*fault.Error
}

// Fault translates an error of the database for callers.
func (s Store) Fault(err error) error { return Fault(err, s.Constraints) }

// Write runs fn in one transaction of the company, as DB.InTx does; fn must be
// repeatable.
func (s Store) Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *Tx) error) error {
	return s.Fault(s.InTx(ctx, For(company), fn))
}

// ReadOf runs queries of the company in one round trip.
func (s Store) ReadOf(ctx context.Context, company id.Company, queries ...Query) error {
	return s.Fault(s.Read(ctx, For(company), queries...))
}

// Get runs one query of the company and returns its first row as Rows does. Without
// one the error is the fault that what ("pass type") does not exist.
func Get[T any](ctx context.Context, s Store, company id.Company, what, sql string, args ...any) (T, error) {
	out, err := One[T](ctx, s.DB, For(company), sql, args...)
	return out, Missing(s.Fault(err), what)
}

// GetInTx is Get in a transaction, whose errors InTx or Write translates.
func GetInTx[T any](ctx context.Context, tx *Tx, what, sql string, args ...any) (T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	out, err := pgx.CollectOneRow(rows, rowTo[T]())
	return out, Missing(err, what)
}

// Missing replaces pgx.ErrNoRows by the fault that what ("pass type") does not exist.
func Missing(err error, what string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing(what)
	}
	return err
}

// Instant returns a time as PostgreSQL keeps it: in UTC, in microseconds.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
