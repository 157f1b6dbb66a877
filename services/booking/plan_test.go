package booking

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
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// plan is a node of EXPLAIN's JSON.
type plan struct {
	Type  string  `json:"Node Type"`
	Table string  `json:"Relation Name"`
	Index string  `json:"Index Name"`
	Rows  float64 `json:"Actual Rows"`
	// Removed is the number of rows that a filter removes.
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

// explain runs a statement as the service does, under the company's policies, and returns its plan.
// A generic plan is made without knowing the arguments, as on a long-lived connection.
func explain(t *testing.T, db *pg.DB, company id.Company, mode, sql string, args ...any) plan {
	t.Helper()
	return explainIn(t, db, pg.For(company), mode, sql, args...)
}

// explainIn is explain under the policies for a job, or for a company.
func explainIn(t *testing.T, db *pg.DB, scope pg.Scope, mode, sql string, args ...any) plan {
	t.Helper()
	var out []struct{ Plan plan }
	err := db.InTx(t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
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
				return err
			}
		}
		defer tx.Exec(ctx, "deallocate probe")
		var text []byte
		execute := "explain (analyze, buffers, format json) execute probe (" + strings.Join(values, ", ") + ")"
		// The first run reads the catalogue.
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

// newPlanWorld returns newWorld on its own database, and a connection of the database's owner.
func newPlanWorld(t testing.TB) (*world, *pgx.Conn) {
	t.Helper()
	ownerURL, appURL := testkit.DBURLs(t, schema())
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
	withoutAutovacuum(t, owner)
	return newWorldOn(t, db), owner
}

// withoutAutovacuum keeps PostgreSQL from vacuuming and analyzing the tables at some moment of a test, which would
// change plans.
func withoutAutovacuum(t testing.TB, owner *pgx.Conn) {
	t.Helper()
	_, err := owner.Exec(t.Context(), `do $$ declare name text; begin
		for name in select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
			and pg_get_userbyid(relowner) = current_user loop
			execute format('alter table %I set (autovacuum_enabled = off)', name);
		end loop; end $$`)
	if err != nil {
		t.Fatal(err)
	}
}

// vacuum vacuums and analyzes all tables, until each of their pages is marked as visible to all. While another
// transaction can see older rows, some pages are not. Without the cleanup of indexes, a page with few dead rows would
// stay unmarked.
func vacuum(t testing.TB, owner *pgx.Conn) {
	t.Helper()
	testkit.Eventually(t, 2*time.Minute, func() error {
		if _, err := owner.Exec(t.Context(), `vacuum (analyze, index_cleanup on)`); err != nil {
			return err
		}
		var behind string
		err := owner.QueryRow(t.Context(), `select coalesce(string_agg(relname, ', '), '') from pg_class
			where relkind = 'r' and relnamespace = 'public'::regnamespace and relallvisible < relpages`).Scan(&behind)
		if err == nil && behind != "" {
			err = fmt.Errorf("not all rows are visible to all: %s", behind)
		}
		return err
	})
}

func literal(a any) (typ, value string) {
	switch a := a.(type) {
	case interface{ UUID() id.UUID }:
		u := a.UUID()
		if u.IsZero() {
			return "uuid", "null"
		}
		return "uuid", fmt.Sprintf("'%x'", u[:])
	case time.Time:
		return "timestamptz", "'" + a.UTC().Format(time.RFC3339Nano) + "'"
	case int32:
		return "integer", fmt.Sprint(a)
	case bool:
		return "boolean", fmt.Sprint(a)
	case string:
		return "text", "'" + a + "'"
	case []string:
		return "text[]", "'{\"" + strings.Join(a, "\",\"") + "\"}'"
	case id.UUID:
		return "uuid", fmt.Sprintf("'%x'", a[:])
	case [16]byte:
		return "uuid", fmt.Sprintf("'%x'", a[:])
	case []id.Booking:
		return uuids(a)
	case []id.Customer:
		return uuids(a)
	case []id.Event:
		return uuids(a)
	case []id.EventDate:
		return uuids(a)
	case []id.UUID:
		return uuids(a)
	case []id.WaitlistEntry:
		return uuids(a)
	case []time.Time:
		var texts []string
		for _, at := range a {
			texts = append(texts, at.UTC().Format(time.RFC3339Nano))
		}
		return "timestamptz[]", "'{" + strings.Join(texts, ",") + "}'"
	case []int32:
		return "integer[]", "'" + strings.NewReplacer("[", "{", "]", "}", " ", ",").Replace(fmt.Sprint(a)) + "'"
	}
	return "bigint", fmt.Sprint(a)
}

func uuids[T ~[16]byte](all []T) (typ, value string) {
	var texts []string
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%x", a[:]))
	}
	return "uuid[]", "'{" + strings.Join(texts, ",") + "}'"
}

