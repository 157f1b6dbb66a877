package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/store"
)

// fillAssignmentsSQL adds n dates of half an hour to one event and assigns each to one of ten people, who have
// 16 dates on each day.
const fillAssignmentsSQL = `with made as (
	insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, appointment_id)
	select $1, i.id, $2, $3::timestamptz + (n / 160) * interval '1 day' + (n / 10 % 16) * interval '30 minutes', 30, 'UTC', i.id
	from generate_series(0, $5::integer - 1) n cross join lateral (select gen_random_uuid() as id offset n * 0) i
	returning id, starts_at), numbered as (
	select id, starts_at, row_number() over (partition by starts_at) as at from made)
	insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
	select $1, id, ($4::uuid[])[at], 'staff', 0, 0, starts_at, starts_at + interval '30 minutes' from numbered`

func TestSlowStaffingPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	event := w.appointmentType()
	var staff []id.StaffMember
	for i := range 10 {
		staff = append(staff, w.teacher(fmt.Sprint(i)))
	}
	date := idOf[id.EventDate](t, w.class(with(staff[0]), -10*time.Hour).GetDates()[0].GetId())
	w.exec(fillAssignmentsSQL, w.company, event, noon(), staff, 160*365)
	if _, err := owner.Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	from := noon().Add(200*24*time.Hour + 15*time.Minute)
	resources, starts, ends := []id.UUID{staff[0].UUID(), staff[1].UUID()}, []time.Time{from, from}, []time.Time{from.Add(time.Minute), from.Add(time.Minute)}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, s := range []struct {
			name, sql string
			args      []any
			most      float64 // blocks
		}{
			{"whose time is taken", store.OccupiedSQL, []any{w.company, resources, starts, ends, []id.EventDate{date}}, 1500},
			{"the assignments of a date", store.AssignmentsSQL, []any{w.company, []id.EventDate{date}}, 20},
		} {
			t.Run(fmt.Sprintf("%s is read in an index, with a %s", s.name, mode), func(t *testing.T) {
				p := explain(t, w.db, w.company, mode, s.sql, s.args...)
				index := false
				p.walk(func(n plan) {
					index = index || n.Index == "assignments_by_time" || n.Index == "assignments_pkey"
					if n.Table == "assignments" && n.Type == "Seq Scan" {
						t.Error("reads all assignments")
					}
				})
				if blocks := p.Hit + p.Read; blocks > s.most || !index {
					t.Errorf("touches %.0f blocks\n%s", blocks, p)
				}
			})
		}
	}
	t.Run("a thousand dates with ten people whose calendars are full are placed in seconds", func(t *testing.T) {
		req := classOf(with(staff[0], staff[1], staff[2], staff[3], staff[4], staff[5], staff[6], staff[7], staff[8], staff[9]))
		for i := range 1000 {
			req.Dates = append(req.Dates, classOf(nil, time.Duration(i%365)*24*time.Hour+time.Duration(9+i/365)*time.Hour).GetDates()...)
		}
		began := time.Now()
		w.createEvent(w.ctx, req)
		took := time.Since(began)
		t.Logf("%s", took)
		if took > 20*time.Second {
			t.Errorf("took %s", took)
		}
	})
}
