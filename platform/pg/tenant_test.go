package pg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// TestConnectionsCarryNoCompany checks invariant 1: after any use of the only connection,
// the next user, which has no scope, sees no company's rows.
func TestConnectionsCarryNoCompany(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 3, company)
	failure := errors.New("no")
	scope := pg.For(company)
	begin := func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `select 1`)
		return err
	}

	for name, use := range map[string]func(t *testing.T){
		"a read": func(t *testing.T) {
			if got, err := pg.Rows[thing](t.Context(), db, scope, selectThings); err != nil || len(got) != 3 {
				t.Fatal(got, err)
			}
		},
		"a read for all companies": func(t *testing.T) {
			if got, err := pg.Rows[thing](t.Context(), db, pg.AllCompanies(), selectThings); err != nil || len(got) != 3 {
				t.Fatal(got, err)
			}
		},
		"a read that the server refuses to plan": func(t *testing.T) {
			wantError(t, db.Read(t.Context(), scope, pg.Query{SQL: `select nothing from things`, Scan: drain}))
		},
		"a read that fails while it runs": func(t *testing.T) {
			wantError(t, db.Read(t.Context(), scope, pg.Query{SQL: `select 1/(id-2) from things order by id`, Scan: drain}))
		},
		"a read whose rows cannot be scanned": func(t *testing.T) {
			_, err := pg.Rows[int](t.Context(), db, scope, `select name from things`)
			wantError(t, err)
		},
		"a read whose caller cancelled": func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := db.Read(ctx, scope, pg.Query{SQL: `select pg_sleep(10) from things`, Scan: drain})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		},
		"a stream that its reader ended early": func(t *testing.T) {
			err := db.Stream(t.Context(), scope, `select generate_series(1, 100000) from things`, nil,
				func(pgx.Rows) error { return failure })
			if !errors.Is(err, failure) {
				t.Fatal(err)
			}
		},
		"a transaction": func(t *testing.T) {
			if err := db.InTx(t.Context(), scope, begin); err != nil {
				t.Fatal(err)
			}
		},
		"a transaction that queued its statements": func(t *testing.T) {
			err := db.InTx(t.Context(), scope, func(_ context.Context, tx *pg.Tx) error {
				tx.Queue(pg.Query{SQL: `update things set name = 'x'`}.Affecting(3))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		"a transaction whose queued statement failed": func(t *testing.T) {
			wantError(t, db.InTx(t.Context(), scope, func(_ context.Context, tx *pg.Tx) error {
				tx.Queue(pg.Query{SQL: `update things set name = ''`})
				return nil
			}))
		},
		"a transaction whose first statement the server refused to plan": func(t *testing.T) {
			wantError(t, db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, `select nothing from things`)
				return err
			}))
		},
		"a transaction that left its first rows open": func(t *testing.T) {
			wantError(t, db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				rows, err := tx.Query(ctx, selectThings)
				rows.Next()
				return err
			}))
		},
		"a transaction that failed": func(t *testing.T) {
			err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				return errors.Join(begin(ctx, tx), failure)
			})
			if !errors.Is(err, failure) {
				t.Fatal(err)
			}
		},
		"a transaction that the server aborted": func(t *testing.T) {
			wantError(t, db.InTx(t.Context(), scope, add(company, 1, "twice")))
		},
		"a transaction that hid its failure": func(t *testing.T) {
			wantError(t, db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				_ = add(company, 1, "twice")(ctx, tx)
				return nil
			}))
		},
		"a transaction that panicked": func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("the panic was swallowed")
				}
			}()
			_ = db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error { panic(begin(ctx, tx)) })
		},
		"a transaction that panicked while it read its first rows": func(t *testing.T) {
			defer func() { _ = recover() }()
			_ = db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				rows, _ := tx.Query(ctx, selectThings)
				rows.Next()
				panic("oh")
			})
		},
		"a transaction whose caller cancelled": func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			err := db.InTx(ctx, scope, func(ctx context.Context, tx *pg.Tx) error {
				defer cancel()
				return begin(ctx, tx)
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		},
		"a transaction that rolled back to a savepoint": func(t *testing.T) {
			err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
				sp, err := tx.Begin(ctx)
				if err != nil {
					return err
				}
				return sp.Rollback(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run("after "+name, func(t *testing.T) {
			use(t)
			got, err := db.Pool().Query(t.Context(),
				`select coalesce(current_setting('app.company_id', true), '') || current_setting('transaction_read_only')
					|| current_setting('statement_timeout') || (select count(*) from things)`)
			if err != nil {
				t.Fatal(err)
			}
			state, err := pgx.CollectExactlyOneRow(got, pgx.RowTo[string])
			if err != nil || state != "off15s0" {
				t.Fatalf("the next user finds company, mode, timeout and rows %q, %v", state, err)
			}
			if n := one[int64](t, db, pg.Scope{}, `select count(*) from things`); n != 0 {
				t.Fatalf("the next user sees %d rows", n)
			}
		})
	}
}

// TestConcurrentCompaniesSeeTheirOwnRows checks invariant 1 under load: many callers of many
// companies share few connections.
func TestConcurrentCompaniesSeeTheirOwnRows(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{MaxConns: 4})
	companies := make([]id.Company, 16)
	for i := range companies {
		companies[i] = id.New[id.Company]()
	}
	seed(t, db, 5, companies...)
	failure := errors.New("no")
	var callers sync.WaitGroup
	for n := range 32 {
		callers.Go(func() {
			for round := range 50 {
				company := companies[(n+round)%len(companies)]
				var got []thing
				var err error
				switch round % 4 {
				case 0, 1:
					got, err = pg.Rows[thing](t.Context(), db, pg.For(company), selectThings)
				case 2:
					err = db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
						rows, err := tx.Query(ctx, selectThings)
						if err != nil {
							return err
						}
						got, err = pgx.CollectRows(rows, pgx.RowToStructByName[thing])
						return err
					})
				default:
					_ = db.InTx(t.Context(), pg.For(company), func(context.Context, *pg.Tx) error { return failure })
					continue
				}
				if err != nil || len(got) != 5 {
					t.Errorf("%d rows, %v", len(got), err)
					return
				}
				for _, g := range got {
					if g.CompanyID != company {
						t.Errorf("%s sees a row of %s", company, g.CompanyID)
						return
					}
				}
			}
		})
	}
	callers.Wait()
}

