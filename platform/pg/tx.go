package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reservation.dev/platform/pg/turns"
)

// Tx is a transaction of InTx. Only InTx calls Commit and Rollback; Begin creates a
// savepoint.
type Tx struct {
	pgx.Tx
	db    *DB
	open  atomic.Bool
	hooks []func()
}

// AfterCommit registers f to run after this transaction has committed, in the order of
// registration and on InTx's goroutine. If the transaction is rolled back or repeated, f
// does not run.
func (tx *Tx) AfterCommit(f func()) { tx.hooks = append(tx.hooks, f) }

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

type txKey struct{}

// errNested is a programming error. The inner statement would wait for a second
// connection while it holds the first one, and under load all of them would wait forever.
var errNested = errors.New("the database is used outside of the transaction that is in progress; use tx")

// guard refuses a ctx that belongs to an open transaction of the same pool.
func (db *DB) guard(ctx context.Context) error {
	if tx, ok := ctx.Value(txKey{}).(*Tx); ok && tx.db == db && tx.open.Load() {
		return errNested
	}
	return nil
}

const (
	txRetries     = 3
	finishTimeout = 10 * time.Second
)

// InTx runs fn in a read-committed transaction under s and commits if fn returns nil. On
// an error or a panic it rolls back. A transaction that loses to a concurrent one
// (SQLSTATE 40001, 40P01) is repeated up to three times. So fn must be repeatable: all
// its effects are in tx, in variables that it sets again, or in AfterCommit hooks. Errors
// of fn are returned unchanged.
func (db *DB) InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx *Tx) error) error {
	if err := db.guard(ctx); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := db.tryTx(ctx, s, fn)
		if err == nil || attempt == txRetries || !isRepeatable(err) || ctx.Err() != nil {
			return err
		}
		db.txRetries.Add(1)
		// The other transaction needs a moment to finish. The random pause spreads out
		// the transactions that lost together.
		pause := time.Duration(1+rand.IntN(10<<attempt)) * time.Millisecond
		if sleep(ctx, pause) != nil {
			return err
		}
	}
}

func (db *DB) tryTx(ctx context.Context, s Scope, fn func(context.Context, *Tx) error) error {
	var hooks []func()
	err := db.onConn(ctx, s, turns.Write, func(c *pgxpool.Conn) (bool, error) {
		inner, err := c.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: s.beginSQL()})
		if err != nil {
			return false, err
		}
		tx := &Tx{Tx: inner, db: db}
		if err := tx.run(ctx, fn); err != nil {
			return true, err
		}
		hooks = tx.hooks
		return true, nil
	})
	if err != nil {
		return err
	}
	// The connection is back in the pool, so a hook may use the database.
	for _, hook := range hooks {
		hook()
	}
	return nil
}

func (tx *Tx) run(ctx context.Context, fn func(context.Context, *Tx) error) (err error) {
	tx.open.Store(true)
	committed := false
	defer func() {
		tx.open.Store(false)
		if committed {
			return
		}
		// ctx may have ended, but the connection must be rolled back before its next
		// use. If the rollback fails, pgx closes the connection.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		defer cancel()
		_ = tx.Tx.Rollback(end)
	}()
	if err := fn(context.WithValue(ctx, txKey{}, tx), tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The outcome must be known from here on, so a cancelled ctx does not interrupt the
	// commit.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := tx.Tx.Commit(end); err != nil {
		if isUncertain(err) {
			return fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// ErrUncertain reports a commit whose response was lost. Repeating the transaction may
// apply it twice.
var ErrUncertain = errors.New("it is not known whether the transaction was committed")

// isUncertain reports whether a commit failed without being refused by PostgreSQL.
func isUncertain(err error) bool {
	var pe *pgconn.PgError
	return !errors.Is(err, pgx.ErrTxCommitRollback) && (!errors.As(err, &pe) || strings.HasPrefix(pe.Code, "57P"))
}

// isRepeatable reports whether PostgreSQL aborted a transaction in favour of another one,
// or because a migration invalidated one of its prepared statements.
func isRepeatable(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && (pe.Code == codeSerializationFailure || pe.Code == codeDeadlock) {
		return true
	}
	return planIsStale(err)
}
