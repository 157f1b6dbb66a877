package reports

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// fillSQL are statements that add the facts of a large company ($1): a year with a million bookings of 100,000
// customers on 20,000 dates of 200 events, and 200,000 bookings in the year before.
var fillSQL = []string{
	`insert into progress (company_id, last_generation, applied_at) values ($1, 1, now())`,
	`insert into generations (company_id, generation, state, timezone, step, started_at, built_at, lease_until)
		values ($1, 1, 'current', 'Europe/London', 'closing', now(), now(), now())`,
	`insert into companies (company_id, timezone, currency, version) values ($1, 'Europe/London', 'GBP', 1)`,
	`insert into events select $1, 1, md5('event' || n)::uuid, 1, 'Event ' || n, 'published' from generate_series(1, 200) n`,
	`insert into dates select $1, 1, md5('date' || n)::uuid, 1, md5('event' || 1 + n % 200)::uuid, date '2026-01-01' + n % 365, 60, n % 50 = 0
		from generate_series(1, 20000) n`,
	`insert into dates select $1, 1, md5('date' || n)::uuid, 1, md5('event' || 1 + n % 200)::uuid, date '2025-01-01' + n % 365, 60, false
		from generate_series(20001, 24000) n`,
	`insert into customers select $1, 1, md5('customer' || n)::uuid, 1, date '2024-01-01' + n % 1000, false from generate_series(1, 100000) n`,
	`insert into bookings select $1, 1, md5('booking' || n)::uuid, 1, md5('event' || 1 + (n % 24000 + 1) % 200)::uuid, md5('date' || n % 24000 + 1)::uuid,
			md5('customer' || 1 + (n * 7919::bigint) % 100000)::uuid, 1, (array['confirmed', 'attended', 'attended', 'no_show', 'cancelled'])[1 + n % 5], n % 10 = 4, null
		from generate_series(1, 1200000) n`,
	`insert into movements select $1, 1, b.id, 1, d.day - 3, 1200, 1000, 'GBP', (array['CARD', 'CASH', 'ONLINE'])[1 + abs(hashtext(b.id::text)) % 3], 2000
		from bookings b join dates d on d.id = b.date_id`,
	`insert into pass_types select $1, 1, md5('type' || n)::uuid, 1, 'Pass ' || n from generate_series(1, 50) n`,
	`insert into customer_passes select $1, 1, md5('pass' || n)::uuid, 1, md5('type' || 1 + n % 50)::uuid, md5('customer' || 1 + n % 100000)::uuid,
			date '2025-03-01' + n % 900, n % 4, 10, false, false, false, 9000, 'GBP', 'CARD', date '2025-01-01' + n % 700 from generate_series(1, 100000) n`,
	`insert into ledger_entries select $1, 1, p.id, s, case s when 1 then 'assigned' else 'redeemed' end, case s when 1 then 10 else -1 end, p.created_on + s
		from customer_passes p, generate_series(1, 8) s`,
}

// fill adds the facts of a large company and the sums that belong to them.
func (w *world) fill(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	for _, sql := range fillSQL {
		if _, err := owner.Exec(t.Context(), sql, w.company); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := owner.Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	for _, v := range verifications {
		began := time.Now()
		if _, err := owner.Exec(t.Context(), `insert into `+v.table+` select $1, $2, * from (`+v.sql+`) sums`, w.company, 1); err != nil {
			t.Fatalf("%s: %v", v.table, err)
		}
		t.Logf("the sums of %s from facts: %s", v.table, time.Since(began))
	}
	if _, err := owner.Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
}

// node is a node of EXPLAIN's JSON.
type node struct {
	Type  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Hit   int64  `json:"Shared Hit Blocks"`
	Read  int64  `json:"Shared Read Blocks"`
	Plans []node `json:"Plans"`
}

func (n node) tables(all map[string]bool) {
	all[n.Table] = true
	for _, child := range n.Plans {
		child.tables(all)
	}
}

// explain runs a statement with a plan that is made without the arguments, as on a long-lived connection.
func (w *world) explain(t *testing.T, sql string, args []any) (root node, took time.Duration) {
	t.Helper()
	var out []struct {
		Plan node
		Time float64 `json:"Execution Time"`
	}
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `set local plan_cache_mode = force_generic_plan`); err != nil {
			return err
		}
		var text []byte
		for range 2 { // the first run also reads the catalogue
			if err := tx.QueryRow(ctx, "explain (analyze, buffers, format json) "+sql, args...).Scan(&text); err != nil {
				return err
			}
		}
		return json.Unmarshal(text, &out)
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out[0].Plan, time.Duration(out[0].Time * float64(time.Millisecond))
}

