package volume

import (
	"context"
	"embed"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// customers is the number of customers. fill/booking.sql makes 1,020,000 bookings for them.
const customers = 100_000

//go:embed fill/*.sql
var fillFiles embed.FS

// world is the platform with the demonstration company, which has many customers and bookings.
type world struct {
	*harness.Standalone
	postgres *harness.Postgres
	company  id.Company
	// statements is a connection to the statistics of the statements of all databases.
	statements *pgx.Conn
	bookings   *pgx.Conn
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{postgres: harness.StartPostgres(t, filepath.Join(harness.TempDir(t), "postgres"), pgserver.Fast)}
	w.countStatements(t)
	w.Standalone = harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{
		"DEMO": "on", "DATABASE_URL": w.postgres.AdminURL(), "WEBHOOK_PRIVATE_ADDRESSES": "allow",
	}})
	var err error
	if w.company, err = id.Parse[id.Company](w.Credentials.CompanyID); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"customer", "pass", "booking"} {
		w.bookings = w.fill(t, service)
	}
	return w
}

// countStatements makes PostgreSQL keep statistics of statements, and little of its log. It must start again for
// that.
func (w *world) countStatements(t *testing.T) {
	t.Helper()
	db := w.connect(t, "postgres")
	for _, sql := range []string{`alter system set shared_preload_libraries = 'pg_stat_statements'`, `alter system set max_wal_size = '128MB'`} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	w.postgres.Stop(t)
	w.postgres.Start(t)
	w.statements = w.connect(t, "postgres")
	if _, err := w.statements.Exec(t.Context(), `create extension pg_stat_statements`); err != nil {
		t.Fatal(err)
	}
}

func (w *world) connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	server, err := url.Parse(w.postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	server.Path = "/" + database
	db, err := pgx.Connect(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}

// fill fills the database of a service, and returns a connection to it.
func (w *world) fill(t *testing.T, service string) *pgx.Conn {
	t.Helper()
	db := w.connect(t, "reservation_"+service)
	run := func(sql string) {
		if _, err := db.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", service, err)
		}
	}
	if _, err := db.Exec(t.Context(), `select set_config('volume.company', $1::uuid::text, false), set_config('volume.customers', $2::bigint::text, false)`,
		w.company, customers); err != nil {
		t.Fatal(err)
	}
	text := "begin;\n"
	for _, name := range []string{"common", service} {
		file, err := fillFiles.ReadFile("fill/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		text += string(file)
	}
	run(text + "commit;")
	run("vacuum analyze")
	return db
}
