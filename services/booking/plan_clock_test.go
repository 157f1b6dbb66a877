package booking

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/store"
)

// Holds, waiting entries and changes of credits of a company that are due in the next days.
const fillDueSQL = `with changes as (insert into credit_changes (company_id, booking_id, id, state, target, credits, transaction_id,
			event_type, day, credits_before, due_at)
		select $1, gen_random_uuid(), gen_random_uuid(), 'taking', '', 1, gen_random_uuid(), 'class', '2026-01-01', 0,
			now() + interval '1 hour' + random() * interval '6 days' from generate_series(1, $2::integer)),
	held as (insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status, expires_at, hold_expires_at)
		select $1, gen_random_uuid(), gen_random_uuid(), date_trunc('second', now()), 'UTC', 'live', 'held', n.at, n.at
		from (select now() + interval '1 hour' + random() * interval '6 days' as at from generate_series(1, $2::integer)) n)
	insert into waitlist_entries (company_id, id, event_id, event_date_id, customer_id, spaces, mode, pricing_option_id, method,
		offer_minutes, timezone, state, joined_at, updated_at, closes_at)
	select $1, gen_random_uuid(), $1, gen_random_uuid(), gen_random_uuid(), 1, 'offer', $1, 'CARD', 15, 'UTC', 'waiting', now(), now(), now() + interval '1 hour' + random() * interval '6 days'
	from generate_series(1, $2::integer)`

// TestTestClockPlans looks for due work in tables with much work that is due later, in live mode and in
// test mode.
func TestTestClockPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	fill := func(company id.Company, n int) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), fillDueSQL, company, n); err != nil {
			t.Fatal(err)
		}
	}
	fill(w.company, 10_000)
	for i := range 20 {
		test := w.of(id.New[id.Company]().Test())
		test.setClock(time.Duration(i%2)*30*time.Minute, 2) // nothing is due
		fill(test.company, 200)
	}
	vacuum(t, owner)
	now, limit := time.Now(), int32(expiryBatch)
	for name, s := range map[string]struct {
		sql  string
		args []any
	}{
		"whether work is due": {store.DueSQL, []any{now, now.Add(-retryAfter)}},
		"expired holds":       {store.ExpiredHoldsSQL, []any{now, limit}},
		"waitlists to close":  {store.ToCloseSQL, []any{now, limit}},
		"entries to retry":    {store.ToPromoteSQL, []any{now, now.Add(-retryAfter), limit}},
		"changes of credits":  {store.ClaimCreditChangesSQL, []any{now, now.Add(returnAgain), limit, int32(5000)}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(name+" with a "+mode+": goes through no rows that are due later", func(t *testing.T) {
				p := explainIn(t, w.db, pg.AllCompanies(), mode, s.sql, s.args...)
				p.walk(func(n plan) {
					if !slices.Contains([]string{"transactions", "waitlist_entries", "credit_changes"}, n.Table) {
						return
					}
					if n.Type == "Seq Scan" {
						t.Errorf("reads all of %s", n.Table)
					}
					if (n.Rows+n.Removed)*n.Loops > 20 {
						t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, (n.Rows+n.Removed)*n.Loops)
					}
				})
				if p.Hit+p.Read > 200 {
					t.Errorf("touches %.0f blocks", p.Hit+p.Read)
				}
				if t.Failed() {
					t.Log(p)
				}
			})
		}
	}
}
