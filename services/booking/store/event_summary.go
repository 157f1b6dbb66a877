package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// SummariesSQL summarizes the dates of each event as model.Summarize does, without sending them. $3 is
	// the present. It leaves out vacated dates of appointments. The duration of the first date is a sub-select,
	// because the planner could begin with a join, and summarize the event for each of its dates.
	SummariesSQL = `select e.id, s.dates, s.upcoming, s.first_start, (select d.duration_minutes from event_dates d
				where d.company_id = $1 and d.event_id = e.id and d.starts_at = s.first_start and d.vacated_at is null order by d.id limit 1), s.last_end, s.unlimited, s.capacity, s.booked,
			n.id, n.starts_at, n.duration_minutes, n.timezone, n.capacity, n.booked
		from unnest($2::uuid[]) e(id)
		cross join lateral (
			select count(*)::integer as dates, (count(*) filter (where d.upcoming))::integer as upcoming,
				coalesce(min(d.starts_at) filter (where d.scheduled), min(d.starts_at)) as first_start,
				coalesce(max(d.ends_at) filter (where d.scheduled), max(d.ends_at)) as last_end,
				coalesce(bool_or(d.capacity is null) filter (where d.upcoming or d.single), false) as unlimited,
				coalesce(sum(d.capacity) filter (where d.upcoming or d.single), 0)::bigint as capacity,
				coalesce(sum(d.booked) filter (where d.upcoming or d.single), 0)::bigint as booked
			from (
				select d.starts_at, d.starts_at + make_interval(mins => d.duration_minutes) as ends_at, d.capacity, d.booked,
					d.status = 'scheduled' as scheduled, d.status = 'scheduled' and d.starts_at > $3 as upcoming, count(*) over () = 1 as single
				from event_dates d where d.company_id = $1 and d.event_id = e.id and d.vacated_at is null) d
			having count(*) > 0) s
		left join lateral (select d.id, d.starts_at, d.duration_minutes, d.timezone, d.capacity, d.booked from event_dates d
			where d.company_id = $1 and d.event_id = e.id and d.status = 'scheduled' and d.starts_at > $3
			order by d.starts_at, d.appointment_id limit 1) n on true`

	// ShownDatesSQL selects the dates of each event that are to come, and if there are none, the last
	// ones; at most $4. Whether there are any is a sub-select with a limit, which is evaluated once for
	// each event; an exists would become a join with every date. Dates of appointments that start at the
	// same time are in the order of the index. Vacated ones are left out.
	ShownDatesSQL = `select ` + dateColumns + ` from unnest($2::uuid[]) n(id)` + shownOfEach

	// shownAppointmentsSQL does the same for the events of appointments.
	shownAppointmentsSQL = `select ` + dateColumns + ` from (select e.id from events e
			where e.company_id = $1 and e.id` + pg.AmongIDs + ` and e.of_appointments offset 0) n` + shownOfEach

	shownOfEach = ` cross join lateral (
			(select * from event_dates d where d.company_id = $1 and d.event_id = n.id and d.status = 'scheduled' and d.starts_at > $3
				order by d.starts_at, d.appointment_id limit $4)
			union all
			(select * from event_dates d where d.company_id = $1 and d.event_id = n.id and d.vacated_at is null
					and (select u.id from event_dates u where u.company_id = $1 and u.event_id = n.id
						and u.status = 'scheduled' and u.starts_at > $3 limit 1) is null
				order by d.starts_at desc, d.appointment_id desc limit $4)
		) d order by d.event_id, d.starts_at, d.id`
)

// summaries returns the query that reads the summaries of events. It leaves out events without dates.
func summaries(company id.Company, events []id.Event, now time.Time, into map[id.Event]*model.Summary) pg.Query {
	return pg.Query{SQL: SummariesSQL, Args: []any{company, events, now}, Scan: pg.Each(func(rows pgx.Rows) error {
		var e id.Event
		var s model.Summary
		var unlimited bool
		var capacity int64
		var next summaryDate
		err := rows.Scan(append([]any{&e, &s.Dates, &s.Upcoming, &s.StartsAt, &s.Minutes, &s.EndsAt, &unlimited, &capacity, &s.Taken},
			next.fields()...)...)
		if !unlimited {
			s.Capacity = &capacity
		}
		s.Next = next.date()
		into[e] = &s
		return err
	})}
}

// summaryDate scans a date whose columns can all be null.
type summaryDate struct {
	id       id.EventDate
	startsAt *time.Time
	minutes  *int32
	timezone *string
	capacity *int32
	booked   *int32
}

func (d *summaryDate) fields() []any {
	return []any{&d.id, &d.startsAt, &d.minutes, &d.timezone, &d.capacity, &d.booked}
}

// date returns the date; nil if there is none.
func (d *summaryDate) date() *model.EventDate {
	if d.id.IsZero() {
		return nil
	}
	return &model.EventDate{
		ID: d.id, StartsAt: *d.startsAt, Minutes: *d.minutes, Timezone: *d.timezone, Capacity: d.capacity, Booked: *d.booked, Status: model.Scheduled,
	}
}
