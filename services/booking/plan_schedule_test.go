package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/store"
)

// fillDatesSQL adds n hourly dates to every event.
const fillDatesSQL = `insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
	select $1, gen_random_uuid(), e.id, now() + n * interval '1 hour', 60, 'UTC'
	from events e cross join generate_series(24, 23 + $2::integer) n where e.company_id = $1`

// fillCalendarSQL adds n events with one date each, in 2028. One in fifty is a course.
const fillCalendarSQL = `with made as (
	insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at)
	select $1, gen_random_uuid(), 'x', '', case when n % 50 = 0 then 'course' else 'class' end, 'published', 'UTC', '', t.at, t.at
	from generate_series(1, $2::integer) n cross join lateral (select timestamptz '2026-01-01 00:00:00Z' + n * interval '1 minute' as at) t
	returning id, created_at)
	insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
	select $1, gen_random_uuid(), id, created_at + interval '2 years', 60, 'UTC' from made`

func TestSlowCalendarPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	event, date := idOf[id.Event](t, e.GetId()), idOf[id.EventDate](t, e.GetDates()[0].GetId())
	for range 50 {
		w.mustBook(w.ctx, ann, e, 1)
	}
	now := time.Now()
	from := time.Date(2028, 1, 2, 0, 0, 0, 0, time.UTC)
	cursor := page.At(from, id.UUID{})
	next := page.Page{Order: store.DatesByStart(), Size: 30, After: &cursor}
	first := page.Page{Order: store.DatesByStart(), Size: 30}
	list := func(q store.ScheduleQuery) pg.Statement {
		q.Now = now
		return q.List(w.company)
	}
	total := func(q store.ScheduleQuery) pg.Statement {
		q.Now, q.MostCounted = now, 50
		return q.Total(w.company)
	}
	statements := []struct {
		name, index string
		pg.Statement
	}{
		{"the first page of dates", "event_dates_by_start", list(store.ScheduleQuery{Page: first})},
		{"a later page of dates", "event_dates_by_start", list(store.ScheduleQuery{Page: next})},
		{"a week of dates that are available", "event_dates_by_start", list(store.ScheduleQuery{Page: first, From: from, Before: from.AddDate(0, 0, 7), Available: true})},
		{"the dates of one event", "", list(store.ScheduleQuery{Page: first, Event: &event})},
		{"the number of dates, up to a limit", "event_dates_by_start", total(store.ScheduleQuery{From: from})},
		{"the number of available dates, up to a limit", "event_dates_by_start", total(store.ScheduleQuery{Available: true})},
		{"who cannot book a date again", "bookings_by_date", pg.Statement{SQL: store.AttendeesSQL,
			Args: []any{w.company, []id.EventDate{date}, []id.Customer{ann}, []id.Booking{id.New[id.Booking]()}}}},
	}
	small := map[string]float64{}
	for _, size := range []int{5_000, 30_000} {
		for sql, n := range map[string]int{fillCalendarSQL: size, fillBookingsSQL: size} {
			if _, err := owner.Exec(t.Context(), sql, w.company, n); err != nil {
				t.Fatal(err)
			}
		}
		// Ann's history does not delay a purchase of hers.
		if _, err := owner.Exec(t.Context(), `update transactions set purchaser_id = $2 where company_id = $1`, w.company, ann); err != nil {
			t.Fatal(err)
		}
		vacuum(t, owner)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, s := range statements {
				t.Run(fmt.Sprintf("%s with a %s after %d rows cost the same (invariant 14)", s.name, mode, size), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
					index := s.index == ""
					p.walk(func(n plan) {
						index = index || n.Index == s.index
						if n.Type == "Seq Scan" && n.Table != "" && n.Table != "waitlist_entries" && n.Table != "pricing_options" {
							t.Errorf("reads all of %s", n.Table)
						}
					})
					if !index {
						t.Errorf("does not use %s", s.index)
					}
					key := s.name + mode
					if small[key] == 0 {
						small[key] = p.Hit + p.Read
					}
					if most := 1.5*small[key] + 40; p.Hit+p.Read > most {
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

func TestSummaryPlans(t *testing.T) {
	t.Parallel()
	w, owner := newPlanWorld(t)
	var events []id.Event
	for range 20 {
		events = append(events, idOf[id.Event](t, w.event(w.ctx, nil).GetId()))
	}
	const dates = 500
	if _, err := owner.Exec(t.Context(), fillDatesSQL, w.company, dates); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			vacuum(t, owner)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, c := range []struct {
				name, sql string
				args      []any
				most      float64 // rows of an event's dates
			}{
				{"a summary reads each date of the page's events once", store.SummariesSQL, []any{w.company, events, now}, dates + 3},
				{"a page with 3 dates of each event reads no others", store.ShownDatesSQL, []any{w.company, events, now, int32(3)}, 4},
			} {
				t.Run(fmt.Sprintf("%s, with a %s, analyzed %t", c.name, mode, analyzed), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, c.sql, c.args...)
					read := 0.0
					p.walk(func(n plan) {
						if n.Table == "event_dates" {
							read += n.Rows * n.Loops
						}
					})
					if most := c.most * float64(len(events)); read > most {
						t.Errorf("reads %.0f dates, more than %.0f\n%s", read, most, p)
					}
				})
			}
		}
	}
}
