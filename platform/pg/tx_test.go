package pg_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

func TestInTx(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	scope := pg.For(company)
	has := func(number int) bool {
		return one[bool](t, db, scope, `select exists(select from things where id = $1)`, number)
	}

	t.Run("commits the writes of fn", func(t *testing.T) {
		if err := db.InTx(t.Context(), scope, add(company, 1, "one")); err != nil || !has(1) {
			t.Fatal(err, has(1))
		}
	})
	t.Run("returns an error of fn unchanged and writes nothing", func(t *testing.T) {
		failure := errors.New("no")
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			return errors.Join(add(company, 2, "two")(ctx, tx), failure)
		})
		if !errors.Is(err, failure) || has(2) {
			t.Fatal(err, has(2))
		}
	})
	t.Run("writes nothing if the caller cancels before the commit", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.InTx(ctx, scope, func(ctx context.Context, tx *pg.Tx) error {
			defer cancel()
			return add(company, 3, "three")(ctx, tx)
		})
		if !errors.Is(err, context.Canceled) || has(3) {
			t.Fatal(err, has(3))
		}
	})
	t.Run("does not commit if fn hides the error of a statement", func(t *testing.T) {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			_ = add(company, 4, "four")(ctx, tx)
			_ = add(company, 4, "again")(ctx, tx)
			return nil
		})
		if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pg.ErrUncertain) || has(4) {
			t.Fatal(err, has(4))
		}
	})
	t.Run("reports ErrUncertain if the response to the commit is lost", func(t *testing.T) {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			if err := add(company, 6, "six")(ctx, tx); err != nil {
				return err
			}
			return tx.Conn().PgConn().Conn().Close()
		})
		if !errors.Is(err, pg.ErrUncertain) {
			t.Errorf("got %v", err)
		}
		if f := fault.From(pg.Fault(err, nil)); f.Kind != fault.Unavailable {
			t.Errorf("the fault is %v", f)
		}
	})
	t.Run("refuses to use the database outside of the open transaction", func(t *testing.T) {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			read := db.Read(ctx, scope, pg.Query{SQL: `select 1`, Scan: drain})
			write := db.InTx(ctx, scope, add(company, 5, "five"))
			if read == nil || write == nil {
				t.Errorf("read %v, write %v", read, write)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestAfterCommit checks invariant 4.
func TestAfterCommit(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	scope := pg.For(company)

	t.Run("hooks run in order after the rows are visible, and can use the database", func(t *testing.T) {
		var ran []int
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			tx.AfterCommit(func() {
				// The pool has one connection, so the transaction must have returned it. The
				// hook can use the transaction's ctx.
				n, err := pg.One[int](ctx, db, scope, `select count(*)::int4 from things`)
				if err != nil {
					t.Error(err)
				}
				ran = append(ran, n)
			})
			tx.AfterCommit(func() { ran = append(ran, 42) })
			return add(company, 1, "one")(ctx, tx)
		})
		if err != nil || !slices.Equal(ran, []int{1, 42}) {
			t.Fatal(ran, err)
		}
	})
	for name, fn := range map[string]func(ctx context.Context, tx *pg.Tx) error{
		"fn fails":              func(context.Context, *pg.Tx) error { return errors.New("no") },
		"the server aborts":     func(ctx context.Context, tx *pg.Tx) error { return add(company, 1, "twice")(ctx, tx) },
		"the commit rolls back": func(ctx context.Context, tx *pg.Tx) error { _ = add(company, 1, "twice")(ctx, tx); return nil },
		"fn panics":             func(context.Context, *pg.Tx) error { panic("oh") },
		"the connection is lost": func(ctx context.Context, tx *pg.Tx) error {
			return errors.Join(add(company, 2, "two")(ctx, tx), tx.Conn().PgConn().Conn().Close())
		},
	} {
		t.Run("no hook runs when "+name, func(t *testing.T) {
			defer func() { _ = recover() }()
			err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				tx.AfterCommit(func() { t.Error("a hook ran") })
				return fn(ctx, tx)
			})
			wantError(t, err)
		})
	}
}

