package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// n entries of others, ten for each date and each customer, of which a twentieth wait, on dates of one
// event; and as many discount codes.
const fillWaitlistsSQL = `with dates as (
		insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
		select $1, gen_random_uuid(), $3, now() + random() * interval '900 days', 60, 'UTC' from generate_series(1, $2::integer / 10) returning id),
	entries as (
		insert into waitlist_entries (company_id, id, event_id, event_date_id, customer_id, spaces, mode, pricing_option_id, method,
			offer_minutes, timezone, state, joined_at, updated_at, closes_at)
		select $1, gen_random_uuid(), $3, dates.id, gen_random_uuid(), 1, 'offer', $3, 'CARD', 15, 'UTC',
			case when random() < 0.05 then 'waiting' when random() < 0.5 then 'closed' else 'left' end, now(), now() - random() * interval '900 days', now() + interval '900 days'
		from dates, generate_series(1, 10))
	insert into discount_codes (company_id, id, code, basis_points, created_at, updated_at)
	select $1, gen_random_uuid(), replace(gen_random_uuid()::text, '-', ''), 1000, now(), now() - random() * interval '900 days'
	from generate_series(1, $2::integer)`

func TestSlowWaitlistPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	e, _ := w.fullEvent(1)
	entry := w.waits(e, 1, byOffer)
	for range 40 {
		w.waits(e, 1, byOffer)
	}
	date, customer := idOf[id.EventDate](t, entry.GetEventDateId()), idOf[id.Customer](t, entry.GetCustomerId())
	which := idOf[id.WaitlistEntry](t, entry.GetId())
	at := time.Now().Add(-450 * 24 * time.Hour)
	in := func(order page.Order) page.Page {
		cursor := page.At(at, id.UUID{0x80})
		return page.Page{Order: order, Size: 30, After: &cursor}
	}
	first := func(order page.Order) page.Page { return page.Page{Order: order, Size: 30} }
	entries := func(q store.WaitlistQuery) pg.Statement { q.Now = time.Now(); return q.List(w.company) }
	total := func(q store.WaitlistQuery) pg.Statement { q.Now = time.Now(); return q.Total(w.company) }
	codes := func(q store.DiscountQuery) pg.Statement { return q.List(w.company) }
	list := []struct {
		name, index string
		pg.Statement
	}{
		{"open entries by creation", "waitlist_entries_open", entries(store.WaitlistQuery{Page: in(store.WaitersByCreation())})},
		{"open entries, newest first", "waitlist_entries_open", entries(store.WaitlistQuery{Page: in(store.WaitersByCreationDesc())})},
		{"all entries by creation", "waitlist_entries_pkey", entries(store.WaitlistQuery{Page: in(store.WaitersByCreation()), Ended: true})},
		{"all entries by change", "waitlist_entries_by_change", entries(store.WaitlistQuery{Page: in(store.WaitersByChange()), Ended: true})},
		{"all entries, latest change first", "waitlist_entries_by_change", entries(store.WaitlistQuery{Page: in(store.WaitersByChangeDesc()), Ended: true})},
		{"changed entries", "waitlist_entries_by_change", entries(store.WaitlistQuery{Page: first(store.WaitersByChange()), Ended: true, Since: at})},
		{"entries of a state", "waitlist_entries_by_state", entries(store.WaitlistQuery{Page: in(store.WaitersByCreation()), State: model.EntryLeft})},
		{"expired and closed entries", "waitlist_entries_lapsed", entries(store.WaitlistQuery{Page: in(store.WaitersByCreation()), State: model.EntryExpired, Closed: true})},
		{"a customer's entries", "", entries(store.WaitlistQuery{Page: first(store.WaitersByCreation()), Customer: &customer, Ended: true})},
		{"the number of a customer's entries", "", total(store.WaitlistQuery{Customer: &customer, Ended: true})},
		{"a date's entries", "", entries(store.WaitlistQuery{Page: first(store.WaitersByJoining()), Date: date})},
		{"the number of a date's entries", "", total(store.WaitlistQuery{Date: date})},
		{"positions", "", pg.Statement{SQL: store.PositionsSQL, Args: []any{w.company, []id.WaitlistEntry{which}, []id.EventDate{date}, int64(30)}}},
		{"entries to close", "waitlist_entries_to_close", pg.Statement{SQL: store.ToCloseSQL, Args: []any{time.Now(), int32(closingDates)}}},
		{"codes by creation", "discount_codes_pkey", codes(store.DiscountQuery{Page: in(store.DiscountsByCreationDesc())})},
		{"codes by change", "discount_codes_by_change", codes(store.DiscountQuery{Page: in(store.DiscountsByChange())})},
		{"codes, latest change first", "discount_codes_by_change", codes(store.DiscountQuery{Page: in(store.DiscountsByChangeDesc())})},
		{"changed codes", "discount_codes_by_change", codes(store.DiscountQuery{Page: first(store.DiscountsByChange()), Since: at})},
	}
	small := map[string]float64{}
	for _, size := range []int{10_000, 60_000} {
		if _, err := owner.Exec(t.Context(), fillWaitlistsSQL, w.company, size, idOf[id.Event](t, e.GetId())); err != nil {
			t.Fatal(err)
		}
		vacuum(t, owner)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, s := range list {
				t.Run(fmt.Sprintf("%s with a %s after %d rows: costs the same", s.name, mode, size), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
					index := s.index == ""
					p.walk(func(n plan) {
						index = index || n.Index == s.index
						if n.Type == "Seq Scan" && (n.Table == "waitlist_entries" || n.Table == "event_dates" || n.Table == "discount_codes") {
							t.Errorf("reads all of %s", n.Table)
						}
						if n.Rows*n.Loops > 200 {
							t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, n.Rows*n.Loops)
						}
					})
					if !index {
						t.Errorf("does not use %s", s.index)
					}
					key := s.name + mode
					if small[key] == 0 {
						small[key] = p.Hit + p.Read
					}
					// A page has up to 31 entries and dates, each of which can be in a different block.
					if most := 1.5*small[key] + 80; p.Hit+p.Read > most {
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
