package booking

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// scheduledDate is a date with what a calendar shows of its event.
type scheduledDate struct {
	EventDate
	event    id.Event
	title    string
	kind     EventType
	status   EventStatus
	location string
	waiting  int32
}

// The index of dates by their start is walked in its order, and of each date of
// the page those who wait are counted.
const listDatesSQL = `select ` + dateColumns + `, e.title, e.type, e.status, e.location,
		(select count(*) from waitlist_entries w where w.company_id = $1 and w.event_date_id = d.id and w.state = 'waiting')
	from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
	where d.company_id = $1`

// scheduleQuery says which dates a list is to hold.
type scheduleQuery struct {
	Page         page.Page
	event        *id.Event // nil: of all
	from, before time.Time // zero: none
}

// scheduled reads a page of dates in the order of their start, and one more.
func (s *store) scheduled(ctx context.Context, company id.Company, q scheduleQuery) ([]scheduledDate, error) {
	list := pg.Statement{SQL: listDatesSQL, Args: []any{company}}
	if q.event != nil {
		list.And("d.event_id = %s", *q.event)
	}
	if !q.from.IsZero() {
		list.And("d.starts_at >= %s", q.from)
	}
	if !q.before.IsZero() {
		list.And("d.starts_at < %s", q.before)
	}
	q.Page.Add(&list)
	var dates []scheduledDate
	err := s.ReadOf(ctx, company, list.Query(pg.Each(func(rows pgx.Rows) error {
		var d scheduledDate
		err := rows.Scan(&d.event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status,
			&d.title, &d.kind, &d.status, &d.location, &d.waiting)
		dates = append(dates, d)
		return err
	})))
	return dates, err
}