// TestScope checks invariant 2.
func TestScope(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	ours, theirs := id.New[id.Company](), id.New[id.Company]()
	seed(t, db, 2, ours, theirs)
	inTx := func(s pg.Scope, sql string, args ...any) (n int64, err error) {
		err = db.InTx(t.Context(), s, func(ctx context.Context, tx *pg.Tx) error {
			tag, err := tx.Exec(ctx, sql, args...)
			n = tag.RowsAffected()
			return err
		})
		return n, err
	}

	t.Run("a query without a where clause sees one company's rows", func(t *testing.T) {
		got, err := pg.Rows[thing](t.Context(), db, pg.For(ours), selectThings)
		if err != nil || len(got) != 2 {
			t.Fatal(got, err)
		}
		for _, g := range got {
			if g.CompanyID != ours {
				t.Fatalf("sees %v", g)
			}
		}
	})
	t.Run("a query for another company sees nothing", func(t *testing.T) {
		if n := one[int64](t, db, pg.For(ours), `select count(*) from things where company_id = $1`, theirs); n != 0 {
			t.Fatalf("sees %d rows", n)
		}
	})
	t.Run("an update and a delete without a where clause change only one company's rows", func(t *testing.T) {
		if n, err := inTx(pg.For(ours), `update things set name = 'changed'`); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		if n := one[int64](t, db, pg.For(theirs), `select count(*) from things where name = 'changed'`); n != 0 {
			t.Fatalf("%d rows of another company were changed", n)
		}
		if n, err := inTx(pg.For(ours), `delete from things where id = 2`); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	})
	t.Run("a row cannot be written or moved into another company", func(t *testing.T) {
		for _, sql := range []string{
			`insert into things (company_id, id, name) values ($1, 9, 'foreign')`,
			`update things set company_id = $1, id = 9`,
		} {
			if _, err := inTx(pg.For(ours), sql, theirs); sqlState(err) != "42501" {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
	t.Run("a scope without a company sees and writes nothing", func(t *testing.T) {
		for _, s := range []pg.Scope{{}, pg.For(id.Company{})} {
			if n := one[int64](t, db, s, `select count(*) from things`); n != 0 {
				t.Errorf("sees %d rows", n)
			}
			if n, err := inTx(s, `delete from things`); n != 0 || err != nil {
				t.Error(n, err)
			}
			if _, err := inTx(s, insertThing, ours, 10, "orphan"); sqlState(err) != "42501" {
				t.Error(err)
			}
		}
	})
	t.Run("jobs see and write every company's rows", func(t *testing.T) {
		if n := one[int64](t, db, pg.AllCompanies(), `select count(distinct company_id) from things`); n != 2 {
			t.Errorf("sees %d companies", n)
		}
		if _, err := inTx(pg.AllCompanies(), insertThing, theirs, 10, "by a job"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a company sees only its own responses of idempotency keys", func(t *testing.T) {
		_, err := inTx(pg.For(ours), `insert into idempotency_keys (company_id, caller, key, request_hash, response, expires_at)
			values ($1, 'm2m', 'k', '', '', now())`, ours)
		if err != nil {
			t.Fatal(err)
		}
		if n := one[int64](t, db, pg.For(theirs), `select count(*) from idempotency_keys`); n != 0 {
			t.Fatalf("another company sees %d of them", n)
		}
	})
}

// TestApplicationRoleCannotChangeTheSchema checks invariant 3.
func TestApplicationRoleCannotChangeTheSchema(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 2, company)
	for _, sql := range []string{
		`alter table things disable row level security`,
		`alter table things add column extra text`,
		`alter table things owner to current_user`,
		`drop policy tenant on things`,
		`create policy mine on things using (true)`,
		`alter policy tenant on things using (true)`,
		`drop table things`,
		`truncate things`,
		`create table mine (id integer)`,
		`create function app_company() returns uuid language sql return null::uuid`,
		`create or replace function app_all_companies() returns boolean language sql return true`,
		`create trigger t before insert on things execute function suppress_redundant_updates_trigger()`,
		`select tenant_table('things')`,
		`set role ` + "testkit_owner",
		`alter role current_user bypassrls`,
		`alter role current_user superuser`,
		`update sample_schema set version_id = 99`,
		`delete from platform_schema`,
	} {
		t.Run(sql, func(t *testing.T) {
			err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql)
				return err
			})
			if sqlState(err) != "42501" {
				t.Fatalf("got %v, want a refusal for lack of privilege", err)
			}
		})
	}
	t.Run("set row_security = off makes the query fail and shows no rows", func(t *testing.T) {
		err := db.InTx(t.Context(), pg.Scope{}, func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `set local row_security = off`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, selectThings)
			return err
		})
		if sqlState(err) != "42501" {
			t.Fatalf("got %v", err)
		}
	})
}

