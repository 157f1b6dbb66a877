package move

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// schema is that of every database of the tests: a company, a table of it, and the tables that the command reads. The
// test of package cells has the real ones.
func schema() pg.Migrations {
	return pg.Migrations{Part: "auth", AppRole: "app", FS: fstest.MapFS{"0001_companies.sql": {Data: []byte(`-- +goose Up
create table companies (company_id uuid primary key);
select tenant_table('companies');
create table things (company_id uuid not null, id bigint not null, name text not null, primary key (company_id, id));
select tenant_table('things');
create table credentials (company_id uuid not null, id uuid not null, kind text, generation bigint, revoked_at timestamptz, primary key (company_id, id));
select tenant_table('credentials');
create table publishable_keys (company_id uuid not null, id uuid not null, generation bigint, revoked_at timestamptz, primary key (company_id, id));
select tenant_table('publishable_keys');
create table administrators (company_id uuid not null, id uuid not null, generation bigint, revoked_at timestamptz, totp_secret bytea,
	primary key (company_id, id));
select tenant_table('administrators');
create table endpoint_secrets (company_id uuid not null, id uuid not null, sealed bytea, primary key (company_id, id));
select tenant_table('endpoint_secrets');
create sequence numbers;
`)}}}
}

// city is a cell with a PostgreSQL server.
type city struct {
	*Cell
	opts   pgserver.Options
	server *pgserver.Server
}

// newCity starts a cell.
func newCity(t *testing.T, name string) *city {
	t.Helper()
	dir, err := os.MkdirTemp("", "reservation-move-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another account if root runs the test
		t.Fatal(err)
	}
	server, err := net.ResolveTCPAddr("tcp", testkit.FreeAddr(t)) // the same again when it starts again
	if err != nil {
		t.Fatal(err)
	}
	c := &city{opts: pgserver.Options{Dir: dir, Port: server.Port, Durable: pgserver.Fast, Logical: true, MaxConnections: 100}}
	c.start(t)
	t.Cleanup(func() { c.stop(t) })
	bus := testkit.BusConfig(t)
	testkit.Bus(t)
	c.Cell = &Cell{
		Name: name, Databases: map[string]string{}, NATS: NATS{URL: bus.URL, Prefix: bus.Prefix},
		Bucket: "file://" + filepath.ToSlash(t.TempDir()) + "?metadata=skip&no_tmp_dir=true",
	}
	c.reloads(t, `wal_retrieve_retry_interval = '100ms'`) // workers begin at once
	c.createDatabases(t)
	return c
}

func (c *city) start(t *testing.T) {
	t.Helper()
	var err error
	if c.server, err = pgserver.Start(t.Context(), c.opts); err != nil {
		t.Fatal(err)
	}
}

func (c *city) stop(t *testing.T) {
	t.Helper()
	if c.server == nil {
		return
	}
	if err := c.server.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	c.server = nil
}

