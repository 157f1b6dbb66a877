package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// waitingSQL counts the entries that wait for the date d, if it is still to come. $2 is the present.
	waitingSQL = `(select count(*) from waitlist_entries w where w.company_id = $1 and w.event_date_id = d.id and w.state = 'waiting'
			and d.status = 'scheduled' and d.starts_at > $2)`

	scheduledColumns = dateColumns + `, e.title, e.type, e.status, e.location, e.updated_at, e.version, ` + rulesColumns +
		`, p.price, coalesce(p.currency, ''), ` + waitingSQL

	// listDatesSQL walks the index of dates by start. The lowest price and the waiting entries of each date
	// on the page are looked up one by one.
	listDatesSQL = `select ` + scheduledColumns + ` from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
		left join lateral (select o.price, o.currency from pricing_options o
			where o.company_id = $1 and o.event_id = d.event_id and o.ended_at is null
				and (o.length_minutes is null or o.length_minutes = d.duration_minutes)
			order by o.whole_course, o.price, o.position, o.id limit 1) p on true
		where d.company_id = $1`

	countDatesSQL = `select from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
		where d.company_id = $1`

	// notVacated leaves out dates of appointments that lost their booking, because it was moved or its hold ended.
	notVacated = ` and d.vacated_at is null`

	waitingOfSQL = `select w.event_date_id, count(*) from waitlist_entries w
		where w.company_id = $1 and w.event_date_id` + pg.AmongIDs + ` and w.state = 'waiting' group by w.event_date_id`
)

// ScheduleQuery is the filters and the page of a list of dates.
type ScheduleQuery struct {
	Page         page.Page
	Event        *id.Event         // nil: all events
	IDs          []id.EventDate    // empty: all dates
	From, Before time.Time         // zero: none
	EventType    model.EventType   // "": any
	EventStatus  model.EventStatus // "": any
	Status       model.DateStatus  // "": any
	UpdatedSince time.Time         // zero: none
	Available    bool              // only dates that can be booked
	Published    bool              // only dates of published events, none of appointments, and without staff
	MostCounted  int64             // limit of the total; 0: not counted
	Now          time.Time
}

// filter adds the conditions of q.
func (q *ScheduleQuery) filter(s *pg.Statement) {
	if q.Event != nil {
		s.And("d.event_id = %s", *q.Event)
	}
	if len(q.IDs) > 0 {
		s.And("d.id = any(%s)", q.IDs)
	}
	if !q.From.IsZero() {
		s.And("d.starts_at >= %s", q.From)
	}
	if !q.Before.IsZero() {
		s.And("d.starts_at < %s", q.Before)
	}
	if q.EventType != "" {
		s.And("e.type = %s", string(q.EventType))
	}
	if q.EventStatus != "" {
		s.And("e.status = %s", string(q.EventStatus))
	}
	if q.Status != "" {
		s.And("d.status = %s", string(q.Status))
	}
	if !q.UpdatedSince.IsZero() {
		s.And("e.updated_at >= %s", q.UpdatedSince)
	}
	if q.Published {
		s.SQL += " and e.status = 'published' and not e.of_appointments"
	}
	if q.Available {
		s.And(bookableSQL, q.Now, q.Now, q.Now, q.Now, q.Now)
	}
}

// List returns the statement that reads the page and one more date, without vacated dates of appointments.
func (q *ScheduleQuery) List(company id.Company) pg.Statement {
	s := q.rows(company)
	s.SQL += notVacated
	q.Page.Add(&s)
	return s
}

// rows returns the statement that reads all dates that match.
func (q *ScheduleQuery) rows(company id.Company) pg.Statement {
	s := pg.Statement{SQL: listDatesSQL, Args: []any{company, q.Now}}
	q.filter(&s)
	return s
}

// Total returns the statement that counts the dates that match, up to the limit. It walks the same index
// as the list.
func (q *ScheduleQuery) Total(company id.Company) pg.Statement {
	s := pg.Statement{SQL: countDatesSQL, Args: []any{company}}
	q.filter(&s)
	s.SQL += notVacated
	s.SQL = "select count(*) from (" + s.SQL + " order by d.starts_at, d.id limit " + s.Arg(q.MostCounted) + ") n"
	return s
}

// ScheduledDates reads a page of dates ordered by start, plus one more, and the number of dates that
// match.
func (s *Store) ScheduledDates(ctx context.Context, company id.Company, q *ScheduleQuery) (dates []model.ScheduledDate, total int64, err error) {
	list := q.List(company)
	queries := []pg.Query{list.Query(scanScheduled(&dates))}
	if q.MostCounted > 0 {
		count := q.Total(company)
		queries = append(queries, count.Query(pg.First(&total)))
	}
	if err = s.ReadOf(ctx, company, queries...); err != nil {
		return nil, 0, err
	}
	return dates, total, s.readAssigned(ctx, company, dates, q.Published)
}

// readAssigned reads the staff and rooms of dates. Callers that only see what is published see no staff.
func (s *Store) readAssigned(ctx context.Context, company id.Company, dates []model.ScheduledDate, published bool) error {
	ids := make([]id.EventDate, len(dates))
	for i := range dates {
		ids[i] = dates[i].ID
	}
	assigned, err := s.Assignments(ctx, nil, company, ids)
	for i := range dates {
		d := &dates[i]
		d.Assigned = assigned[d.ID]
		if published {
			d.Assigned = d.Shown(model.RoomResource)
		}
	}
	return err
}

// ScheduledDate reads one date. It returns fault.NotFound if the date does not exist, or if published
// is set and its event is not published.
func (s *Store) ScheduledDate(ctx context.Context, company id.Company, date id.EventDate, now time.Time, published bool) (*model.ScheduledDate, error) {
	q := ScheduleQuery{Now: now, Published: published}
	one := q.rows(company)
	one.And("d.id = %s", date)
	var found []model.ScheduledDate
	if err := s.ReadOf(ctx, company, one.Query(scanScheduled(&found))); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.Missing("event date")
	}
	return &found[0], s.readAssigned(ctx, company, found[:1], published)
}

func scanScheduled(into *[]model.ScheduledDate) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var d model.ScheduledDate
		to := append([]any{&d.Event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status,
			&d.EventTitle, &d.EventType, &d.EventStatus, &d.Location, &d.UpdatedAt, &d.Version}, rulesFields(&d.Rules)...)
		err := rows.Scan(append(to, &d.LowestPrice, &d.Currency, &d.Waiting)...)
		*into = append(*into, d)
		return err
	})
}

// Waiting returns the number of entries that wait for each date; dates without entries are left out.
func (s *Store) Waiting(ctx context.Context, tx *pg.Tx, company id.Company, dates ...id.EventDate) (map[id.EventDate]int32, error) {
	waiting := map[id.EventDate]int32{}
	if len(dates) == 0 {
		return waiting, nil
	}
	err := tx.Pipeline(ctx, pg.Query{SQL: waitingOfSQL, Args: []any{company, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
		var date id.EventDate
		var n int32
		err := rows.Scan(&date, &n)
		waiting[date] = n
		return err
	})})
	return waiting, err
}