// TestSlowReportPlans checks that the reports of a year read sums of the year and not its bookings.
func TestSlowReportPlans(t *testing.T) {
	w, owner := openOwned(t)
	w.fill(t, owner)
	sp := span{from: mustDay(t, "2026-01-01"), to: mustDay(t, "2026-12-31")}
	c := compared{company: w.company, generation: 1, span: sp, before: sp.before()}
	months := append(monthly.split(sp), monthly.split(sp.before())...)
	var since, until, before []Day
	for _, m := range append(months, sp, sp.before()) {
		since, until, before = append(since, m.from), append(until, m.to), append(before, m.before().from)
	}
	for name, of := range map[string]struct {
		sql    string
		args   []any
		blocks int64
	}{
		"takings by day":      {takingsByDaySQL, c.args(), 200},
		"takings by method":   {takingsByMethodSQL, c.args(), 200},
		"takings by tax":      {takingsByTaxSQL, c.args(), 200},
		"takings by product":  {takingsByProductSQL, c.args("GBP", maxRows), 6000},
		"attendance by day":   {attendanceByDaySQL, []any{w.company, int64(1), sp.before().from, sp.to}, 1500},
		"attendance by event": {attendanceByEventSQL, attendanceArgs(c), 6000},
		"credits":             {creditsSQL, c.args("GBP"), 3000},
		"customers":           {customersSQL, []any{w.company, int64(1), since, until, before}, 30000},
		"credit currencies":   {creditCurrenciesSQL, []any{w.company, int64(1), sp.to}, 3000},
		"expiring by day":     {expiringByDaySQL, expiringArgs(c, "GBP", "GBP"), 80000},
		"expiring passes":     {expiringCountSQL, []any{w.company, int64(1), sp.from, sp.from + 30}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			root, took := w.explain(t, of.sql, of.args)
			t.Logf("%s: %d blocks, %s", name, root.Hit+root.Read, took)
			if n := root.Hit + root.Read; n > of.blocks || n == 0 {
				t.Errorf("reads %d blocks, want at most %d", n, of.blocks)
			}
			tables := map[string]bool{}
			root.tables(tables)
			for _, fact := range []string{"bookings", "dates", "movements", "ledger_entries", "customers"} {
				if tables[fact] {
					t.Errorf("reads the facts of %s", fact)
				}
			}
		})
	}
	began := time.Now()
	w.verify()
	t.Logf("VerifyReports: %s", time.Since(began))
	for name, call := range map[string]func() error{
		"GetTakings by product": func() error {
			_, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{Span: sp.proto(), GroupBy: reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT})
			return err
		},
		"GetAttendance by event": func() error {
			_, err := w.client.GetAttendance(w.ctx(), &reportsv1.GetAttendanceRequest{Span: sp.proto()})
			return err
		},
		"GetCredits": func() error {
			_, err := w.client.GetCredits(w.ctx(), &reportsv1.GetCreditsRequest{Span: sp.proto()})
			return err
		},
		"GetCustomers": func() error {
			_, err := w.client.GetCustomers(w.ctx(), &reportsv1.GetCustomersRequest{Span: sp.proto()})
			return err
		},
	} {
		for i := range 8 {
			began := time.Now()
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if i == 7 {
				t.Logf("%s: %s", name, time.Since(began))
			}
		}
	}
}

func mustDay(t *testing.T, s string) Day {
	t.Helper()
	d, ok := parseDay(s)
	if !ok {
		t.Fatal(fmt.Errorf("%s is no day", s))
	}
	return d
}