func (c *city) createDatabases(t *testing.T) {
	t.Helper()
	admin := c.server.AdminURL()
	owner, _, err := pg.EnsureDatabase(t.Context(), admin, "template", "owner", "app", func(string) string { return "secret" })
	if err == nil {
		err = pg.Migrate(t.Context(), owner, schema())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range Services() {
		exec(t, admin, `create database `+service+` template template`)
		c.Databases[service] = strings.Replace(admin, "/postgres?", "/"+service+"?", 1)
		if service != authService {
			exec(t, c.Databases[service], fmt.Sprintf(`alter table auth_schema rename to %s_schema`, service))
		}
	}
}

func exec(t *testing.T, address, sql string, args ...any) {
	t.Helper()
	if err := tryExec(t.Context(), address, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func tryExec(ctx context.Context, address, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

// count returns a number that a statement counts in every database of a cell, in total.
func (c *city) count(t *testing.T, sql string, args ...any) (all int64) {
	t.Helper()
	for _, service := range Services() {
		conn, err := pgx.Connect(t.Context(), c.Databases[service])
		if err != nil {
			t.Fatal(err)
		}
		n, err := one[int64](t.Context(), conn, sql, args...)
		_ = conn.Close(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		all += n
	}
	return all
}

// marks counts the marks of a company and of its test company, and things its rows.
func (c *city) marks(t *testing.T, company id.Company) int64 {
	t.Helper()
	return c.count(t, `select count(*) from company_moves where company = any ($1)`, keys([]id.Company{company, company.Test()}))
}

func (c *city) things(t *testing.T, company id.Company) int64 {
	t.Helper()
	return c.count(t, `select count(*) from things where company_id = $1`, key(company))
}

func key(company id.Company) uuid.UUID { return uuid.UUID(company) }

// copies counts publications, slots and subscriptions.
func (c *city) copies(t *testing.T) int64 {
	t.Helper()
	return c.count(t, `select (select count(*) from pg_publication) + (select count(*) from pg_replication_slots where database = current_database())
		+ (select count(*) from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname = current_database())`)
}

// reloads changes a setting of the server.
func (c *city) reloads(t *testing.T, setting string) {
	t.Helper()
	exec(t, c.server.AdminURL(), `alter system set `+setting)
	exec(t, c.server.AdminURL(), `select pg_reload_conf()`)
}

// losesStandby returns when commits of the server wait for a standby that does not exist.
func (c *city) losesStandby(t *testing.T) {
	t.Helper()
	c.reloads(t, `synchronous_standby_names = 'nobody'`)
	conn, err := pgx.Connect(t.Context(), c.server.AdminURL()+"&application_name=probe")
	if err == nil {
		_, err = conn.Exec(t.Context(), `set synchronous_commit = on`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for err == nil {
			_, err = conn.Exec(ctx, barrierSQL)
		}
	}()
	waiting := c.awaitWaiting(ctx, "probe", 1)
	cancel()
	<-ended
	if waiting != nil {
		t.Fatal(waiting)
	}
}

// awaitWaiting returns when commits of n connections of an application wait for a standby of the server, or ctx has ended.
func (c *city) awaitWaiting(ctx context.Context, application string, n int) error {
	conn, err := pgx.Connect(ctx, c.server.AdminURL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		waiting, err := one[int64](ctx, conn, `select count(*) from pg_stat_activity where application_name = $1 and wait_event = 'SyncRep'`, application)
		if err != nil || waiting >= int64(n) {
			return err
		}
		if err := pause(ctx, freezePoll); err != nil {
			return err
		}
	}
}

const thingsOfCompany = 3

// newCompany creates a company with rows in every database.
func (c *city) newCompany(t *testing.T) id.Company {
	t.Helper()
	company := id.New[id.Company]()
	for _, service := range Services() {
		exec(t, c.Databases[service], `insert into companies values ($1)`, key(company))
		exec(t, c.Databases[service], `insert into things select $1, i, 'thing ' || i from generate_series(1, $2::integer) i`, key(company), thingsOfCompany)
	}
	return company
}

// hook calls a function when the copy is complete and the freeze begins.
type hook func()

func (h hook) Moving(context.Context, id.Company, string, string) error {
	if h != nil {
		h()
	}
	return nil
}

func (hook) Moved(context.Context, id.Company, string) error { return nil }

// opened calls a function when the company is open in a cell.
type opened func()

func (opened) Moving(context.Context, id.Company, string, string) error { return nil }

func (o opened) Moved(context.Context, id.Company, string) error {
	o()
	return nil
}

func newMover(from, to *city, company id.Company, atFreeze hook) *Mover {
	return &Mover{
		From: from.Cell, To: to.Cell, Company: company, Freeze: 2 * time.Minute, Directory: atFreeze, Progress: io.Discard,
		Verify: func(context.Context, *Cell, id.Company) error { return nil },
		Keys:   func(context.Context, *Cell) ([][]byte, error) { return [][]byte{[]byte("key1")}, nil },
	}
}
