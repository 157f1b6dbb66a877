package pg

import (
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// LimitLockWait returns the query after which the statements of a transaction wait at most limit for
// each lock; 0 means no limit. A statement that waits longer fails, and [LockTimedOut] reports its
// error.
func LimitLockWait(limit time.Duration) Query {
	return Query{SQL: `select set_config('lock_timeout', $1, true)`, Args: []any{strconv.FormatInt(limit.Milliseconds(), 10)}}
}

// LockTimedOut reports whether a statement failed because it waited too long for a lock.
func LockTimedOut(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == codeLockNotAvailable
}