// TestInTxRepeatsLostRaces checks invariant 5.
func TestInTxRepeatsLostRaces(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{MaxConns: 10})
	serializable := open(t, appURL+"&default_transaction_isolation=serializable", pg.Config{MaxConns: 10})
	scope := pg.AllCompanies()
	counter := func(n int) int32 { return one[int32](t, db, scope, `select n from counters where id = $1`, n) }

	t.Run("concurrent serializable transactions all succeed, hooks run once each", func(t *testing.T) {
		var hooks, runs atomic.Int64
		var bothRead sync.WaitGroup
		bothRead.Add(2)
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				var once sync.Once
				err := serializable.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
					runs.Add(1)
					tx.AfterCommit(func() { hooks.Add(1) })
					var n int
					if err := tx.QueryRow(ctx, `select n from counters where id = 1`).Scan(&n); err != nil {
						return err
					}
					// Both transactions read before either writes, so one must lose.
					once.Do(func() { bothRead.Done(); bothRead.Wait() })
					_, err := tx.Exec(ctx, `update counters set n = $1 where id = 1`, n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if n := counter(1); n != 2 || hooks.Load() != 2 || runs.Load() < 3 {
			t.Fatalf("counter %d, hooks %d, runs %d", n, hooks.Load(), runs.Load())
		}
	})
	t.Run("the victim of a deadlock succeeds at the next attempt", func(t *testing.T) {
		var bothLocked sync.WaitGroup
		bothLocked.Add(2)
		var callers sync.WaitGroup
		for _, order := range [][]int{{1, 2}, {2, 1}} {
			callers.Go(func() {
				var once sync.Once
				err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
					for _, n := range order {
						if _, err := tx.Exec(ctx, `update counters set n = n + 10 where id = $1`, n); err != nil {
							return err
						}
						once.Do(func() { bothLocked.Done(); bothLocked.Wait() })
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if counter(1) != 22 || counter(2) != 20 {
			t.Fatal(counter(1), counter(2))
		}
	})
	raise := func(code string, runs *int) func(context.Context, *pg.Tx) error {
		return func(ctx context.Context, tx *pg.Tx) error {
			*runs++
			_, err := tx.Exec(ctx, `do $$ begin raise exception 'made up' using errcode = '`+code+`'; end $$`)
			return err
		}
	}
	t.Run("returns Unavailable after three repetitions", func(t *testing.T) {
		runs := 0
		err := db.InTx(t.Context(), scope, raise("40001", &runs))
		if runs != 4 || !fault.Is(pg.Fault(err, nil), fault.Unavailable) {
			t.Fatal(runs, err)
		}
	})
	t.Run("repeats a lost race that fn returns as a fault", func(t *testing.T) {
		runs := 0
		lose := raise("40P01", &runs)
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			if runs == 1 {
				return nil
			}
			return pg.Fault(lose(ctx, tx), nil)
		})
		if runs != 1 || err != nil {
			t.Fatal(runs, err)
		}
	})
	for _, code := range []string{"23505", "57014", "P0001", "42501"} {
		t.Run("does not repeat SQLSTATE "+code, func(t *testing.T) {
			runs := 0
			if err := db.InTx(t.Context(), scope, raise(code, &runs)); runs != 1 || sqlState(err) != code {
				t.Fatal(runs, err)
			}
		})
	}
}

// TestLostConnections checks the last sentence of invariant 5: only work that cannot have
// had an effect is repeated after a lost connection.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	p, proxied := testkit.NewProxy(t, appURL)
	db := open(t, proxied, pg.Config{MaxConns: 3})
	company := id.New[id.Company]()
	scope := pg.For(company)
	warm := func(t *testing.T) {
		var all sync.WaitGroup
		var together sync.WaitGroup
		together.Add(3)
		for range 3 {
			all.Go(func() {
				// One company cannot use all connections at the same time.
				err := db.Read(t.Context(), pg.For(id.New[id.Company]()), pg.Query{SQL: selectThings, Scan: func(pgx.Rows) error {
					together.Done()
					together.Wait()
					return nil
				}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	for name, use := range map[string]func() error{
		"a read": func() error { return db.Read(t.Context(), scope, pg.Query{SQL: selectThings, Scan: drain}) },
		"a stream": func() error {
			return db.Stream(t.Context(), scope, selectThings, nil, func(pgx.Rows) error { return nil })
		},
		"a transaction": func() error { return db.InTx(t.Context(), scope, add(company, 1, "one")) },
		"a ping":        func() error { return db.Ping(t.Context()) },
	} {
		t.Run(name+" succeeds although all idle connections were lost", func(t *testing.T) {
			warm(t)
			p.Cut()
			if err := use(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("a transaction that loses its connection is not repeated, and fails with Unavailable", func(t *testing.T) {
		runs := 0
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			runs++
			if err := add(company, 2, "two")(ctx, tx); err != nil {
				return err
			}
			p.Cut()
			return add(company, 3, "three")(ctx, tx)
		})
		if runs != 1 || !fault.Is(pg.Fault(err, nil), fault.Unavailable) {
			t.Fatal(runs, err)
		}
	})
	t.Run("every use fails with Unavailable while the server is unavailable", func(t *testing.T) {
		p.Refuse.Store(1 << 30)
		defer p.Refuse.Store(0)
		p.Cut()
		for _, err := range []error{
			db.Ping(t.Context()),
			db.Read(t.Context(), scope, pg.Query{SQL: selectThings, Scan: drain}),
			db.InTx(t.Context(), scope, add(company, 3, "three")),
		} {
			if !fault.Is(pg.Fault(err, nil), fault.Unavailable) {
				t.Error(err)
			}
		}
	})
	t.Run("and succeeds after the server is available again", func(t *testing.T) {
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	insert := func(number int) pg.Query {
		return pg.Query{SQL: `insert into things (company_id, id, name) values ($1, $2, 'x') returning id`, Args: []any{company, number}}
	}
	count := func(into *int) pg.Query {
		return pg.Query{SQL: `select count(*) from things`, Scan: func(rows pgx.Rows) (err error) {
			*into, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
			return err
		}}
	}
	run := func(queries ...pg.Query) error {
		return db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error { return tx.Pipeline(ctx, queries...) })
	}
	t.Run("each statement sees the effects of the previous ones", func(t *testing.T) {
		var before, between, after int
		if err := run(count(&before), insert(1), count(&between), insert(2), insert(3), count(&after)); err != nil {
			t.Fatal(err)
		}
		if got := []int{before, between, after}; !slices.Equal(got, []int{0, 1, 3}) {
			t.Errorf("counted %v", got)
		}
	})
	failure := errors.New("no")
	for name, failing := range map[string]struct {
		query pg.Query
		is    func(error) bool
	}{
		"a statement that PostgreSQL refuses": {insert(1), func(err error) bool { return sqlState(err) == "23505" }},
		"a statement whose rows Scan refuses": {
			pg.Query{SQL: `select 1`, Scan: func(pgx.Rows) error { return failure }},
			func(err error) bool { return errors.Is(err, failure) },
		},
		"a statement whose rows are only partly read": {
			pg.Query{SQL: `select 1 / (3 - n) from generate_series(1, 5) n`, Scan: func(rows pgx.Rows) error {
				for rows.Next() {
				}
				return nil
			}},
			func(err error) bool { return err != nil },
		},
	} {
		t.Run(name+" fails the transaction with its error, and the connection can be used again", func(t *testing.T) {
			if err := run(insert(10), failing.query, insert(11)); !failing.is(err) {
				t.Errorf("got %v", err)
			}
			var left int
			if err := run(count(&left)); err != nil || left != 3 {
				t.Errorf("%d rows, %v", left, err)
			}
		})
	}
}
