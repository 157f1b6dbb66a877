package pg

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Exec runs a statement.
func (tx *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if tx.isReady() {
		return tx.conn.Exec(ctx, sql, args...)
	}
	results := tx.send(ctx, batchOf(sql, args))
	tag, err := results.Exec()
	if e := results.Close(); err == nil {
		err = e
	}
	return tag, err
}

// Query runs a query. The caller closes the rows before the next statement.
func (tx *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if tx.isReady() {
		return tx.conn.Query(ctx, sql, args...)
	}
	results := tx.send(ctx, batchOf(sql, args))
	rows, err := results.Query()
	if err != nil {
		_ = results.Close()
	}
	return &firstRows{Rows: rows, results: results}, err
}

// QueryRow runs a query and returns its first row. Without rows, Scan returns pgx.ErrNoRows.
func (tx *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := tx.Query(ctx, sql, args...)
	return row{rows}
}

// SendBatch sends b in one round trip. The caller closes the results.
func (tx *Tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if tx.isReady() {
		return tx.conn.SendBatch(ctx, b)
	}
	return tx.send(ctx, b)
}

// Pipeline runs queries in order, in one round trip. Each query sees everything that was
// committed before it began, so a query after a lock sees the state that the lock
// protects. The rows of a query without Scan are dropped.
func (tx *Tx) Pipeline(ctx context.Context, queries ...Query) (err error) {
	batch := &pgx.Batch{}
	for _, q := range queries {
		batch.Queue(q.SQL, q.Args...)
	}
	results := tx.SendBatch(ctx, batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	for _, q := range queries {
		if q.Scan == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		err = q.Scan(rows)
		rows.Close()
		if e := rows.Err(); e != nil {
			return e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Queue adds statements that need no answer before the commit. They run in order, before the
// next statement of tx or else before the commit, and share its round trip. If one of them
// fails, nothing is committed, and the next statement or InTx returns its error. They cannot
// have a Scan, because it could not stop the commit: see Query.Affecting.
func (tx *Tx) Queue(statements ...Query) {
	for _, s := range statements {
		if s.Scan != nil {
			panic("pg: a queued statement has a Scan: " + s.SQL)
		}
	}
	tx.queued = append(tx.queued, statements...)
}

// Affecting returns an insert, update or delete that fails unless it affects n rows.
func (q Query) Affecting(n int) Query {
	q.Args = append(slices.Clip(q.Args), n)
	q.SQL = "with affected as (" + q.SQL + " returning 1) select case when count(*) = $" + strconv.Itoa(len(q.Args)) +
		" then 0 else ('affected ' || count(*))::integer end from affected" // that text is not an integer
	return q
}

// Begin creates a savepoint.
func (tx *Tx) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := tx.flush(ctx); err != nil {
		return nil, err
	}
	return tx.inner.Begin(ctx)
}

// CopyFrom copies rows into a table.
func (tx *Tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := tx.flush(ctx); err != nil {
		return 0, err
	}
	return tx.conn.CopyFrom(ctx, table, columns, rows)
}

// Conn returns the connection of the transaction.
func (tx *Tx) Conn() *pgx.Conn { return tx.conn }

// isReady reports whether a statement can run without anything that precedes it.
func (tx *Tx) isReady() bool { return tx.inner != nil && len(tx.queued) == 0 && tx.open.Load() }

// flush sends everything that waits for the next statement.
func (tx *Tx) flush(ctx context.Context) error {
	if tx.isReady() {
		return nil
	}
	return tx.send(ctx, &pgx.Batch{}).Close()
}

// send sends what precedes b and b in one round trip: begin with the scope if the transaction has
// not begun, and the queued statements. It reads their responses. After an error all methods of the
// results return it.
func (tx *Tx) send(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if !tx.open.Load() {
		return pgx.FailedBatchResults(b, pgx.ErrTxClosed)
	}
	if tx.failed != nil {
		return pgx.FailedBatchResults(b, tx.failed)
	}
	all := &pgx.Batch{}
	begins := tx.inner == nil
	if begins {
		all.BeginTx(pgx.TxOptions{BeginQuery: beginSQL})
		all.Queue(tx.scope.first(ctx, scopeSQL, enterSQL), tx.scope.setting)
	}
	for _, q := range tx.queued {
		all.Queue(q.SQL, q.Args...)
	}
	tx.queued = nil
	preceding := all.Len()
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	results := tx.conn.SendBatch(ctx, all)
	for i := range preceding {
		if _, err := results.Exec(); err != nil {
			if begins && i == 0 {
				tx.failed, tx.lost = err, isLost(err)
			}
			break
		}
		if begins && i == 0 {
			tx.inner = results.Tx()
		}
	}
	return results
}

// isLost reports whether the server or the network closed the connection.
func isLost(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.SeverityUnlocalized == "FATAL" || pe.SeverityUnlocalized == "PANIC"
	}
	return connectionLost(err)
}

func batchOf(sql string, args []any) *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	return b
}

// firstRows are the rows of a query that was sent in a batch, which they close.
type firstRows struct {
	pgx.Rows
	results pgx.BatchResults
	err     error
}

// Next implements pgx.Rows.
func (r *firstRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *firstRows) Close() {
	r.Rows.Close()
	r.err = r.results.Close()
}

// Err implements pgx.Rows.
func (r *firstRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// row is the first of rows.
type row struct{ rows pgx.Rows }

// Scan implements pgx.Row.
func (r row) Scan(into ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
