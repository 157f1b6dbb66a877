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

// Tx is a transaction of InTx. It begins with its first statement, in the same round trip. Only
// InTx commits it and rolls it back.
type Tx struct {
	db    *DB
	conn  *pgx.Conn
	scope Scope
	open  atomic.Bool // fn of InTx is running
	hooks []func()

	inner  pgx.Tx  // nil until the server has answered begin
	queued []Query // statements that wait for the next round trip
	failed error   // why the transaction could not begin
	lost   bool    // because the connection had been lost while it was idle
}

// AfterCommit registers f to run after this transaction has committed, in the order of
// registration and on InTx's goroutine. If the transaction is rolled back or repeated, f
// does not run.
func (tx *Tx) AfterCommit(f func()) { tx.hooks = append(tx.hooks, f) }

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

// ErrLockOrder is an error of a transaction that needs a lock that comes before locks that it holds.
// InTx repeats the transaction, which then takes the locks in their order.
var ErrLockOrder = errors.New("a lock is needed that must be taken earlier")

// InTx runs fn in a read-committed transaction under s and commits if fn returns nil. On
// an error or a panic it rolls back. A transaction that loses to a concurrent one
// (SQLSTATE 40001, 40P01, ErrLockOrder) is repeated up to three times, and one that finds its connection
// lost on another connection. So fn must be repeatable: all its effects are in tx, in variables
// that it sets again, or in AfterCommit hooks. Errors of fn are returned unchanged.
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
		tx := &Tx{db: db, conn: c.Conn(), scope: s}
		err := tx.run(ctx, fn)
		hooks = tx.hooks
		return !tx.lost, err
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

func (tx *Tx) run(ctx context.Context, fn func(context.Context, *Tx) error) error {
	tx.open.Store(true)
	defer tx.end(ctx)
	if err := fn(context.WithValue(ctx, txKey{}, tx), tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return tx.commit(ctx)
}

// end rolls back what is not committed.
func (tx *Tx) end(ctx context.Context) {
	tx.open.Store(false)
	if tx.conn.IsClosed() || tx.conn.PgConn().TxStatus() == idle {
		return
	}
	// ctx may have ended, but the connection must be rolled back before its next use. If the
	// rollback fails, the pool closes the connection, because it is not idle.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	_, _ = tx.conn.Exec(ctx, "rollback")
}

// The states of a connection's transaction that the server reports.
const (
	idle    = 'I'
	aborted = 'E'
)

// commit sends the queued statements and the commit in one round trip.
func (tx *Tx) commit(ctx context.Context) error {
	// If the only round trip of a transaction had the commit in it, it could not be repeated
	// after the connection was lost while idle.
	if tx.inner == nil && len(tx.queued) > 0 {
		if err := tx.flush(ctx); err != nil {
			return err
		}
	}
	switch {
	case tx.failed != nil, tx.conn.PgConn().TxStatus() == aborted:
		return fmt.Errorf("commit: %w", pgx.ErrTxCommitRollback) // fn hid an error
	case tx.inner == nil:
		return nil // fn ran no statement
	case tx.conn.IsClosed():
		return fmt.Errorf("commit: %w", pgconn.ErrConnClosed)
	}
	// The outcome must be known from here on, so a cancelled ctx does not interrupt the
	// commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	tag, err := tx.Exec(ctx, commitSQL)
	switch {
	case err != nil && isUncertain(err):
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	case err != nil:
		return fmt.Errorf("commit: %w", err)
	case tag.String() == "ROLLBACK":
		return fmt.Errorf("commit: %w", pgx.ErrTxCommitRollback)
	}
	return nil
}

// ErrUncertain reports a commit whose response was lost. Repeating the transaction may
// apply it twice.
var ErrUncertain = errors.New("it is not known whether the transaction was committed")

// isUncertain reports whether a commit failed without being refused by PostgreSQL. A failure to
// prepare or encode statements comes before they are sent.
func isUncertain(err error) bool {
	var unsent pgx.ErrPreprocessingBatch
	if errors.As(err, &unsent) {
		return false
	}
	var pe *pgconn.PgError
	return !errors.As(err, &pe) || strings.HasPrefix(pe.Code, "57P")
}

// isRepeatable reports whether a transaction must be repeated because of its locks, because PostgreSQL
// aborted it in favour of another one, or because a migration invalidated one of its prepared
// statements.
func isRepeatable(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && (pe.Code == codeSerializationFailure || pe.Code == codeDeadlock) {
		return true
	}
	return errors.Is(err, ErrLockOrder) || planIsStale(err)
}
