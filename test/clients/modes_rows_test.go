package clients

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

const (
	databasesSQL = `select datname from pg_database where not datistemplate and datname like 'reservation\_%' order by 1`

	// tenantTablesSQL lists the tables with rows of companies, from the catalogue.
	tenantTablesSQL = `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`

	// rowsSQL returns the number of rows that a company has in a table, with a digest of all of them.
	rowsSQL = `select count(*) || ' rows ' || coalesce(md5(string_agg(x::text, chr(10) order by x::text)), '') from %s x where company_id = $1`
)

// database is a connection to the database of a service.
type database struct {
	*pgx.Conn
	name   string
	tables []string
}

// databases connects to the databases of all services.
func databases(t *testing.T, postgres *harness.Postgres) []database {
	t.Helper()
	connect := func(name string) *pgx.Conn {
		cfg, err := pgx.ParseConfig(postgres.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			cfg.Database = name
		}
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		return conn
	}
	var all []database
	for _, name := range column(t, connect(""), databasesSQL) {
		d := database{Conn: connect(name), name: name}
		d.tables = column(t, d.Conn, tenantTablesSQL)
		all = append(all, d)
	}
	return all
}

// column returns the only column of a query.
func column(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}

// rows returns the rows of a company in every table of every database, as their number and a digest.
func (w *modeWorld) rows(t *testing.T, company *harness.Company) map[string]string {
	t.Helper()
	named, err := id.Parse[id.Company](company.ID)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range w.databases {
		for _, table := range d.tables {
			all[d.name+"."+table] = column(t, d.Conn, fmt.Sprintf(rowsSQL, pgx.Identifier{table}.Sanitize()), named)[0]
		}
	}
	return all
}

// settled returns the rows of a company after the services have handled its events and attempted its
// deliveries, when they no longer change.
func (w *modeWorld) settled(t *testing.T, company *harness.Company) map[string]string {
	t.Helper()
	const unchanged = 20 // times
	rows, same := w.rows(t, company), 0
	harness.Eventually(t, 2*time.Minute, func() error {
		next := w.rows(t, company)
		if same++; !maps.Equal(rows, next) {
			same = 0
		}
		rows = next
		for table, sum := range rows {
			if strings.HasSuffix(table, ".outbox_events") && !strings.HasPrefix(sum, "0 rows") {
				return fmt.Errorf("%s has %s", table, sum)
			}
		}
		if same < unchanged {
			return errors.New("rows still change")
		}
		return nil
	})
	return rows
}
