package pg

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"reservation.dev/platform/fault"
)

// SQLSTATEs that decide something here.
const (
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014"
	codeIdleInTransaction    = "25P03"
	codeFeatureNotSupported  = "0A000"
	codeNoSuchStatement      = "26000"
	codeUndefinedTable       = "42P01"
)

// Fault translates an error of this package for callers; it is the one place
// where SQLSTATEs are given a meaning.
//
//   - A violated constraint that is named in constraints becomes that fault.
//   - A database that is away, restarting, full, too slow or too contended
//     becomes fault.Away.
//   - Errors of a context, faults, pgx.ErrNoRows and everything else pass
//     unchanged; what is not a fault is answered as an internal error.
func Fault(err error, constraints map[string]*fault.Error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		if f, ok := constraints[pe.ConstraintName]; ok && pe.ConstraintName != "" {
			return f.Because(err)
		}
		if isAway(pe.Code) {
			return fault.Away(err)
		}
		return err
	}
	if connectionLost(err) {
		return fault.Away(err)
	}
	return err
}

// isAway reports SQLSTATEs after which the same request may well succeed later.
func isAway(code string) bool {
	switch code {
	case codeSerializationFailure, codeDeadlock, codeLockNotAvailable,
		codeQueryCanceled, codeIdleInTransaction:
		return true
	}
	return strings.HasPrefix(code, "08") || // connection exceptions
		strings.HasPrefix(code, "53") || // out of connections, memory, disk
		strings.HasPrefix(code, "57P") // shutting down, starting, crashed
}

func connectionLost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	// A connection that took too long carries a deadline of its own, which is not
	// the caller's.
	var ce *pgconn.ConnectError
	if errors.As(err, &ce) {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var ne net.Error
	return errors.As(err, &ne) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// planIsStale reports a cached statement that a migration, or a pooler between
// us and the server, has made useless. pgx forgets it, and the next attempt
// prepares it anew.
func planIsStale(err error) bool {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return false
	}
	return pe.Code == codeNoSuchStatement ||
		pe.Code == codeFeatureNotSupported && pe.Routine == "RevalidateCachedQuery"
}