// TestPolicyIsEvaluatedOncePerQuery also checks that queries still use the indexes.
func TestPolicyIsEvaluatedOncePerQuery(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	db := open(t, appURL, pg.Config{})
	company := id.New[id.Company]()
	seed(t, db, 2000, company, id.New[id.Company](), id.New[id.Company]())
	plan := func(sql string, args ...any) string {
		var lines []string
		err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			rows, err := tx.Query(ctx, `explain (analyze, costs off, timing off, summary off) `+sql, args...)
			if err != nil {
				return err
			}
			lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	t.Run("a whole table", func(t *testing.T) {
		got := plan(`select name from things`)
		if !strings.Contains(got, "InitPlan") || strings.Contains(got, "SubPlan") ||
			strings.Contains(got, "current_setting") || strings.Contains(got, "app_") {
			t.Fatal(got)
		}
		for line := range strings.Lines(got) {
			if strings.Contains(line, "Result") && !strings.Contains(line, "loops=1)") && !strings.Contains(line, "never executed") {
				t.Fatal(got)
			}
		}
	})
	for name, where := range map[string]string{
		"one row by its key":          `id = 7`,
		"several rows by their keys":  `id = any('{1,2,3}')`,
		"a page after the last row":   `(id, name) > (1990, '')`,
		"an index beside the primary": `name = 'thing 7'`,
	} {
		t.Run("uses an index for "+name, func(t *testing.T) {
			got := plan(fmt.Sprintf(`select name from things where company_id = '%s' and %s`, pgUUID(company), where))
			if !strings.Contains(got, "Index Cond") || strings.Contains(got, "Seq Scan") {
				t.Fatal(got)
			}
		})
	}
}

func pgUUID(c id.Company) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", c[0:4], c[4:6], c[6:8], c[8:10], c[10:16])
}

func drain(rows pgx.Rows) error {
	for rows.Next() {
	}
	return rows.Err()
}

func wantError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
}

func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}
