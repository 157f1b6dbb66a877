package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// Most assignments that overlap a span begin at most two days before it. The few longer ones have an index
	// of their own, so a span costs the same however long the history is.
	overlapOfResource = ` cross join lateral (` + overlapColumns + ` and a.taken_until - a.taken_from <= interval '2 days'
				and a.taken_from > $2::timestamptz - interval '48 hours' and a.taken_from < $3 and a.taken_until > $2
			union all ` + overlapColumns + ` and a.taken_until - a.taken_from > interval '2 days'
				and a.taken_until > $2 and a.taken_from < $3 offset 0) a`

	overlapColumns = `select a.event_date_id, a.kind, a.unit, a.taken_from, a.taken_until, a.substitutes_for
			from assignments a where a.company_id = $1 and a.resource_id = r.id and a.active`

	firstAssignments = ` order by a.taken_from, r.id, a.unit limit $4) a`

	takenColumns = `select a.id, a.kind, a.unit, a.taken_from, a.taken_until, a.event_date_id, a.substitutes_for,
			d.event_id, e.title, d.starts_at, d.duration_minutes, d.is_appointment from (select r.id, a.* from (`

	// TakenTimesSQL reads what takes the time of all staff members and rooms.
	TakenTimesSQL = takenColumns + `select s.id from staff s where s.company_id = $1
			union all select o.id from rooms o where o.company_id = $1) r` + overlapOfResource + firstAssignments + datesOfTaken

	// TakenTimesOfSQL reads what takes the time of some of them.
	TakenTimesOfSQL = takenColumns + `select unnest($5::uuid[]) as id) r` + overlapOfResource + firstAssignments + datesOfTaken

	datesOfTaken = ` cross join lateral (select d.event_id, d.starts_at, d.duration_minutes, d.appointment_id is not null as is_appointment
			from event_dates d where d.company_id = $1 and d.id = a.event_date_id offset 0) d
		cross join lateral (select e.title from events e where e.company_id = $1 and e.id = d.event_id offset 0) e
		order by a.taken_from, a.id, a.unit`

	// AppointmentsOnDatesSQL reads the bookings that have the space of appointments' dates: at most one each.
	AppointmentsOnDatesSQL = `select b.id from (select unnest($2::uuid[]) as id) d` + bookingOnDate + purchaseOfAppointment + `
		where not b.is_cancelled and p.status <> 'released'`
)

// TakenTimeQuery is the span and the resources of a list of assignments.
type TakenTimeQuery struct {
	From, Until time.Time
	Resources   []id.UUID // nil: all
	Max         int
}

// TakenTimes reads what takes the time of staff and rooms in a span, by start: at most Max assignments,
// and one more if there are more.
func (s *Store) TakenTimes(ctx context.Context, company id.Company, q TakenTimeQuery) ([]model.TakenTime, error) {
	sql, args := TakenTimesSQL, []any{company, q.From, q.Until, q.Max + 1}
	if q.Resources != nil {
		sql, args = TakenTimesOfSQL, append(args, q.Resources)
	}
	var list []model.TakenTime
	err := s.ReadOf(ctx, company, pg.Query{SQL: sql, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
		var t model.TakenTime
		err := rows.Scan(&t.Resource, &t.Kind, &t.Unit, &t.From, &t.Until, &t.Date, &t.SubstitutesFor,
			&t.Event, &t.Title, &t.StartsAt, &t.Minutes, &t.IsAppointment)
		list = append(list, t)
		return err
	})})
	return list, err
}

// AppointmentsOnDates reads the appointments that have the spaces of dates, in two round trips.
func (s *Store) AppointmentsOnDates(ctx context.Context, company id.Company, dates []id.EventDate) (map[id.EventDate]*model.AppointmentBooking, error) {
	found := make(map[id.EventDate]*model.AppointmentBooking, len(dates))
	if len(dates) == 0 {
		return found, nil
	}
	var ids []id.Booking
	err := s.ReadOf(ctx, company, pg.Query{SQL: AppointmentsOnDatesSQL, Args: []any{company, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
		var b id.Booking
		err := rows.Scan(&b)
		ids = append(ids, b)
		return err
	})})
	if err != nil {
		return nil, err
	}
	list, err := s.Appointments(ctx, nil, company, ids)
	for i := range list {
		found[list[i].Slot.Date] = &list[i]
	}
	return found, err
}
