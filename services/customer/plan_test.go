package customer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/customer/migrations"
)

// plan is a node of EXPLAIN's JSON.
type plan struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Index   string  `json:"Index Name"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Hit     float64 `json:"Shared Hit Blocks"`
	Read    float64 `json:"Shared Read Blocks"`
	Plans   []plan  `json:"Plans"`
}

func (p plan) walk(visit func(plan)) {
	visit(p)
	for _, child := range p.Plans {
		child.walk(visit)
	}
}

func (p plan) String() string {
	text, _ := json.MarshalIndent(p, "", " ")
	return string(text)
}

// explain runs a statement as the service does, under the company's policies, and returns how it
// was executed. A generic plan is made without the arguments, as on a long-lived connection.
func explain(t *testing.T, db *pg.DB, company id.Company, mode, sql string, args []any) plan {
	t.Helper()
	var out []struct{ Plan plan }
	err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
		var names, values []string
		for _, a := range args {
			name, value := literal(a)
			names, values = append(names, name), append(values, value)
		}
		for _, statement := range []string{
			"set local plan_cache_mode = " + mode,
			"prepare probe (" + strings.Join(names, ", ") + ") as " + sql,
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		defer tx.Exec(ctx, "deallocate probe")
		var text []byte
		execute := "explain (analyze, buffers, format json) execute probe (" + strings.Join(values, ", ") + ")"
		// The first run also reads the catalogue.
		for range 2 {
			if err := tx.QueryRow(ctx, execute).Scan(&text); err != nil {
				return err
			}
		}
		return json.Unmarshal(text, &out)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Plan
}

func literal(a any) (typ, value string) {
	switch a := a.(type) {
	case id.Company:
		return "uuid", fmt.Sprintf("'%x'", a[:])
	case [16]byte:
		return "uuid", fmt.Sprintf("'%x'", a[:])
	case time.Time:
		return "timestamptz", "'" + a.UTC().Format(time.RFC3339Nano) + "'"
	case string:
		return "text", "'" + a + "'"
	case bool:
		return "boolean", fmt.Sprint(a)
	}
	return "bigint", fmt.Sprint(a)
}

// disableAutovacuum keeps autovacuum from reading the table while a test counts the blocks that are read. A session
// reports some of its changes only later, so there is something to do for it even after vacuum.
func disableAutovacuum(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	if _, err := owner.Exec(t.Context(), `alter table customers set (autovacuum_enabled = false)`); err != nil {
		t.Fatal(err)
	}
}

// vacuum updates the statistics and marks every page as visible to all transactions, which is
// possible only after its commits are on disk.
func vacuum(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	testkit.Eventually(t, 2*time.Minute, func() error {
		if _, err := owner.Exec(t.Context(), `vacuum (analyze, disable_page_skipping) customers`); err != nil {
			return err
		}
		var pages, visible int
		err := owner.QueryRow(t.Context(), `select relpages, relallvisible from pg_class where relname = 'customers'`).Scan(&pages, &visible)
		if err == nil && visible < pages {
			err = fmt.Errorf("%d of %d pages are visible to all", visible, pages)
		}
		return err
	})
}

// fillPlanned stores n customers, of which the older half is archived, as in a company with a long
// history.
func fillPlanned(t *testing.T, db *pg.DB, company id.Company, n int) {
	t.Helper()
	const lot = 5_000
	for from := 1; from <= n; from += lot {
		err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			return execUnlimited(ctx, tx, `insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
				select $1, gen_random_uuid(), 'Zoë', 'O''Brien', 'zoe.' || g || '@example.com',
					'+44 7700 ' || to_char(g, 'FM000000'), g <= $2::int / 2, 1,
					to_timestamp(1700000000 + g), to_timestamp(1710000000 + g * 7919 % 1000003)
				from generate_series($3::int, $4::int) g`, company, n, from, min(n, from+lot-1))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSlowListPlans(t *testing.T) { // invariant 7
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "customer", FS: migrations.FS, AppRole: testkit.AppRole()})
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	disableAutovacuum(t, owner)
	small, large := id.New[id.Company](), id.New[id.Company]()

	fillPlanned(t, db, small, 2_000)
	fillPlanned(t, db, large, 60_000)

	type statement struct {
		name string
		list list
		rows float64 // the number of rows that the list has to read
	}
	var statements []statement
	const size = 100
	for code := range int32(len(orders())) {
		o, err := orderOf(orders()[code])
		if err != nil {
			t.Fatal(err)
		}
		filters := map[string]filter{"all": {}, "archived": {archived: ptr(true)}, "not archived": {archived: ptr(false)}}
		if o.Column == byUpdated {
			filters["changed since"] = filter{since: time.Unix(1_710_100_000, 0)}
			filters["archived and changed since"] = filter{archived: ptr(true), since: time.Unix(1_710_100_000, 0)}
		}
		if o.Column == byCreated {
			filters["created in a period"] = filter{createdFrom: time.Unix(1_700_000_000, 0), createdBefore: time.Unix(1_700_100_000, 0)}
		}
		for name, f := range filters {
			l := list{Page: page.Page{Order: o, Size: size, After: new(o.Start())}, filter: f}
			statements = append(statements, statement{fmt.Sprintf("the first page of %s by %s, desc %t", name, o.Column, o.Desc), l, size + 1})
			middle := l
			at := time.Unix(1_700_001_100, 0)
			if !o.Desc { // a full page of either kind follows in both companies
				at = time.Unix(1_700_000_500, 0)
			}
			if o.Column == byUpdated {
				at = time.Unix(1_710_500_000, 0)
			}
			middle.After = new(page.At(at, id.UUID{0x01}))
			statements = append(statements, statement{fmt.Sprintf("a page of %s by %s, desc %t, from within", name, o.Column, o.Desc), middle, size + 1})
		}
		l := list{Page: page.Page{Order: o, Size: size, After: new(o.Start())}, filter: filter{email: "zoe.77@EXAMPLE.com"}}
		statements = append(statements, statement{fmt.Sprintf("those with an address by %s, desc %t", o.Column, o.Desc), l, 1})
	}
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			vacuum(t, owner)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, s := range statements {
				// Without statistics the planner does not know which filter is the more selective
				// one.
				if !analyzed && !s.list.filter.isZero() {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, analyzed %t, goes through the page alone", s.name, mode, analyzed), func(t *testing.T) {
					var blocks [2]float64
					for i, company := range []id.Company{small, large} {
						statement := s.list.page(company)
						sql := newStore(db).sql(statement.SQL)
						p := explain(t, db, company, mode, sql, statement.Args)
						p.walk(func(n plan) {
							if n.Type == "Seq Scan" && n.Table == "customers" {
								t.Error("reads the whole table")
							}
							if through := (n.Rows + n.Removed) * n.Loops; through > s.rows {
								t.Errorf("%s on %s goes through %.0f rows", n.Type, n.Index, through)
							}
						})
						blocks[i] = p.Hit + p.Read
						if t.Failed() {
							t.Fatal(sql, p)
						}
					}
					if blocks[1] > 1.5*blocks[0]+4 {
						t.Errorf("touches %.0f blocks, in the small company %.0f", blocks[1], blocks[0])
					}
				})
			}
		}
	}
	t.Run("a count of the matches in one of many companies reads only an index", func(t *testing.T) {
		for _, f := range []filter{{since: time.Unix(1_710_500_000, 0)}, {email: "zoe.77@example.com"}} {
			count := list{filter: f}.total(small)
			p := explain(t, db, small, "force_custom_plan", count.SQL, count.Args)
			only := false
			p.walk(func(n plan) { only = only || n.Type == "Index Only Scan" })
			if !only {
				t.Errorf("%s: %s", count.SQL, p)
			}
		}
	})
	t.Run("the total of all, of the archived and of the others is read from the counters", func(t *testing.T) {
		for _, f := range []filter{{}, {archived: ptr(false)}, {archived: ptr(true)}} {
			count := list{filter: f}.total(large)
			explain(t, db, large, "force_generic_plan", count.SQL, count.Args).walk(func(n plan) {
				if n.Table == "customers" || n.Rows > 2*slots {
					t.Errorf("%s: %s on %s goes through %.0f rows", count.SQL, n.Type, n.Table, n.Rows)
				}
			})
		}
	})
}

func TestReadingOneCustomerIsPlannedOnce(t *testing.T) {
	w := open(t)
	made := w.create("Zoë")
	const reads = 40
	for range reads {
		if _, err := w.client.GetCustomer(w.ctx(), &customerv1.GetCustomerRequest{Id: made.GetId()}); err != nil {
			t.Fatal(err)
		}
	}
	planned, kept := 0, 0
	for _, conn := range w.db.Pool().AcquireAllIdle(t.Context()) {
		var p, k int
		err := conn.QueryRow(t.Context(), `select coalesce(sum(custom_plans), 0), coalesce(sum(generic_plans), 0)
			from pg_prepared_statements where statement = $1`, newStore(w.db).sql(getSQL)).Scan(&p, &k)
		conn.Release()
		if err != nil {
			t.Fatal(err)
		}
		planned, kept = planned+p, kept+k
	}
	// PostgreSQL plans the first five executions on a connection before it keeps a plan.
	if kept == 0 {
		t.Errorf("of %d reads, %d were planned and none used a plan that was kept", reads, planned)
	}
}
