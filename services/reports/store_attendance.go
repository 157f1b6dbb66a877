package reports

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	attendanceSums = `sum(a.dates)::bigint, sum(a.booked)::bigint, sum(a.attended)::bigint, sum(a.no_shows)::bigint, sum(a.cancelled)::bigint,
			sum(a.cancelled_late)::bigint, sum(a.capacity)::bigint, sum(a.booked_of_capacity)::bigint`

	// eventCounts is whether the dates of an event e count. Appointments count with any status of their event.
	eventCounts = `(a.is_appointment or e.status is distinct from 'draft' and e.status is distinct from 'deleted')`

	attendanceByDaySQL = `select a.day, ` + attendanceSums + ` from event_attendance a
		left join events e on e.company_id = $1 and e.generation = $2 and e.id = a.event_id
		where a.company_id = $1 and a.generation = $2 and a.day between $3 and $4 and ` + eventCounts + ` group by a.day`

	// attendanceByEventSQL reads the sums of whole months, from $3 to $4, and of the other days, from $6 to $7. It
	// returns a row for the span ($5 and $8 are true) and one for the span before.
	attendanceByEventSQL = `select a.event_id, coalesce(e.title, ''), a.is_now, ` + attendanceSums + ` from (
			select m.*, p.is_now from unnest($3::date[], $4::date[], $5::boolean[]) p (since, until, is_now) cross join lateral (
				select * from monthly_attendance where company_id = $1 and generation = $2 and day between p.since and p.until offset 0) m
			union all
			select d.*, p.is_now from unnest($6::date[], $7::date[], $8::boolean[]) p (since, until, is_now) cross join lateral (
				select * from event_attendance where company_id = $1 and generation = $2 and day between p.since and p.until offset 0) d) a
		left join events e on e.company_id = $1 and e.generation = $2 and e.id = a.event_id
		where ` + eventCounts + ` group by a.event_id, e.title, a.is_now`
)

func (c *counted) fields() []any {
	return []any{&c.dates, &c.booked, &c.attended, &c.noShows, &c.cancelled, &c.cancelledLate, &c.capacity, &c.bookedOfCapacity}
}

// dayAttendance is the attendance of a day.
type dayAttendance struct {
	day Day
	counted
}

// attendanceByDay reads attendance by day, in both spans.
func (s *store) attendanceByDay(ctx context.Context, c compared) ([]dayAttendance, error) {
	var all []dayAttendance
	args := []any{c.company, c.generation, c.before.from, c.span.to}
	err := s.ReadOf(ctx, c.company, pg.Query{SQL: attendanceByDaySQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
		var r dayAttendance
		err := rows.Scan(append([]any{&r.day}, r.fields()...)...)
		all = append(all, r)
		return err
	})})
	return all, err
}

// eventAttendance is the attendance of an event in both spans.
type eventAttendance struct {
	event       id.Event
	title       string
	now, before counted
}

// attendanceByEvent reads attendance by event.
func (s *store) attendanceByEvent(ctx context.Context, c compared) ([]eventAttendance, error) {
	found := map[id.Event]*eventAttendance{}
	err := s.ReadOf(ctx, c.company, pg.Query{SQL: attendanceByEventSQL, Args: attendanceArgs(c), Scan: pg.Each(func(rows pgx.Rows) error {
		var r eventAttendance
		var isNow bool
		var n counted
		if err := rows.Scan(append([]any{&r.event, &r.title, &isNow}, n.fields()...)...); err != nil {
			return err
		}
		if found[r.event] == nil {
			found[r.event] = &r
		}
		if isNow {
			found[r.event].now = n
		} else {
			found[r.event].before = n
		}
		return nil
	})})
	all := make([]eventAttendance, 0, len(found))
	for _, r := range found {
		all = append(all, *r)
	}
	return all, err
}

// parts are spans that a statement reads, and whether each belongs to the span or to the span before.
type parts struct {
	since, until []Day
	isNow        []bool
}

func (p *parts) add(s span, isNow bool) {
	if s.from <= s.to {
		p.since, p.until, p.isNow = append(p.since, s.from), append(p.until, s.to), append(p.isNow, isNow)
	}
}

// attendanceArgs returns the arguments of attendanceByEventSQL.
func attendanceArgs(c compared) []any {
	var months, days parts
	for _, isNow := range []bool{true, false} {
		of := c.before
		if isNow {
			of = c.span
		}
		start, middle, end := of.wholeMonths()
		days.add(start, isNow)
		months.add(middle, isNow)
		days.add(end, isNow)
	}
	return []any{c.company, c.generation, months.since, months.until, months.isNow, days.since, days.until, days.isNow}
}
