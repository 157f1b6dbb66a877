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

// ownDatesSQL walks the assignments of a staff member by start, and reads the date and the event of each. An
// assignment that is not active counts only if the date of a class was cancelled.
const ownDatesSQL = `select d.event_id, d.id, d.starts_at, d.duration_minutes, d.timezone, d.capacity, d.booked, d.status,
		e.title, e.type, e.location
	from assignments a
	cross join lateral (select d.* from event_dates d where d.company_id = $1 and d.id = a.event_date_id and d.vacated_at is null offset 0) d
	cross join lateral (select e.title, e.type, e.location from events e
		where e.company_id = $1 and e.id = d.event_id and e.deleted_at is null offset 0) e
	where a.company_id = $1 and a.resource_id = $2 and a.kind = 'staff'
		and (a.active or d.status = 'cancelled' and a.position >= 0 and d.appointment_id is null)`

// lockOwnDateSQL locks the assignment alone.
const lockOwnDateSQL = ownDatesSQL + ` and a.event_date_id = $3 for share of a`

// OwnDatesByStart is the order of the dates of a staff member.
func OwnDatesByStart() page.Order {
	return page.Order{Code: 90, Column: "a.starts_at", ID: "a.event_date_id"}
}

// OwnDateQuery is the span and the page of a list of the dates of a staff member.
type OwnDateQuery struct {
	Page        page.Page
	Staff       id.StaffMember
	From, Until time.Time
}

// List returns the statement that reads the page and one more date.
func (q *OwnDateQuery) List(company id.Company) pg.Statement {
	s := pg.Statement{SQL: ownDatesSQL, Args: []any{company, q.Staff}}
	s.And("a.starts_at >= %s", q.From)
	s.And("a.starts_at < %s", q.Until)
	q.Page.Add(&s)
	return s
}

// OwnDates reads a page of the dates of a staff member with their rooms, plus one more.
func (s *Store) OwnDates(ctx context.Context, company id.Company, q *OwnDateQuery) ([]model.ScheduledDate, error) {
	return s.ownDates(ctx, company, q.List(company))
}

// OwnDate reads one date of a staff member. It returns fault.NotFound for every other date.
func (s *Store) OwnDate(ctx context.Context, company id.Company, staff id.StaffMember, date id.EventDate) (*model.ScheduledDate, error) {
	one := pg.Statement{SQL: ownDatesSQL, Args: []any{company, staff}}
	one.And("a.event_date_id = %s", date)
	found, err := s.ownDates(ctx, company, one)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.Missing("event date")
	}
	return &found[0], nil
}

// LockOwnDate reports whether a date is one of a staff member, and keeps its assignment to this person from changing until
// the end of tx.
func (s *Store) LockOwnDate(ctx context.Context, tx *pg.Tx, company id.Company, staff id.StaffMember, date id.EventDate) (isOwn bool, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: lockOwnDateSQL, Args: []any{company, staff, date}, Scan: pg.Each(func(pgx.Rows) error {
		isOwn = true
		return nil
	})})
	return isOwn, err
}

func (s *Store) ownDates(ctx context.Context, company id.Company, of pg.Statement) (dates []model.ScheduledDate, err error) {
	read := of.Query(pg.Each(func(rows pgx.Rows) error {
		var d model.ScheduledDate
		err := rows.Scan(&d.Event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status,
			&d.EventTitle, &d.EventType, &d.Location)
		dates = append(dates, d)
		return err
	}))
	if err := s.ReadOf(ctx, company, read); err != nil {
		return nil, err
	}
	return dates, s.readAssigned(ctx, company, dates, true)
}
