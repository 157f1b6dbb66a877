package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const coursesSQL = `select e.id, array(select d.id from event_dates d where d.company_id = $1 and d.event_id = e.id
				and d.status = 'scheduled' and d.starts_at > $3 order by d.starts_at limit $4),
			array(select o.id from pricing_options o where o.company_id = $1 and o.event_id = e.id and o.ended_at is null and o.whole_course),
			exists (select from pricing_options o where o.company_id = $1 and o.event_id = e.id and o.ended_at is null and not o.whole_course)
		from unnest($2::uuid[]) e(id)`

// Courses returns the events that are courses sold as a whole, with their dates to come.
func (s *Store) Courses(ctx context.Context, company id.Company, events map[id.Event]model.UndatedEvent, now func() time.Time) (map[id.Event]*model.WholeCourse, error) {
	var courses []id.Event
	for e := range events {
		if events[e].IsCourse {
			courses = append(courses, e)
		}
	}
	if len(courses) == 0 {
		return nil, nil
	}
	found := map[id.Event]*model.WholeCourse{}
	args := []any{company, courses, now(), model.MaxBookings + 1}
	err := s.ReadOf(ctx, company, pg.Query{SQL: coursesSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
		var e id.Event
		var c model.WholeCourse
		err := rows.Scan(&e, &c.Dates, &c.Options, &c.Singles)
		found[e] = &c
		return err
	})})
	return found, err
}
