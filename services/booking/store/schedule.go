package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Walks the index of dates by start, and counts the waiting entries of each date on the page.
const listDatesSQL = `select ` + dateColumns + `, e.title, e.type, e.status, e.location,
		(select count(*) from waitlist_entries w where w.company_id = $1 and w.event_date_id = d.id and w.state = 'waiting')
	from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
	where d.company_id = $1`

// ScheduleQuery is the filters and the page of a list of dates.
type ScheduleQuery struct {
	Page         page.Page
	Event        *id.Event // nil: all events
	From, Before time.Time // zero: none
}

// ScheduledDates reads a page of dates ordered by start, plus one more.
func (s *Store) ScheduledDates(ctx context.Context, company id.Company, q ScheduleQuery) ([]model.ScheduledDate, error) {
	list := pg.Statement{SQL: listDatesSQL, Args: []any{company}}
	if q.Event != nil {
		list.And("d.event_id = %s", *q.Event)
	}
	if !q.From.IsZero() {
		list.And("d.starts_at >= %s", q.From)
	}
	if !q.Before.IsZero() {
		list.And("d.starts_at < %s", q.Before)
	}
	q.Page.Add(&list)
	var dates []model.ScheduledDate
	err := s.ReadOf(ctx, company, list.Query(pg.Each(func(rows pgx.Rows) error {
		var d model.ScheduledDate
		err := rows.Scan(&d.Event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status,
			&d.EventTitle, &d.EventType, &d.EventStatus, &d.Location, &d.Waiting)
		dates = append(dates, d)
		return err
	})))
	return dates, err
}
