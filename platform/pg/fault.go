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

// The SQLSTATEs that this package treats specially.
const (
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014"
	codeIdleInTransaction    = "25P03"
	codeFeatureNotSupported  = "0A000"
	codeNoSuchStatement      = "26000"
	codeUndefinedTable       = "42P01"
	codeCompanyMoving        = "RS001" // of migration 0005
)

// Fault translates an error of this package for callers. No other code interprets
// SQLSTATEs.
//
//   - A violated constraint that constraints names becomes that fault.
//   - A database that is unavailable, restarting, full, too slow or too contended
//     becomes fault.Away.
//   - A company that moves to another installation becomes fault.Moving.
//   - All other errors are returned unchanged, including context errors, faults and
//     pgx.ErrNoRows. An error that is not a fault is answered as an internal error.
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
		if pe.Code == codeCompanyMoving {
			return fault.Moving().Because(err)
		}
		if isTemporary(pe.Code) {
			return fault.Away(err)
		}
		return err
	}
	if connectionLost(err) {
		return fault.Away(err)
	}
	return err
}

// isTemporary reports whether an SQLSTATE means that the same request may succeed later.
func isTemporary(code string) bool {
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
	// Connecting has its own deadline, which is not the caller's.
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

// planIsStale reports whether a migration, or a pooler in front of the server, has
// invalidated a cached statement. pgx forgets the statement, and the next attempt
// prepares it again.
func planIsStale(err error) bool {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return false
	}
	return pe.Code == codeNoSuchStatement ||
		pe.Code == codeFeatureNotSupported && pe.Routine == "RevalidateCachedQuery"
}
