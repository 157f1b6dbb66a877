package harness

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

const (
	// companyTablesSQL lists the tables with rows of companies, from the catalogue, so that a new table
	// is among them. The request log is not: it grows with every request that the company makes itself.
	companyTablesSQL = `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'requests' order by 1`

	companyRowsSQL = `select count(*), coalesce(md5(string_agg(x::text, chr(10) order by x::text)), '') from %s x where company_id = $1 and %s`
)

// lasting has the condition of the rows that stay, for tables whose other rows a job deletes at any moment.
// The media service deletes the row of an object that is due within a minute, after the object.
var lasting = map[string]string{"removed_objects": "due_at > now()"}

// passing has the condition of the rows with work that a service is about to do, by table. Deliveries that were
// attempted are retried after an hour or more, if the test says so.
var passing = map[string]string{"outbox_events": "true", "deliveries": "due_at < now() + interval '30 minutes'"}

// Rows are the rows of a company in a table.
type Rows struct {
	Number int
	Digest string // of all their columns
}

// CompanyRows returns the rows of a company in every table of databases, by "database.table". It leaves
// out rows that do not last.
func CompanyRows(t testing.TB, databases []*pgx.Conn, company string) map[string]Rows {
	t.Helper()
	named, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Rows{}
	for _, db := range databases {
		for _, table := range Column(t, db, companyTablesSQL) {
			var rows Rows
			sql := fmt.Sprintf(companyRowsSQL, pgx.Identifier{table}.Sanitize(), cmp.Or(lasting[table], "true"))
			if err := db.QueryRow(t.Context(), sql, named).Scan(&rows.Number, &rows.Digest); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			all[db.Config().Database+"."+table] = rows
		}
	}
	return all
}

// SettledRows is CompanyRows after the services have handled the company's events and attempted its
// deliveries, when the rows no longer change.
func SettledRows(t testing.TB, databases []*pgx.Conn, company string) map[string]Rows {
	t.Helper()
	const unchanged = 20 // times
	rows, same := CompanyRows(t, databases, company), 0
	Eventually(t, 4*time.Minute, func() error {
		next := CompanyRows(t, databases, company)
		if same++; !maps.Equal(rows, next) {
			same = 0
		}
		rows = next
		if err := workLeft(t, databases, company, rows); err != nil {
			return err
		}
		if same < unchanged {
			return errors.New("rows still change")
		}
		return nil
	})
	return rows
}

// workLeft fails if the tables of rows have rows of the company with work to do.
func workLeft(t testing.TB, databases []*pgx.Conn, company string, rows map[string]Rows) error {
	t.Helper()
	named, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range databases {
		for table, condition := range passing {
			if _, has := rows[db.Config().Database+"."+table]; !has {
				continue
			}
			var n int
			sql := fmt.Sprintf(`select count(*) from %s where company_id = $1 and %s`, table, condition)
			if err := db.QueryRow(t.Context(), sql, named).Scan(&n); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if n > 0 {
				return fmt.Errorf("%s.%s has %d rows with work to do", db.Config().Database, table, n)
			}
		}
	}
	return nil
}

// SameRows fails t with the tables whose rows differ.
func SameRows(t testing.TB, before, after map[string]Rows) {
	t.Helper()
	for table, rows := range after {
		if before[table] != rows {
			t.Errorf("the rows of %s changed: %v, and then %v", table, before[table], rows)
		}
	}
	if len(after) < 40 || len(after) != len(before) {
		t.Errorf("%d tables were compared, and %d before", len(after), len(before))
	}
}

// newTestData matches the call in a service's source that names the tables that it keeps.
var newTestData = regexp.MustCompile(`tenancy\.NewTestData\(kit\.DB((?:, "[a-z_]+")*)\)`)

// KeptTestData returns the tables that a reset of test data keeps, in addition to the copy of the companies,
// by service. It reads them in the sources of the services, and has every service that deletes test data.
func KeptTestData(t testing.TB) map[string][]string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(root, "services", "*", "run.go"))
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]string{}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if call := newTestData.FindSubmatch(text); call != nil {
			kept[filepath.Base(filepath.Dir(source))] = strings.FieldsFunc(string(call[1]), func(r rune) bool { return strings.ContainsRune(`, "`, r) })
		}
	}
	return kept
}

// Column returns the only column of a query.
func Column(t testing.TB, db *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}
