package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

func TestFault(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code}) }
	t.Run("a database that is unreachable, full or contended is unavailable", func(t *testing.T) {
		for name, err := range map[string]error{
			"connection failure": state("08006"), "too many connections": state("53300"), "disk full": state("53100"),
			"admin shutdown": state("57P01"), "crash": state("57P02"), "starting up": state("57P03"),
			"statement timeout": state("57014"), "lock timeout": state("55P03"),
			"lost race": state("40001"), "deadlock": state("40P01"),
			"end of file": fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "closed": pgconn.ErrConnClosed,
			"network": &net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		} {
			got := pg.Fault(err, nil)
			if !fault.Is(got, fault.Unavailable) || !errors.Is(got, err) || fault.From(got).RetryAfter == 0 {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
	t.Run("other errors are returned unchanged", func(t *testing.T) {
		for _, err := range []error{
			nil, pgx.ErrNoRows, context.Canceled, fmt.Errorf("read: %w", context.DeadlineExceeded),
			fault.Missing("customer"), errors.New("anything"), state("23505"), state("42501"), state("42703"),
		} {
			if got := pg.Fault(err, map[string]*fault.Error{"": fault.Missing("x")}); got != err { //nolint:errorlint // unchanged is the very same value
				t.Errorf("%v became %v", err, got)
			}
		}
	})
}

func TestFaultFromConstraint(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 1, company)
	taken := fault.Refuse("THING_EXISTS", "there is such a thing")
	known := map[string]*fault.Error{"things_pkey": taken}
	t.Run("a violated constraint in the map becomes its fault, with the cause for the log", func(t *testing.T) {
		err := db.InTx(t.Context(), pg.For(company), add(company, 1, "again"))
		got := pg.Fault(err, known)
		if !errors.Is(got, taken) || sqlState(got) != "23505" {
			t.Fatal(got)
		}
	})
	t.Run("another violated constraint remains an internal error", func(t *testing.T) {
		err := db.InTx(t.Context(), pg.For(company), add(company, 2, ""))
		if got := pg.Fault(err, known); !fault.Is(got, fault.Internal) || sqlState(got) != "23514" {
			t.Fatal(got)
		}
	})
}