// fillSQL adds n transactions with one booking each, forty per customer, and as many for the
// customer under test.
const fillSQL = `with made as (
	insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status)
	select $1, gen_random_uuid(), case when n <= $4 then $3 else md5((n / 40)::text)::uuid end,
		timestamptz '2026-01-01 00:00:00Z' + n * interval '1 second', 'UTC', 'import', 'confirmed'
	from generate_series($2::integer, $2::integer + 9999) n returning id)
	insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id, pricing_option_id, spaces, method, credits_used)
	select $1, gen_random_uuid(), made.id, 0, $5, (array(select d.id from event_dates d where d.company_id = $1 and d.event_id = $5))[1 + (random() * 999)::integer], $5, 1, 'PASS', 1
	from made`

func TestSlowListPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	event := idOf[id.Event](t, e.GetId())
	w.mustBook(w.ctx, ann, e, 1)
	w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
		select $1, gen_random_uuid(), $2, now() + n * interval '1 hour', 60, 'UTC' from generate_series(2, 1000) n`, w.company, event)

	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), model.EndOfTime()
	now := time.Now()
	statements := []struct {
		name, sql string
		args      []any
	}{
		{"page", store.PageSQL, []any{w.company, ann, from, to, int32(30), int64(60)}},
		{"total", store.TotalSQL, []any{w.company, ann, from, to}},
		{"future page", store.FuturePageSQL, []any{w.company, ann, from, to, now, int32(30), int64(60)}},
		{"future total", store.FutureTotalSQL, []any{w.company, ann, from, to, now}},
	}
	small := map[string]float64{}
	const ofAnn = 500
	for _, step := range []struct{ size, ofAnn int }{{10_000, ofAnn}, {100_000, 0}} {
		size := step.size
		for first := 1; first <= size; first += 10_000 { // each well within a statement's time
			w.exec(fillSQL, w.company, first, ann, step.ofAnn, event)
		}
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				vacuum(t, owner)
			}
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				for _, s := range statements {
					name := fmt.Sprintf("%s with a %s over %d rows, analyzed %t", s.name, mode, size, analyzed)
					t.Run(name+": cost depends only on the customer's purchases (invariant 7)", func(t *testing.T) {
						p := explain(t, w.db, w.company, mode, s.sql, s.args...)
						index, indexOnly := false, false
						p.walk(func(n plan) {
							index = index || n.Index == "transactions_by_purchaser"
							indexOnly = indexOnly || n.Type == "Index Only Scan"
							if n.Type == "Seq Scan" && (n.Table == "transactions" || n.Table == "bookings") {
								t.Errorf("reads all of %s", n.Table)
							}
							if n.Rows*n.Loops > 4*ofAnn {
								t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, n.Rows*n.Loops)
							}
						})
						if !index {
							t.Error("does not use transactions_by_purchaser")
						}
						// In a small table it is equally cheap to read its few pages.
						if s.name == "total" && analyzed && size > 10_000 && !indexOnly {
							t.Error("the count reads the table")
						}
						key := s.name + mode
						if small[key] == 0 {
							small[key] = p.Hit + p.Read
						}
						if most := 1.5 * small[key]; p.Hit+p.Read > most {
							t.Errorf("touches %.0f blocks, in the small table %.0f", p.Hit+p.Read, small[key])
						}
						if t.Failed() {
							t.Log(p)
						}
					})
				}
			}
		}
	}
}
