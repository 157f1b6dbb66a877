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
	for day := range 365 / 5 {
		w.exec(fillAssignmentsSQL, w.company, event, noon().AddDate(0, 0, 5*day), staff, 160*5)
	}
	vacuum(t, owner)
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

// fillBusySQL adds n assignments of half an hour, one each hour from $4 on, to a unit of a resource.
const fillBusySQL = `insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
	select $1, gen_random_uuid(), $2, case when $3 = 0 then 'staff' else 'room' end, $3::integer, 0, at, at + interval '30 minutes'
	from (select $4::timestamptz + n * interval '1 hour' as at from generate_series(0, $5::integer - 1) n) n`

// TestSlowConflictPlans checks that a decision about some time of a resource with 10,000 assignments to come reads
// only those near this time.
func TestSlowConflictPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann, hall := w.teacher("Ann").UUID(), w.studio("Hall", 3).UUID()
	w.exec(fillBusySQL, w.company, ann, 0, noon(), 10_000)
	w.exec(fillBusySQL, w.company, hall, 1, noon(), 10_000)
	w.exec(fillBusySQL, w.company, hall, 2, noon(), 10_000)
	// A class of 30 days.
	w.exec(`delete from assignments where resource_id = $1 and taken_from between $2 and $2 + interval '30 days'`, ann, noon().AddDate(0, 0, 50))
	long := id.New[id.EventDate]()
	w.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
		values ($1, $2, $3, 'staff', 0, 0, $4::timestamptz, $4::timestamptz + interval '30 days')`, w.company, long, ann, noon().AddDate(0, 0, 50))
	vacuum(t, owner)
	at := noon().AddDate(0, 0, 20)
	none, times := []id.EventDate{long}, func(at time.Time) []time.Time { return []time.Time{at, at} }
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, s := range []struct {
			name, sql string
			args      []any
			index     string
			most      float64 // rows
		}{
			{"whose time is taken", store.OccupiedSQL,
				[]any{w.company, []id.UUID{ann, hall}, times(at), times(at.Add(time.Hour)), none}, "assignments_by_unit", 8},
			{"who is in a long class", store.OccupiedSQL,
				[]any{w.company, []id.UUID{ann, ann}, times(at.AddDate(0, 0, 32)), times(at.AddDate(0, 0, 33)), []id.EventDate{}}, "assignments_by_time", 10},
			{"a day off", store.TimeOffConflictsSQL, []any{w.company, ann, at, at.AddDate(0, 0, 1)}, "assignments_by_time", 25},
			{"a day off in a long class", store.TimeOffConflictsSQL,
				[]any{w.company, ann, at.AddDate(0, 0, 32), at.AddDate(0, 0, 33)}, "assignments_by_time", 10},
			{"a unit that is never taken", store.UnitConflictsSQL, []any{w.company, hall, at, int32(3), int32(100)}, "assignments_by_unit", 98},
		} {
			t.Run(fmt.Sprintf("%s is read within a few days, with a %s", s.name, mode), func(t *testing.T) {
				p := explain(t, w.db, w.company, mode, s.sql, s.args...)
				index := false
				p.walk(func(n plan) {
					index = index || n.Index == s.index
					if rows := (n.Rows + n.Removed) * n.Loops; rows > s.most {
						t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, rows)
					}
				})
				if blocks := p.Hit + p.Read; blocks > 350 || !index {
					t.Errorf("touches %.0f blocks, uses %s: %t", blocks, s.index, index)
				}
				if t.Failed() {
					t.Log(p)
				}
			})
		}
	}
}
