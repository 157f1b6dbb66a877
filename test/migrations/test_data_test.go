package migrations

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// testRows is the number of rows of the company whose data are deleted, in each table: more than one commit
// deletes.
const testRows = 5001

func TestDeleteTestData(t *testing.T) {
	keptTables := harness.KeptTestData(t)
	for part, dir := range schemas(t) {
		kept, resets := keptTables[part]
		if !resets {
			if part != "platform" && part != "auth" {
				t.Errorf("%s deletes no test data", part)
			}
			continue
		}
		t.Run(part+": a reset deletes all rows of the company in test mode, and no others", func(t *testing.T) {
			t.Parallel()
			d := openTestData(t, pg.Migrations{Part: part, FS: os.DirFS(filepath.Join(root, dir)), AppRole: testkit.AppRole()})
			d.reset = tenancy.NewTestData(d.db, kept...)
			company := id.New[id.Company]()
			neighbour := id.New[id.Company]()
			others := []id.Company{company, neighbour, neighbour.Test()}
			for _, table := range d.tables {
				d.fill(table, company.Test(), testRows)
				for _, other := range others {
					d.fill(table, other, 2)
				}
			}
			if _, err := d.deleteAs(company); !fault.Is(err, fault.Refused) || fault.From(err).Reason != fault.ReasonLiveMode {
				t.Errorf("in live mode: got %v", err)
			}
			deleted, err := d.deleteAs(company.Test())
			if err != nil {
				t.Fatal(err)
			}
			var want int64
			for _, table := range d.tables {
				left := int64(0)
				if table.Name == "companies" || slices.Contains(kept, table.Name) {
					left = d.filled[table.Name]
				}
				want += d.filled[table.Name] - left
				if n := d.count(table, company.Test()); n != left {
					t.Errorf("%s has %d rows of the company after the reset, want %d", table.Name, n, left)
				}
				for _, other := range others {
					if n := d.count(table, other); n < 1 || n > 2 {
						t.Errorf("%s has %d rows of %s after the reset of another company", table.Name, n, other)
					}
				}
			}
			if deleted != want {
				t.Errorf("the response has %d deleted rows, want %d", deleted, want)
			}
			if again, err := d.deleteAs(company.Test()); err != nil || again != 0 {
				t.Errorf("a second reset deleted %d rows, %v", again, err)
			}
		})
	}
}

// companyTable is a table with rows of companies.
type companyTable struct {
	Name    string
	Columns []column
	Single  bool // has at most one row for each company
}

// column is a column that an insert must set.
type column struct {
	Name, Type string
	Names      string // the table whose rows the column names: its own, or the one that a foreign key references
}

// testData is a database whose tables take any rows, until the service deletes them.
type testData struct {
	t      *testing.T
	owner  *pgx.Conn // a superuser
	db     *pg.DB    // of the service
	reset  *tenancy.TestData
	tables []companyTable
	filled map[string]int64 // the rows of the company in test mode, by table
}

const (
	// Every table with a column company_id, whether it has row-level security or not.
	companyTablesSQL = `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`

	singleSQL = `select exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'company_id'
		where i.indrelid = $1::text::regclass and i.indisunique and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)`

	// Every foreign key is company_id and a column that references id. A unique index that compares nulls
	// needs a value for one of its columns.
	columnsSQL = `select a.attname::text, format_type(a.atttypid, null), coalesce((select f.confrelid::regclass::text from pg_constraint f
			where f.conrelid = a.attrelid and f.contype = 'f' and f.conkey[2] = a.attnum), case a.attname when 'id' then $1 end, '')
		from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'company_id'
			and (a.attnotnull and not a.atthasdef and a.attidentity = '' or exists (select from pg_index i
				where i.indrelid = a.attrelid and i.indisunique and i.indnullsnotdistinct and i.indkey[1] = a.attnum))
		order by a.attnum`

	checksSQL = `select conname::text from pg_constraint where conrelid = $1::text::regclass and contype = 'c'`
)

func openTestData(t *testing.T, m pg.Migrations) *testData {
	t.Helper()
	ownerURL, appURL := testkit.DBURLs(t, m)
	database, err := url.Parse(ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(testkit.AdminURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin.Path = database.Path
	d := &testData{t: t, filled: map[string]int64{}}
	if d.owner, err = pgx.Connect(t.Context(), admin.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.owner.Close(context.WithoutCancel(t.Context())) })
	if d.db, err = pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.db.Close)
	d.exec("set session_replication_role = replica") // no triggers and no foreign keys while rows are inserted
	for _, name := range list[string](d, companyTablesSQL) {
		for _, check := range list[string](d, checksSQL, name) {
			d.exec("alter table " + quoted(name) + " drop constraint " + quoted(check))
		}
		d.tables = append(d.tables, companyTable{name, d.columns(name), list[bool](d, singleSQL, name)[0]})
	}
	return d
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func (d *testData) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.owner.Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

// list returns the rows of a query with one column.
func list[T any](d *testData, sql string, args ...any) []T {
	d.t.Helper()
	rows, err := d.owner.Query(d.t.Context(), sql, args...)
	if err != nil {
		d.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func (d *testData) columns(table string) []column {
	d.t.Helper()
	rows, err := d.owner.Query(d.t.Context(), columnsSQL, table)
	if err != nil {
		d.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// value returns an expression for a column, which differs in each row if the type allows it. The n-th row of
// a table references the n-th rows of other tables.
func (c column) value() string {
	switch {
	case c.Names != "":
		return "md5($1::uuid || '" + c.Names + "' || n)::uuid"
	case strings.HasSuffix(c.Type, "[]"), c.Type == "jsonb":
		return "'{}'"
	case c.Type == "uuid":
		return "gen_random_uuid()"
	case c.Type == "boolean":
		return "false"
	case c.Type == "bytea":
		return "uuid_send(gen_random_uuid())"
	case c.Type == "timestamp with time zone", c.Type == "date":
		return "now()"
	case c.Type == "text":
		return "gen_random_uuid()::text"
	default: // a number
		return "n"
	}
}

// fill adds rows of a company to a table.
func (d *testData) fill(table companyTable, company id.Company, rows int) {
	d.t.Helper()
	if table.Single {
		rows = 1
	}
	names, values := []string{"company_id"}, []string{"$1::uuid"}
	for _, c := range table.Columns {
		names, values = append(names, quoted(c.Name)), append(values, c.value())
	}
	d.exec("insert into "+quoted(table.Name)+" ("+strings.Join(names, ", ")+") select "+strings.Join(values, ", ")+
		" from generate_series(1, $2::integer) n", company, rows)
	if company.IsTest() && d.filled[table.Name] == 0 {
		d.filled[table.Name] = int64(rows)
	}
}

func (d *testData) count(table companyTable, company id.Company) int64 {
	d.t.Helper()
	return list[int64](d, "select count(*) from "+quoted(table.Name)+" where company_id = $1", company)[0]
}

// deleteAs calls the service with the token of a company, and returns the number of deleted rows.
func (d *testData) deleteAs(company id.Company) (int64, error) {
	ctx := rpc.WithClaims(d.t.Context(), &token.Claims{Company: company})
	resp, err := d.reset.DeleteTestData(ctx, &authv1.DeleteTestDataRequest{})
	return resp.GetDeleted(), err
}
