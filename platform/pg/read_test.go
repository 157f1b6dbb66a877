package pg_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

func TestReads(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	scope := pg.For(company)
	seed(t, db, 3, company)

	t.Run("rows fill a struct by column name", func(t *testing.T) {
		got, err := pg.Rows[thing](t.Context(), db, scope, `select name, id, company_id from things where id = $1`, 2)
		if err != nil || len(got) != 1 || got[0] != (thing{company, 2, "thing 2"}) {
			t.Fatal(got, err)
		}
	})
	t.Run("a single column fills a plain value, a time and an identifier", func(t *testing.T) {
		names, err := pg.Rows[string](t.Context(), db, scope, `select name from things order by id`)
		if err != nil || strings.Join(names, ",") != "thing 1,thing 2,thing 3" {
			t.Fatal(names, err)
		}
		if got := one[id.Company](t, db, scope, `select company_id from things limit 1`); got != company {
			t.Fatal(got)
		}
		if got := one[time.Time](t, db, scope, `select '2026-03-29 09:30+01'::timestamptz`); got.UTC().Hour() != 8 {
			t.Fatal(got)
		}
		if got := one[pgtype.Date](t, db, scope, `select '2026-03-29'::date`); !got.Valid {
			t.Fatal(got)
		}
	})
	t.Run("Rows returns an empty slice without rows, and One returns ErrNoRows", func(t *testing.T) {
		got, err := pg.Rows[thing](t.Context(), db, scope, selectThings+` limit 0`)
		if err != nil || got == nil || len(got) != 0 {
			t.Fatal(got, err)
		}
		_, err = pg.One[thing](t.Context(), db, scope, selectThings+` limit 0`)
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	})
	t.Run("several queries return their rows in order", func(t *testing.T) {
		var ids []int32
		var total int64
		err := db.Read(t.Context(), scope,
			pg.Query{SQL: `select id from things where id > $1 order by id`, Args: []any{1}, Scan: func(rows pgx.Rows) (err error) {
				ids, err = pgx.CollectRows(rows, pgx.RowTo[int32])
				return err
			}},
			pg.Query{SQL: `select count(*) from things`, Scan: func(rows pgx.Rows) (err error) {
				total, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
				return err
			}})
		if err != nil || len(ids) != 2 || total != 3 {
			t.Fatal(ids, total, err)
		}
	})
	t.Run("a Scan that leaves rows unread does not affect the next query", func(t *testing.T) {
		leave := func(pgx.Rows) error { return nil }
		err := db.Read(t.Context(), scope, pg.Query{SQL: selectThings, Scan: leave}, pg.Query{SQL: `select 1`, Scan: drain})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("an error of Scan ends the read and is returned unchanged", func(t *testing.T) {
		failure := errors.New("no")
		err := db.Read(t.Context(), scope,
			pg.Query{SQL: `select 1`, Scan: func(pgx.Rows) error { return failure }},
			pg.Query{SQL: `select 2`, Scan: func(pgx.Rows) error { t.Error("the second query was scanned"); return nil }})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
	})
	t.Run("an error after the first rows is returned", func(t *testing.T) {
		_, err := pg.Rows[int](t.Context(), db, scope, `select 1/(3-g) from generate_series(1, 5) g`)
		if sqlState(err) != "22012" {
			t.Fatal(err)
		}
		err = db.Stream(t.Context(), scope, `select 1/(3-g) from generate_series(1, 5) g`, nil,
			func(pgx.Rows) error { return nil })
		if sqlState(err) != "22012" {
			t.Fatal(err)
		}
	})
	t.Run("a read cannot write", func(t *testing.T) {
		for _, sql := range []string{`delete from things returning id`, `select id from things for update`} {
			if err := db.Read(t.Context(), scope, pg.Query{SQL: sql, Scan: drain}); sqlState(err) != "25006" {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
	t.Run("a statement is prepared once per connection", func(t *testing.T) {
		const sql = `select name from things where id = $1 and company_id = $2`
		for i := range 5 {
			if _, err := pg.Rows[string](t.Context(), db, scope, sql, i, company); err != nil {
				t.Fatal(err)
			}
		}
		runs := one[int64](t, db, scope,
			`select generic_plans + custom_plans from pg_prepared_statements where statement = $1`, sql)
		if runs != 5 {
			t.Fatalf("ran %d times as one prepared statement", runs)
		}
	})
}

// TestReadsSurviveAMigration checks reads whose plan a migration makes invalid.
func TestReadsSurviveAMigration(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 1, company)
	read := func() error {
		_, err := pg.Rows[thing](t.Context(), db, pg.For(company), selectThings)
		return err
	}
	write := func() error {
		return db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `select name from things where id = $1 for update`, 1)
			return err
		})
	}
	if err := errors.Join(read(), write()); err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(context.Background())
	if _, err := owner.Exec(t.Context(), `alter table things alter column name type varchar(100)`); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Errorf("read: %v", err)
	}
	if err := write(); err != nil {
		t.Errorf("write: %v", err)
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	p, proxied := testkit.NewProxy(t, appURL)
	db := open(t, proxied, pg.Config{})
	company := id.New[id.Company]()
	scope := pg.For(company)
	seed(t, db, 3, company)
	const rename = `update things set name = $3 where company_id = $1 and id = $2`
	inTx := func(fn func(context.Context, *pg.Tx) error) func() error {
		return func() error { return db.InTx(t.Context(), scope, fn) }
	}
	for name, c := range map[string]struct {
		want int64
		use  func() error
	}{
		"a read takes one": {1, func() error {
			_, err := pg.Rows[thing](t.Context(), db, scope, selectThings)
			return err
		}},
		"three queries take one": {1, func() error {
			q := pg.Query{SQL: selectThings, Scan: drain}
			return db.Read(t.Context(), scope, q, pg.Query{SQL: `select 1`, Scan: drain}, q)
		}},
		"a stream takes one": {1, func() error {
			return db.Stream(t.Context(), scope, selectThings, nil, func(pgx.Rows) error { return nil })
		}},
		"a transaction that runs nothing takes none": {0, inTx(func(context.Context, *pg.Tx) error { return nil })},
		"a transaction of one statement takes two": {2, inTx(func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, rename, company, 1, "x")
			return err
		})},
		"a transaction with a pipeline of three takes two": {2, inTx(func(ctx context.Context, tx *pg.Tx) error {
			q := pg.Query{SQL: selectThings, Scan: drain}
			return tx.Pipeline(ctx, q, pg.Query{SQL: rename, Args: []any{company, 1, "y"}}, q)
		})},
		"a transaction of queued statements takes two": {2, inTx(func(_ context.Context, tx *pg.Tx) error {
			tx.Queue(pg.Query{SQL: rename, Args: []any{company, 1, "z"}}, pg.Query{SQL: rename, Args: []any{company, 2, "z"}})
			return nil
		})},
		"a transaction that reads and then queues its writes takes two": {2, inTx(func(ctx context.Context, tx *pg.Tx) error {
			tx.Queue(pg.Query{SQL: rename, Args: []any{company, 1, "r"}})
			var name string
			if err := tx.QueryRow(ctx, `select name from things where id = 1`).Scan(&name); err != nil || name != "r" {
				return fmt.Errorf("read %q, %w", name, err)
			}
			tx.Queue(pg.Query{SQL: rename, Args: []any{company, 2, "r"}}.Affecting(1))
			tx.Queue(pg.Query{SQL: rename, Args: []any{company, 3, "r"}})
			return nil
		})},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.use(); err != nil { // prepares
				t.Fatal(err)
			}
			before := p.Turns.Load()
			if err := c.use(); err != nil {
				t.Fatal(err)
			}
			if got := p.Turns.Load() - before; got != c.want {
				t.Fatalf("took %d round trips", got)
			}
		})
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	scope := pg.For(company)
	seed(t, db, 1, company)

	t.Run("memory does not grow with the number of rows", func(t *testing.T) {
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, most, n := heap(), uint64(0), 0
		err := db.Stream(t.Context(), scope, `select repeat('x', 1000) from generate_series(1, $1::integer)`, []any{100_000},
			func(rows pgx.Rows) error {
				if n++; n%25_000 == 0 {
					most = max(most, heap())
				}
				return nil
			})
		if err != nil || n != 100_000 {
			t.Fatal(n, err)
		}
		if most > before+16<<20 { // parallel tests allocate too
			t.Fatalf("100 MB of rows took %d kB of heap", (most-before)>>10)
		}
	})
	t.Run("the statement timeout applies to a read but not to a stream", func(t *testing.T) {
		const slow = `select pg_sleep(1)`
		limited := open(t, appURL, pg.Config{StatementTimeout: 500 * time.Millisecond})
		err := limited.Read(t.Context(), scope, pg.Query{SQL: slow, Scan: drain})
		if !fault.Is(pg.Fault(err, nil), fault.Unavailable) {
			t.Fatal(err)
		}
		if err := limited.Stream(t.Context(), scope, slow, nil, func(pgx.Rows) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a stream whose reader gives up ends on the server too", func(t *testing.T) {
		failure := errors.New("enough")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := db.Stream(ctx, scope, `select generate_series(1, 1000000000)`, nil,
			func(pgx.Rows) error { return failure })
		if !errors.Is(err, failure) || ctx.Err() != nil {
			t.Fatalf("got %v; reading on until %v", err, ctx.Err())
		}
		testkit.Eventually(t, patience, func() error {
			n := one[int64](t, db, scope, `select count(*) from pg_stat_activity
				where datname = current_database() and query like '%1000000000%' and pid <> pg_backend_pid() and state = 'active'`)
			if n > 0 {
				return errors.New("still running")
			}
			return nil
		})
	})
}

func TestCollect(t *testing.T) {
	t.Parallel()
	db := testkit.DB(t, things())
	r := prometheus.NewRegistry()
	if err := errors.Join(db.Collect(r, "booking"), db.Collect(r, "pass")); err != nil {
		t.Fatal(err)
	}
	if db.Collect(r, "pass") == nil {
		t.Fatal("registers one service twice")
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pg_pool_connections_limit" {
			if len(f.GetMetric()) != 2 || f.GetMetric()[0].GetGauge().GetValue() != 8 {
				t.Fatal(f)
			}
			return
		}
	}
	t.Fatalf("pg_pool_connections_limit is not among %d metrics", len(families))
}
