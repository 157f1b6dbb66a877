package pg_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// with returns the migrations of things with another one added.
func with(name, sql string) pg.Migrations {
	m := things()
	files := maps.Clone(m.FS.(fstest.MapFS))
	files[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)}
	m.FS = files
	return m
}

// TestMigrationRace checks invariant 6.
func TestMigrationRace(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.EmptyDB(t)
	const racers = 3
	var all sync.WaitGroup
	for range racers {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), migrateEnv+"="+ownerURL)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	db := open(t, appURL, pg.Config{})
	if n := one[int64](t, db, pg.Scope{}, `select count(*) from sample_schema where version_id > 0`); n != 2 {
		t.Fatalf("%d migrations were applied", n)
	}
	if n := one[int64](t, db, pg.Scope{}, `select count(*) from counters`); n != 2 {
		t.Fatalf("the first migration left %d rows", n)
	}
	if err := pg.CheckSchema(t.Context(), db, things()); err != nil {
		t.Fatal(err)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	t.Run("a second run applies only new migrations", func(t *testing.T) {
		ownerURL, appURL := testkit.DBURLs(t, things())
		if err := pg.Migrate(t.Context(), ownerURL, things()); err != nil {
			t.Fatal(err)
		}
		more := with("0003_more.sql", `create table more (id integer primary key);`)
		if err := pg.Migrate(t.Context(), ownerURL, more); err != nil {
			t.Fatal(err)
		}
		db := open(t, appURL, pg.Config{})
		if n := one[int64](t, db, pg.Scope{}, `select count(*) from more`); n != 0 {
			t.Fatal(n)
		}
	})
	t.Run("a migration that fails changes nothing", func(t *testing.T) {
		ownerURL, appURL := testkit.DBURLs(t, things())
		broken := with("0003_broken.sql", `create table half (id integer); select 1/0;`)
		if err := pg.Migrate(t.Context(), ownerURL, broken); sqlState(err) != "22012" {
			t.Fatal(err)
		}
		db := open(t, appURL, pg.Config{})
		if !one[bool](t, db, pg.Scope{}, `select to_regclass('half') is null`) {
			t.Fatal("a part of the migration was not rolled back")
		}
		if err := pg.CheckSchema(t.Context(), db, broken); !errors.Is(err, pg.ErrSchemaBehind) {
			t.Fatal(err)
		}
	})
	t.Run("a migration yields to a long transaction and succeeds afterwards", func(t *testing.T) {
		ownerURL, appURL := testkit.DBURLs(t, things())
		db := open(t, appURL, pg.Config{MaxConns: 2})
		u, err := url.Parse(ownerURL)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = "lock_timeout=300"
		done := make(chan error, 1)
		err = db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `select from things`); err != nil {
				return err
			}
			go func() {
				done <- pg.Migrate(t.Context(), u.String(), with("0003_column.sql", `alter table things add column extra text;`))
			}()
			waiting := func(want int) {
				testkit.Eventually(t, patience, func() error {
					var n int
					err := tx.QueryRow(ctx, `select count(*) from pg_locks where relation = 'things'::regclass and not granted`).Scan(&n)
					if err == nil && n != want {
						err = fmt.Errorf("%d migrations wait for the table, want %d", n, want)
					}
					return err
				})
			}
			waiting(1)
			waiting(0)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("grants the rights to a role with quotes in its name", func(t *testing.T) {
		// Cleanups run in reverse order. The role can be dropped only after the database
		// with its grants was dropped.
		dropRole := func() {}
		t.Cleanup(func() { dropRole() })
		ownerURL, appURL := testkit.EmptyDB(t)
		admin, err := pgx.Connect(t.Context(), testkit.AdminURL(t))
		if err != nil {
			t.Fatal(err)
		}
		role := `odd "role" $$ 'of ` + id.NewUUID().String()
		quoted := pgx.Identifier{role}.Sanitize()
		if _, err := admin.Exec(t.Context(), `create role `+quoted+` login password 'odd'`); err != nil {
			t.Fatal(err)
		}
		dropRole = func() {
			if _, err := admin.Exec(context.Background(), `drop role `+quoted); err != nil {
				t.Error(err)
			}
			admin.Close(context.Background())
		}
		m := things()
		m.AppRole = role
		err = pg.Migrate(t.Context(), ownerURL, m)
		u, _ := url.Parse(appURL)
		u.User = url.UserPassword(role, "odd")
		if err == nil {
			db := open(t, u.String(), pg.Config{})
			seed(t, db, 1, id.New[id.Company]())
			err = pg.CheckSchema(t.Context(), db, m)
			db.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("refuses a service's name that is not a plain identifier", func(t *testing.T) {
		for _, part := range []string{"", "Platform", "platform", "a-b", `x"; drop table outbox; --`, "1st"} {
			if err := pg.Migrate(t.Context(), "postgres://127.0.0.1:1/x", pg.Migrations{Part: part}); err == nil || !strings.Contains(err.Error(), "name of a service") {
				t.Errorf("%q: %v", part, err)
			}
		}
	})
}

// TestCheckSchema checks invariant 7 and the second half of invariant 3.
func TestCheckSchema(t *testing.T) {
	t.Parallel()
	newer := with("0003_more.sql", `create table more (id integer primary key);`)
	t.Run("refuses a database that is behind the binary", func(t *testing.T) {
		err := pg.CheckSchema(t.Context(), testkit.DB(t, things()), newer)
		if !errors.Is(err, pg.ErrSchemaBehind) {
			t.Fatal(err)
		}
	})
	t.Run("accepts a database that is ahead of the binary", func(t *testing.T) {
		if err := pg.CheckSchema(t.Context(), testkit.DB(t, newer), things()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("refuses a database without a schema", func(t *testing.T) {
		_, appURL := testkit.EmptyDB(t)
		err := pg.CheckSchema(t.Context(), open(t, appURL, pg.Config{}), things())
		if !errors.Is(err, pg.ErrSchemaBehind) {
			t.Fatal(err)
		}
	})
	t.Run("refuses the owner of the tables and a superuser", func(t *testing.T) {
		ownerURL, _ := testkit.DBURLs(t, things())
		super, _ := url.Parse(testkit.AdminURL(t))
		owner, _ := url.Parse(ownerURL)
		super.Path = owner.Path
		for _, raw := range []string{ownerURL, super.String()} {
			if err := pg.CheckSchema(t.Context(), open(t, raw, pg.Config{}), things()); !errors.Is(err, pg.ErrRoleUnsafe) {
				t.Error(err)
			}
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	t.Run("waits for a server that is starting", func(t *testing.T) {
		p, proxied := testkit.NewProxy(t, appURL)
		p.Refuse.Store(2)
		open(t, proxied, pg.Config{})
		if n := p.Accepted.Load(); n < 3 {
			t.Fatalf("%d connections were made", n)
		}
	})
	t.Run("returns an error after StartTimeout", func(t *testing.T) {
		p, proxied := testkit.NewProxy(t, appURL)
		p.Refuse.Store(1 << 30)
		_, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(proxied), StartTimeout: 2 * time.Second}, testkit.Log(t))
		if err == nil || !strings.Contains(err.Error(), "did not answer within 2s") {
			t.Fatal(err)
		}
		if p.Accepted.Load() < 2 {
			t.Fatal("it tried once")
		}
	})
	t.Run("stops waiting when its context ends", func(t *testing.T) {
		p, proxied := testkit.NewProxy(t, appURL)
		p.Refuse.Store(1 << 30)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := pg.Open(ctx, pg.Config{URL: config.Secret(proxied)}, testkit.Log(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
	t.Run("refuses an invalid URL immediately, without its password", func(t *testing.T) {
		_, err := pg.Open(t.Context(), pg.Config{URL: "postgres://u:hunter2@host:notaport/x"}, testkit.Log(t))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Fatal(err)
		}
	})
	t.Run("settings have defaults and are validated together", func(t *testing.T) {
		var good pg.Config
		if err := config.Read(config.Env{"DATABASE_URL": appURL}, &good); err != nil || good.MaxConns != 8 {
			t.Fatal(good, err)
		}
		var bad pg.Config
		err := config.Read(config.Env{"DATABASE_MAX_CONNS": "0", "DATABASE_STATEMENT_TIMEOUT": "0s", "DATABASE_START_TIMEOUT": "-1s"}, &bad)
		for _, name := range []string{"DATABASE_URL", "DATABASE_MAX_CONNS", "DATABASE_STATEMENT_TIMEOUT", "DATABASE_START_TIMEOUT"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
		}
	})
}
