package pg

import (
	"context"
	"database/sql"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"reservation.dev/platform/pg/turns"
)

// Query is one of several queries that share a round trip.
type Query struct {
	SQL  string
	Args []any
	// Scan reads the rows. It is called at most once, and the caller closes the rows and
	// checks their Err.
	Scan func(pgx.Rows) error
}

// Rows runs one query under s and returns all its rows, in one round trip. A struct T is
// filled by column name (`db:"name"` tags), any other T from the only column. Without
// rows, the slice is empty.
func Rows[T any](ctx context.Context, db *DB, s Scope, sql string, args ...any) ([]T, error) {
	var out []T
	err := db.Read(ctx, s, Query{SQL: sql, Args: args, Scan: func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectRows(rows, rowTo[T]())
		return err
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// One returns the first row, as Rows does. Without rows the error is pgx.ErrNoRows.
func One[T any](ctx context.Context, db *DB, s Scope, sql string, args ...any) (T, error) {
	var out T
	err := db.Read(ctx, s, Query{SQL: sql, Args: args, Scan: func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectOneRow(rows, rowTo[T]())
		return err
	}})
	return out, err
}

// Read runs queries under s in one round trip, as one read-only transaction in which
// each query sees its own snapshot. It stops at the first error.
func (db *DB) Read(ctx context.Context, s Scope, queries ...Query) error {
	return db.pipeline(ctx, s, turns.Read, s.first(ctx, readSQL, enterRead), queries)
}

// Stream runs one query under s and calls each for every row as it arrives, in constant
// memory. The rows are only valid inside each. An error from each ends the stream and is
// returned unchanged. There is no statement timeout: ctx bounds the stream.
func (db *DB) Stream(ctx context.Context, s Scope, sql string, args []any, each func(pgx.Rows) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return db.pipeline(ctx, s, turns.Stream, s.first(ctx, streamSQL, enterStream), []Query{{SQL: sql, Args: args, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			if err := each(rows); err != nil {
				// Millions of rows may be left. Drop the connection instead of reading
				// them all to keep it.
				cancel()
				return err
			}
		}
		return nil
	}}})
}

func (db *DB) pipeline(ctx context.Context, s Scope, class turns.Class, setting string, queries []Query) error {
	if err := db.guard(ctx); err != nil {
		return err
	}
	return db.onConn(ctx, s, class, func(c *pgxpool.Conn) (bool, error) {
		return pipelineOn(ctx, c.Conn(), s, setting, queries)
	})
}

// pipelineOn runs the queries on c. started reports whether a Scan was called, after
// which the pipeline must not be repeated.
func pipelineOn(ctx context.Context, c *pgx.Conn, s Scope, setting string, queries []Query) (started bool, err error) {
	batch := pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(queries)+1)}
	batch.Queue(setting, s.setting)
	for i := range queries {
		batch.Queue(queries[i].SQL, queries[i].Args...)
	}
	results := c.SendBatch(ctx, &batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	for i := range queries {
		rows, err := results.Query()
		if err != nil {
			return started, err
		}
		started = true
		err = queries[i].Scan(rows)
		rows.Close()
		if e := rows.Err(); e != nil && err == nil {
			err = e
		}
		if err != nil {
			return true, err
		}
	}
	return started, nil
}

// rowTo chooses between a struct by column name and a single column.
func rowTo[T any]() pgx.RowToFunc[T] {
	if isRecord(reflect.TypeFor[T]()) {
		return pgx.RowToStructByName[T]
	}
	return pgx.RowTo[T]
}

func isRecord(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return false
	}
	p := reflect.PointerTo(t)
	return !p.Implements(reflect.TypeFor[sql.Scanner]()) && !p.Implements(reflect.TypeFor[pgtype.UUIDScanner]())
}
