package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

// n events of others, with one date and two options each.
const fillOffersSQL = `with made as (
		insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at)
		select $1, gen_random_uuid(), 'x', '', 'class', 'published', 'UTC', '', now(), now() from generate_series(1, $2::integer) n
		returning id),
	dates as (
		insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
		select $1, gen_random_uuid(), id, now() + random() * interval '90 days', 60, 'UTC' from made)
	insert into pricing_options (company_id, id, event_id, position, name, price, currency, tax_rate_basis_points, ended_at)
	select $1, gen_random_uuid(), id, p, 'Price ' || p, 1200, 'GBP', 0, case p when 1 then now() end from made, generate_series(1, 2) p`

func TestPurchasePlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann := w.customer(w.company, "ann")
	var dates []id.EventDate
	var events []id.Event
	for range 2 {
		e := w.event(w.ctx, nil)
		events = append(events, idOf[id.Event](t, e.GetId()))
		dates = append(dates, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
	}
	statements := []struct {
		name, sql string
		args      []any
	}{
		{"customers", store.KnownCustomersSQL, []any{w.company, []id.Customer{ann}}},
		{"events", store.OfferedEventsSQL, []any{w.company, dates}},
		{"dates", store.LockDatesSQL, []any{w.company, dates}},
		{"spaces", store.TakeSpacesSQL, []any{w.company, dates, []int32{1, 1}}},
		{"options of an import", store.ImportOptionsSQL, []any{w.company, events}},
		{"names of dates in an import", store.ImportNamesSQL, []any{w.company, []string{"Never", "Never either"}, []time.Time{time.Unix(0, 0), time.Unix(60, 0)}}},
	}
	for _, size := range []int{400, 10_000} {
		w.exec(fillOffersSQL, w.company, size)
		w.exec(`insert into customers (company_id, id, first_name, last_name, email, version)
			select $1, gen_random_uuid(), 'x', 'x', 'x@example.com', 1 from generate_series(1, $2::integer)`, w.company, size)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				vacuum(t, owner)
			}
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				for _, s := range statements {
					t.Run(fmt.Sprintf("%s with a %s next to %d others, analyzed %t: reads only what the purchase names", s.name, mode, size, analyzed), func(t *testing.T) {
						p := explain(t, w.db, w.company, mode, s.sql, s.args...)
						// Without statistics, the planner may scan each table, but only once.
						rows, blocks := 20.0, 60.0
						if !analyzed {
							rows, blocks = 2*float64(size)+10, float64(size)
						}
						p.walk(func(n plan) {
							if n.Rows*n.Loops > rows {
								t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, n.Rows*n.Loops)
							}
							if n.Type == "Seq Scan" && analyzed {
								t.Errorf("reads all of %s", n.Table)
							}
						})
						if p.Hit+p.Read > blocks {
							t.Errorf("touches %.0f blocks", p.Hit+p.Read)
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

func TestHistoryPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	b := w.mustBook(w.ctx, w.customer(w.company, "ann"), w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
	for range 3 {
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_CHECKED_IN)
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_NO_SHOW)
	}
	w.exec(`insert into booking_history (company_id, booking_id, sequence, action, at, actor, details)
		select company_id, md5(n::text)::uuid, sequence, action, at, actor, details from booking_history, generate_series(1, 5000) n`)
	vacuum(t, owner)
	which := idOf[id.Booking](t, b)
	for name, s := range map[string]struct {
		sql  string
		args []any
	}{
		"a page":       {store.HistorySQL, []any{w.company, which, int64(2), int64(51)}},
		"the purchase": {store.BookedSQL, []any{w.company, which}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(fmt.Sprintf("%s of a history with a %s next to 30000 other entries: reads only its rows", name, mode), func(t *testing.T) {
				p := explain(t, w.db, w.company, mode, s.sql, s.args...)
				p.walk(func(n plan) {
					if n.Rows*n.Loops > 10 || n.Type == "Seq Scan" && n.Table == "booking_history" {
						t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, n.Rows*n.Loops)
					}
				})
				if p.Hit+p.Read > 40 {
					t.Errorf("touches %.0f blocks", p.Hit+p.Read)
				}
			})
		}
	}
}
