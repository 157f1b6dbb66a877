package pg_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// TestStatements checks that a statement has the same effects, rows and errors whether it is the
// first of its transaction, follows queued ones or comes later.
func TestStatements(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 3, company)
	select1 := pg.Query{SQL: `select 1`}
	for position, before := range map[string]func(context.Context, *pg.Tx) error{
		"the first":    func(context.Context, *pg.Tx) error { return nil },
		"after queued": func(_ context.Context, tx *pg.Tx) error { tx.Queue(select1, select1); return nil },
		"a later":      func(ctx context.Context, tx *pg.Tx) error { return tx.Pipeline(ctx, select1) },
	} {
		for name, use := range map[string]func(context.Context, *pg.Tx) error{
			"Exec reports the affected rows": func(ctx context.Context, tx *pg.Tx) error {
				tag, err := tx.Exec(ctx, `update things set name = $1`, "x")
				return want(err, tag.RowsAffected(), int64(3))
			},
			"Exec returns the error": func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, insertThing, company, 1, "twice")
				return want(nil, sqlState(err), "23505")
			},
			"Query returns all rows": func(ctx context.Context, tx *pg.Tx) error {
				rows, _ := tx.Query(ctx, `select id from things order by id`)
				ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
				return want(err, slices.Equal(ids, []int{1, 2, 3}), true)
			},
			"Query allows another statement after its last row": func(ctx context.Context, tx *pg.Tx) error {
				rows, err := tx.Query(ctx, selectThings)
				for rows.Next() {
				}
				_, next := tx.Exec(ctx, `select 1`)
				return errors.Join(err, rows.Err(), next)
			},
			"Query allows another statement after it is closed early": func(ctx context.Context, tx *pg.Tx) error {
				rows, err := tx.Query(ctx, selectThings)
				rows.Next()
				rows.Close()
				_, next := tx.Exec(ctx, `select 1`)
				return errors.Join(err, rows.Err(), next)
			},
			"Query returns an error after the first rows": func(ctx context.Context, tx *pg.Tx) error {
				rows, _ := tx.Query(ctx, `select 1/(3-g) from generate_series(1, 5) g`)
				_, err := pgx.CollectRows(rows, pgx.RowTo[int])
				return want(nil, sqlState(err), "22012")
			},
			"Query returns the error of a wrong statement": func(ctx context.Context, tx *pg.Tx) error {
				rows, _ := tx.Query(ctx, `select nothing from things`)
				_, err := pgx.CollectRows(rows, pgx.RowTo[int])
				return want(nil, sqlState(err), "42703")
			},
			"QueryRow returns the first row": func(ctx context.Context, tx *pg.Tx) error {
				var got int
				err := tx.QueryRow(ctx, `select id from things order by id`).Scan(&got)
				return want(err, got, 1)
			},
			"QueryRow returns ErrNoRows": func(ctx context.Context, tx *pg.Tx) error {
				var got int
				err := tx.QueryRow(ctx, `select id from things where id = $1`, 9).Scan(&got)
				return want(nil, errors.Is(err, pgx.ErrNoRows), true)
			},
			"QueryRow returns the error": func(ctx context.Context, tx *pg.Tx) error {
				var got int
				return want(nil, sqlState(tx.QueryRow(ctx, `select 1/(id-1) from things`).Scan(&got)), "22012")
			},
			"SendBatch calls back with its own results only": func(ctx context.Context, tx *pg.Tx) error {
				var got []int
				batch := &pgx.Batch{}
				for n := range 2 {
					batch.Queue(`select $1::integer`, n).QueryRow(func(row pgx.Row) error {
						got = append(got, 0)
						return row.Scan(&got[n])
					})
				}
				return want(tx.SendBatch(ctx, batch).Close(), slices.Equal(got, []int{0, 1}), true)
			},
			"a savepoint can be rolled back": func(ctx context.Context, tx *pg.Tx) error {
				sp, err := tx.Begin(ctx)
				if err != nil {
					return err
				}
				_, failed := sp.Exec(ctx, insertThing, company, 1, "twice")
				return want(sp.Rollback(ctx), sqlState(failed), "23505")
			},
		} {
			t.Run(position+" "+name, func(t *testing.T) {
				var got error
				_ = db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
					got = errors.Join(before(ctx, tx), use(ctx, tx))
					return errors.New("roll back")
				})
				if got != nil {
					t.Error(got)
				}
			})
		}
	}
	t.Run("after its end a transaction takes none", func(t *testing.T) {
		for _, fn := range []func(context.Context, *pg.Tx) error{
			add(company, 7, "seven"), func(context.Context, *pg.Tx) error { return nil },
		} {
			var kept *pg.Tx
			err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				kept = tx
				return fn(ctx, tx)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := add(company, 8, "eight")(t.Context(), kept); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// want returns an error unless got is what is expected.
func want[T comparable](err error, got, expected T) error {
	if err == nil && got != expected {
		return errors.New("unexpected result")
	}
	return err
}

func TestQueue(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{MaxConns: 8})
	company := id.New[id.Company]()
	scope := pg.For(company)
	insert := func(number int, name string) pg.Query {
		return pg.Query{SQL: insertThing, Args: []any{company, number, name}}
	}
	names := func(t *testing.T) []string {
		got, err := pg.Rows[string](t.Context(), db, scope, `select name from things order by id`)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	t.Run("statements run in order and are committed", func(t *testing.T) {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			tx.Queue(insert(1, "queued"))
			if err := tx.Pipeline(ctx, pg.Query{SQL: `update things set name = name || ', changed'`}.Affecting(1)); err != nil {
				return err
			}
			tx.Queue(pg.Query{SQL: `update things set name = name || ', again'`}, insert(2, "last"))
			return nil
		})
		if got := names(t); err != nil || !slices.Equal(got, []string{"queued, changed, again", "last"}) {
			t.Fatal(got, err)
		}
	})
	before := names(t)
	for name, c := range map[string]struct {
		fn    func(ctx context.Context, tx *pg.Tx) error
		state string
	}{
		"a queued statement that PostgreSQL refuses": {func(_ context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"), insert(1, "twice"), insert(4, "four"))
			return nil
		}, "23505"},
		"a queued statement that PostgreSQL cannot plan": {func(ctx context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"))
			if err := tx.Pipeline(ctx); err != nil {
				return err
			}
			tx.Queue(pg.Query{SQL: `select nothing from things`})
			return nil
		}, "42703"},
		"a queued statement that affects another number of rows": {func(_ context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"), pg.Query{SQL: `update things set name = 'x' where id = $1`, Args: []any{9}}.Affecting(1))
			return nil
		}, "22P02"},
		"a queued statement before another one": {func(ctx context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"), insert(1, "twice"))
			_, err := tx.Exec(ctx, `select 1`)
			return err
		}, "23505"},
		"a constraint that is checked by the commit": {func(_ context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"), pg.Query{SQL: `insert into pairs values (1, 2)`})
			return nil
		}, "23503"},
	} {
		t.Run(name+" fails the transaction with its error", func(t *testing.T) {
			runs := 0
			err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				runs++
				tx.AfterCommit(func() { t.Error("a hook ran") })
				return c.fn(ctx, tx)
			})
			if sqlState(err) != c.state || errors.Is(err, pg.ErrUncertain) || runs != 1 {
				t.Errorf("%d runs, %v", runs, err)
			}
			if got := names(t); !slices.Equal(got, before) {
				t.Errorf("stored %q", got)
			}
		})
	}
	t.Run("a value that cannot be encoded fails the transaction, and its outcome is certain", func(t *testing.T) {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			tx.Queue(insert(3, "three"))
			if err := tx.Pipeline(ctx); err != nil {
				return err
			}
			tx.Queue(pg.Query{SQL: insertThing, Args: []any{company, "four", "four"}})
			return nil
		})
		if err == nil || errors.Is(err, pg.ErrUncertain) {
			t.Errorf("got %v", err)
		}
		if got := names(t); !slices.Equal(got, before) {
			t.Errorf("stored %q", got)
		}
	})
	t.Run("a first value that cannot be encoded is not tried again", func(t *testing.T) {
		runs := 0
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
			runs++
			_, err := tx.Exec(ctx, insertThing, company, "four", "four")
			return err
		})
		if err == nil || runs != 1 {
			t.Errorf("%d runs, %v", runs, err)
		}
	})
	t.Run("statements are dropped if the caller cancels before the commit", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.InTx(ctx, scope, func(_ context.Context, tx *pg.Tx) error {
			defer cancel()
			tx.Queue(insert(5, "five"))
			return nil
		})
		if got := names(t); !errors.Is(err, context.Canceled) || !slices.Equal(got, before) {
			t.Fatal(got, err)
		}
	})
	t.Run("a caller that cancels during the commit does not interrupt it", func(t *testing.T) {
		var err error
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		holds := db.InTx(t.Context(), scope, func(hold context.Context, tx *pg.Tx) error {
			if err := tx.Pipeline(hold, pg.Query{SQL: `update counters set n = 1 where id = 2`}); err != nil {
				return err
			}
			go func() {
				defer close(done)
				err = db.InTx(ctx, scope, func(ctx context.Context, tx *pg.Tx) error {
					if err := tx.Pipeline(ctx, pg.Query{SQL: `select 1`}); err != nil {
						return err
					}
					tx.Queue(pg.Query{SQL: `update counters set n = n + 1 where id = 2`}.Affecting(1))
					return nil
				})
			}()
			testkit.Eventually(t, patience, func() error {
				// Another transaction each time, because one sees only the sessions of its first look.
				waits, err := pg.One[bool](t.Context(), db, pg.AllCompanies(), `select exists(select from pg_locks where not granted
					and pid in (select pid from pg_stat_activity where datname = current_database()))`)
				if err != nil || !waits {
					return errors.Join(err, errors.New("nobody waits for the row"))
				}
				return nil
			})
			cancel()
			return nil
		})
		<-done
		if n := one[int32](t, db, scope, `select n from counters where id = 2`); holds != nil || err != nil || n != 2 {
			t.Fatal(n, holds, err)
		}
	})
	t.Run("a Scan is a programming error", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it was accepted")
			}
		}()
		_ = db.InTx(t.Context(), scope, func(_ context.Context, tx *pg.Tx) error {
			tx.Queue(pg.Query{SQL: `select 1`, Scan: drain})
			return nil
		})
	})
}
