package pg_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// migrateEnv makes this test binary a process that migrates and exits.
const migrateEnv = "PG_TEST_MIGRATE_URL"

func TestMain(m *testing.M) {
	if ownerURL := os.Getenv(migrateEnv); ownerURL != "" {
		if err := pg.Migrate(context.Background(), ownerURL, things()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.Main(m)
}

// things is a service with one tenant table. Its second migration builds an index
// concurrently, which waits for every snapshot in the database.
func things() pg.Migrations {
	return pg.Migrations{Part: "sample", AppRole: testkit.AppRole(), FS: fstest.MapFS{
		"0001_things.sql": {Data: []byte(`-- +goose Up
create table things (
	company_id uuid not null,
	id         integer not null,
	name       text not null,
	constraint things_pkey primary key (company_id, id),
	constraint things_name_check check (name <> '')
);
select tenant_table('things');
create table pairs (
	id      integer primary key,
	partner integer not null references pairs (id) deferrable initially deferred
);
create table counters (id integer primary key, n integer not null);
insert into counters values (1, 0), (2, 0);
`)},
		"0002_things_by_name.sql": {Data: []byte(`-- +goose NO TRANSACTION
-- +goose Up
create index concurrently things_name on things (company_id, name);
`)},
	}}
}

type thing struct {
	CompanyID id.Company
	ID        int32
	Name      string
}

const (
	selectThings = `select company_id, id, name from things order by id`
	insertThing  = `insert into things (company_id, id, name) values ($1, $2, $3)`
)

// open opens another pool. It has one connection unless cfg sets a number, so that every
// statement runs on the connection of the previous one.
func open(t *testing.T, appURL string, cfg pg.Config) *pg.DB {
	t.Helper()
	cfg.URL = config.Secret(appURL)
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 1
	}
	db, err := pg.Open(t.Context(), cfg, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// seed creates n things for each company, numbered from 1.
func seed(t *testing.T, db *pg.DB, n int, companies ...id.Company) {
	t.Helper()
	for _, company := range companies {
		err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `insert into things (company_id, id, name)
				select $1, i, 'thing ' || i from generate_series(1, $2::integer) i`, company, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func add(company id.Company, number int, name string) func(context.Context, *pg.Tx) error {
	return func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, insertThing, company, number, name)
		return err
	}
}

func one[T any](t *testing.T, db *pg.DB, s pg.Scope, sql string, args ...any) T {
	t.Helper()
	v, err := pg.One[T](t.Context(), db, s, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
