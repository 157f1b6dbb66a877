package auth

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// store has every SQL statement of the service. Methods with a tx run in the caller's transaction.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store {
	return &store{pg.Store{DB: db, Constraints: map[string]*fault.Error{"administrators_email": adminEmailExists()}}}
}

// scope is the company's scope, or the platform's for platform credentials.
func scope(company id.Company) pg.Scope {
	if company.IsZero() {
		return pg.AllCompanies()
	}
	return pg.For(company)
}

// Write runs fn in one transaction of the company; zero: of the platform.
func (s *store) Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return s.Fault(s.InTx(ctx, scope(company), fn))
}

// one returns the row of a query. If there is none, the error is the fault that what, for example
// "session", does not exist.
func one[T any](ctx context.Context, s *store, scope pg.Scope, what, sql string, args ...any) (T, error) {
	row, err := pg.One[T](ctx, s.DB, scope, sql, args...)
	return row, pg.Missing(s.Fault(err), what)
}

// all returns the rows of a query.
func all[T any](ctx context.Context, s *store, scope pg.Scope, sql string, args ...any) ([]T, error) {
	rows, err := pg.Rows[T](ctx, s.DB, scope, sql, args...)
	return rows, s.Fault(err)
}

// pageOf returns the rows of a page, and one more if there is a next page.
func pageOf[T any](ctx context.Context, s *store, scope pg.Scope, p page.Page, sql string, args ...any) ([]T, error) {
	statement := &pg.Statement{SQL: sql, Args: args}
	p.Add(statement)
	return all[T](ctx, s, scope, statement.SQL, statement.Args...)
}

// rowArgs returns the fields of a row, a struct, as named arguments. Arguments in more are added or
// replace them.
func rowArgs(row any, more pgx.NamedArgs) pgx.NamedArgs {
	args, _ := pgx.StructArgs(row).(pgx.NamedArgs)
	maps.Copy(args, more)
	return args
}

// zeroable encodes the zero company as the zero UUID, which stands for the platform, and not as
// NULL.
func zeroable(company id.Company) [16]byte { return company }
