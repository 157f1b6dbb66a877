package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Store is a service's view of its database: each call is in the scope of one company,
// and database errors are returned as faults.
type Store struct {
	*DB
	// Constraints has the faults of requests that only the database can detect, by the
	// name of the violated constraint.
	Constraints map[string]*fault.Error
}

// Fault translates a database error for callers.
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

// Get runs one query of the company and returns its first row, as Rows does. Without
// rows the error is a NOT_FOUND fault for resource ("pass type").
func Get[T any](ctx context.Context, s Store, company id.Company, resource, sql string, args ...any) (T, error) {
	out, err := One[T](ctx, s.DB, For(company), sql, args...)
	return out, Missing(s.Fault(err), resource)
}

// GetInTx is Get in a transaction. InTx or Write translates its other errors.
func GetInTx[T any](ctx context.Context, tx *Tx, resource, sql string, args ...any) (T, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	out, err := pgx.CollectOneRow(rows, rowTo[T]())
	return out, Missing(err, resource)
}

// Missing replaces pgx.ErrNoRows with a NOT_FOUND fault for resource ("pass type"). It returns
// other errors unchanged.
func Missing(err error, resource string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing(resource)
	}
	return err
}

// Instant returns t with PostgreSQL's precision: in UTC, in microseconds.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
