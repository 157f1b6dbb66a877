package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// AppointmentSlotsSQL reads the dates of appointments with their assignments.
const AppointmentSlotsSQL = `select d.id, d.event_id, e.title, e.location, d.sequence, d.status, d.starts_at, d.duration_minutes, d.timezone,
		a.kind, a.resource_id, coalesce(n.name, ''), coalesce(n.color, ''), coalesce(a.unit, 0), coalesce(a.position, 0),
		coalesce(a.buffer_before, 0), coalesce(a.buffer_after, 0), a.taken_from, a.taken_until, coalesce(a.active, false), a.substitutes_for
	from (select d.id, d.event_id, d.sequence, d.status, d.starts_at, d.duration_minutes, d.timezone from event_dates d
		where d.company_id = $1 and d.id` + pg.AmongIDs + ` and d.appointment_id is not null offset 0) d
	cross join lateral (select e.title, e.location from events e where e.company_id = $1 and e.id = d.event_id offset 0) e
	left join lateral (` + assignmentsOfDate + `) a on true
	left join lateral (` + nameOfResource + `) n on true
	order by d.id, a.position, a.resource_id`

const (
	assignmentsOfDate = `select a.kind, a.resource_id, a.unit, a.position, a.buffer_before, a.buffer_after, a.taken_from,
			a.taken_until, a.active, a.substitutes_for
		from assignments a where a.company_id = $1 and a.event_date_id = d.id offset 0`

	nameOfResource = `select s.name, s.color from staff s where s.company_id = $1 and s.id = a.resource_id and a.kind = 'staff'
		union all select r.name, '' from rooms r where r.company_id = $1 and r.id = a.resource_id and a.kind = 'room' offset 0`
)

// AppointmentSlots reads the slots of the appointments on dates, in one round trip. It omits dates that
// belong to other kinds of events. Without tx, it runs in its own transaction.
func (s *Store) AppointmentSlots(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate) (map[id.EventDate]*model.AppointmentSlot, error) {
	found := make(map[id.EventDate]*model.AppointmentSlot, len(dates))
	if len(dates) == 0 {
		return found, nil
	}
	query := slotsQuery(company, dates, found)
	if tx != nil {
		return found, tx.Pipeline(ctx, query)
	}
	return found, s.ReadOf(ctx, company, query)
}

// slotsQuery returns the query that adds the slots of dates to found.
func slotsQuery(company id.Company, dates []id.EventDate, found map[id.EventDate]*model.AppointmentSlot) pg.Query {
	return pg.Query{SQL: AppointmentSlotsSQL, Args: []any{company, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
		var slot model.AppointmentSlot
		var a model.Assignment
		var kind *string
		var from, until *time.Time
		err := rows.Scan(&slot.Date, &slot.Type, &slot.Title, &slot.Location, &slot.Sequence, &slot.DateStatus, &slot.StartsAt, &slot.Minutes,
			&slot.Timezone, &kind, &a.Resource, &a.Name, &a.Color, &a.Unit, &a.Position, &a.Before, &a.After, &from, &until,
			&a.Active, &a.SubstitutesFor)
		if err != nil {
			return err
		}
		to := found[slot.Date]
		if to == nil {
			to = &slot
			found[slot.Date] = to
		}
		if kind != nil {
			a.Date, a.Kind, a.From, a.Until = slot.Date, model.ResourceKind(*kind), from.UTC(), until.UTC()
			to.Add(a)
		}
		return nil
	})}
}
