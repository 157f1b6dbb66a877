package pg_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/origin"
	"reservation.dev/platform/pg"
)

// movingWorld is a database with two companies, one of which moves.
type movingWorld struct {
	db            *pg.DB
	owner         *pgx.Conn
	moving, other id.Company
}

func newMovingWorld(t *testing.T) *movingWorld {
	t.Helper()
	ownerURL, appURL := testkit.DBURLs(t, things())
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	w := &movingWorld{db: open(t, appURL, pg.Config{MaxConns: 4}), owner: owner, moving: id.New[id.Company](), other: id.New[id.Company]()}
	seed(t, w.db, 3, w.moving, w.other)
	return w
}

// mark marks the company, and waits until the mark counts.
func (w *movingWorld) mark(t *testing.T, state pg.MoveState) {
	t.Helper()
	m, err := pg.MarkMove(t.Context(), w.owner, w.moving, state, "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.AwaitMove(t.Context(), w.owner, m); err != nil {
		t.Fatal(err)
	}
}

// rows counts the rows that a scope sees, first with a read and then with a transaction.
func (w *movingWorld) rows(ctx context.Context, s pg.Scope) (n int, err error) {
	read, err := pg.Rows[thing](ctx, w.db, s, selectThings)
	if err != nil {
		return 0, pg.Fault(err, nil)
	}
	err = w.db.InTx(ctx, s, func(ctx context.Context, tx *pg.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from things`).Scan(&n)
	})
	if err == nil && n != len(read) {
		err = errors.New("a read and a transaction differ")
	}
	return n, pg.Fault(err, nil)
}

func (w *movingWorld) want(t *testing.T, ctx context.Context, what string, s pg.Scope, want int) {
	t.Helper()
	if n, err := w.rows(ctx, s); err != nil || n != want {
		t.Errorf("%s: %d rows, %v; want %d", what, n, err, want)
	}
}

func (w *movingWorld) wantRefused(t *testing.T, ctx context.Context, what string) {
	t.Helper()
	_, err := w.rows(ctx, pg.For(w.moving))
	if !errors.Is(err, fault.Moving()) {
		t.Errorf("%s: %v, want COMPANY_MOVING", what, err)
	}
	// A query that finds no row must not say so.
	_, err = pg.One[int](ctx, w.db, pg.For(w.moving), `select id from things where company_id = $1 and id = 99`, w.moving)
	if err = pg.Fault(err, nil); !errors.Is(err, fault.Moving()) {
		t.Errorf("%s, no row: %v, want COMPANY_MOVING", what, err)
	}
	err = pg.Fault(w.db.InTx(ctx, pg.For(w.moving), func(_ context.Context, tx *pg.Tx) error {
		tx.Queue(pg.Query{SQL: insertThing, Args: []any{w.moving, 100, "late"}})
		return nil
	}), nil)
	if !errors.Is(err, fault.Moving()) {
		t.Errorf("%s, a write: %v, want COMPANY_MOVING", what, err)
	}
}

// TestMoves checks what requests, jobs, lookups and handlers of events see of a company that moves.
func TestMoves(t *testing.T) {
	t.Parallel()
	w := newMovingWorld(t)
	ctx, events := t.Context(), origin.WithEvent(t.Context())
	everything := func(t *testing.T) {
		t.Helper()
		w.want(t, ctx, "a request", pg.For(w.moving), 3)
		w.want(t, ctx, "a job", pg.AllCompanies(), 6)
		w.want(t, events, "a handler", pg.AllCompanies(), 6)
		w.want(t, ctx, "another company", pg.For(w.other), 3)
	}
	t.Run("without a move, everything is visible", everything)
	t.Run("a company that leaves is visible to handlers of events and lookups only", func(t *testing.T) {
		w.mark(t, pg.Leaving)
		w.wantRefused(t, ctx, "a request")
		w.want(t, ctx, "a job", pg.AllCompanies(), 3)
		w.want(t, events, "a handler of all companies", pg.AllCompanies(), 6)
		w.want(t, events, "a handler of the company", pg.For(w.moving), 3)
		w.want(t, ctx, "a lookup", pg.Lookup(), 6)
		w.want(t, ctx, "another company", pg.For(w.other), 3)
	})
	t.Run("a company that has left is visible to lookups only", func(t *testing.T) {
		w.mark(t, pg.Left)
		w.wantRefused(t, ctx, "a request")
		w.wantRefused(t, events, "a handler")
		w.want(t, ctx, "a job", pg.AllCompanies(), 3)
		w.want(t, events, "a handler", pg.AllCompanies(), 3)
		w.want(t, ctx, "a lookup", pg.Lookup(), 6)
	})
	t.Run("a company that arrives is not visible", func(t *testing.T) {
		w.mark(t, pg.Arriving)
		w.wantRefused(t, ctx, "a request")
		w.wantRefused(t, events, "a handler")
		w.want(t, ctx, "a job", pg.AllCompanies(), 3)
		w.want(t, ctx, "a lookup", pg.Lookup(), 3)
		w.want(t, ctx, "another company", pg.For(w.other), 3)
	})
	t.Run("a company in another state is not opened", func(t *testing.T) {
		if err := pg.UnmarkMove(ctx, w.owner, w.moving, pg.Left); err != nil {
			t.Fatal(err)
		}
		w.wantRefused(t, ctx, "a request")
	})
	t.Run("a company that is opened again is visible as before", func(t *testing.T) {
		if err := pg.UnmarkMove(ctx, w.owner, w.moving, pg.Arriving); err != nil {
			t.Fatal(err)
		}
		everything(t)
	})
}

// TestMoveCountsForWholeTransactions checks that a mark does not hide rows from a transaction that has begun.
func TestMoveCountsForWholeTransactions(t *testing.T) {
	t.Parallel()
	w := newMovingWorld(t)
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `update things set name = 'first' where company_id = $1`, w.moving); err != nil {
			return err
		}
		m, err := pg.MarkMove(t.Context(), w.owner, w.moving, pg.Leaving, "elsewhere")
		if err != nil {
			return err
		}
		if _, err := w.owner.Exec(ctx, `select pg_sleep_until($1)`, m.EffectiveAt); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `update things set name = 'second' where company_id = $1 and name = 'first'`, w.moving)
		if err == nil && tag.RowsAffected() != 3 {
			t.Errorf("the second statement sees %d rows, want 3", tag.RowsAffected())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.want(t, t.Context(), "the next job", pg.AllCompanies(), 3)
}

// TestMoveCheckCostsNothingWithoutMoves checks that the functions of every transaction are inlined, and that jobs
// read company_moves once per query.
func TestMoveCheckCostsNothingWithoutMoves(t *testing.T) {
	t.Parallel()
	w := newMovingWorld(t)
	plan := func(s pg.Scope, sql string) string {
		lines, err := pg.Rows[string](t.Context(), w.db, s, `explain (analyze, verbose, costs off, timing off, summary off) `+sql)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	of := pg.For(w.other)
	if got := plan(of, `select app_enter('x')`); strings.Contains(got, "app_enter") {
		t.Errorf("app_enter is not inlined:\n%s", got)
	}
	if got := plan(of, `select name from things`); strings.Contains(got, "app_company()") ||
		!strings.Contains(got, "never executed") {
		t.Errorf("app_company is not inlined, or the part for jobs is evaluated:\n%s", got)
	}
	w.mark(t, pg.Leaving)
	if got := plan(of, `select name from things`); !strings.Contains(got, "app_company()") {
		t.Errorf("app_company does not check moves:\n%s", got)
	}
	if err := pg.UnmarkMove(t.Context(), w.owner, w.moving, pg.Leaving); err != nil {
		t.Fatal(err)
	}
	if got := plan(of, `select name from things`); strings.Contains(got, "app_company()") {
		t.Errorf("app_company is not inlined again:\n%s", got)
	}
}

// TestOnlyCompaniesThatLeaveCanHaveLeft checks that the decision of a move is made for all companies or for none, and
// only if nobody has opened them or moves them elsewhere.
func TestOnlyCompaniesThatLeaveCanHaveLeft(t *testing.T) {
	t.Parallel()
	w := newMovingWorld(t)
	state := func(company id.Company) pg.MoveState {
		t.Helper()
		m, err := pg.MoveOf(t.Context(), w.owner, company)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			return ""
		}
		return m.State
	}
	w.mark(t, pg.Leaving)
	for name, err := range map[string]error{
		"another cell":    pg.LeaveMove(t.Context(), w.owner, "third", w.moving),
		"another company": pg.LeaveMove(t.Context(), w.owner, "elsewhere", w.moving, w.other),
	} {
		if !errors.Is(err, pg.ErrNotLeaving) || state(w.moving) != pg.Leaving {
			t.Errorf("%s: %v, and the company is %s", name, err, state(w.moving))
		}
	}
	if err := pg.LeaveMove(t.Context(), w.owner, "elsewhere", w.moving); err != nil || state(w.moving) != pg.Left {
		t.Errorf("%v, and the company is %s", err, state(w.moving))
	}
	if err := pg.UnmarkMove(t.Context(), w.owner, w.moving, pg.Leaving); err != nil || state(w.moving) != pg.Left {
		t.Errorf("opened as one that leaves: %v, and the company is %q", err, state(w.moving))
	}
}
