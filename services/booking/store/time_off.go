package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	insertTimeOffSQL = `insert into time_off (company_id, id, resource_id, kind, starts_at, ends_at, reason, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`

	countTimeOffToComeSQL = `select count(*) from time_off where company_id = $1 and resource_id = $2 and ends_at > $3`

	deleteTimeOffSQL = `delete from time_off where company_id = $1 and id = $2 returning resource_id, kind = 'room'`

	timeOffSQL      = `select id, resource_id, kind = 'room', starts_at, ends_at, reason, created_at from time_off where company_id = $1`
	countTimeOffSQL = `select count(*) from time_off where company_id = $1`

	insertHolidaySQL = `insert into holidays (company_id, id, date, name, location, created_at) values ($1, $2, $3::text::date, $4, $5, $6)`
	deleteHolidaySQL = `delete from holidays where company_id = $1 and id = $2`
	holidaysSQL      = `select id, to_char(date, 'YYYY-MM-DD'), name, location, created_at from holidays where company_id = $1`
	countHolidaysSQL = `select count(*) from holidays where company_id = $1`

	// The day of a holiday as an instant, which page tokens hold.
	holidayKeySQL = `(date::timestamp at time zone 'UTC')`
)

// InsertTimeOff stores new time off of a locked staff member or room. It refuses one beyond the limit.
func (s *Store) InsertTimeOff(ctx context.Context, tx *pg.Tx, company id.Company, t *model.TimeOff) error {
	if t.EndsAt.After(t.CreatedAt) {
		var n int
		if err := tx.QueryRow(ctx, countTimeOffToComeSQL, company, t.Resource(), t.CreatedAt).Scan(&n); err != nil {
			return err
		}
		if n >= model.MaxTimeOff {
			return model.TooManyTimeOff()
		}
	}
	kind := "staff"
	if t.Staff.IsZero() {
		kind = "room"
	}
	_, err := tx.Exec(ctx, insertTimeOffSQL, company, t.ID, t.Resource(), kind, t.StartsAt, t.EndsAt, t.Reason, t.CreatedAt)
	return err
}

// DeleteTimeOff deletes time off, and returns its identifier and its staff member or room.
func (s *Store) DeleteTimeOff(ctx context.Context, tx *pg.Tx, company id.Company, which id.TimeOff) (*model.TimeOff, error) {
	var resource id.UUID
	var ofRoom bool
	err := tx.QueryRow(ctx, deleteTimeOffSQL, company, which).Scan(&resource, &ofRoom)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fault.Missing("time off")
	case err != nil:
		return nil, err
	case ofRoom:
		return &model.TimeOff{ID: which, Room: id.Room(resource)}, nil
	}
	return &model.TimeOff{ID: which, Staff: id.StaffMember(resource)}, nil
}

// deleteOne runs a statement that deletes one row. Without the row, it returns NOT_FOUND for resource.
func deleteOne(ctx context.Context, tx *pg.Tx, resource, sql string, args ...any) error {
	tag, err := tx.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return fault.Missing(resource)
	}
	return err
}

// TimeOffQuery is the filter and the page of a list of time off.
type TimeOffQuery struct {
	Page                     page.Page
	Resource                 *id.UUID  // nil: any
	StartsFrom, StartsBefore time.Time // zero: none
}

// TimeOffByStart is the order of a list of time off.
func TimeOffByStart() page.Order { return page.Order{Code: 72, Column: "starts_at"} }

func (q *TimeOffQuery) statement(company id.Company, sql string) pg.Statement {
	s := pg.Statement{SQL: sql, Args: []any{company}}
	if q.Resource != nil {
		s.And("resource_id = %s", *q.Resource)
	}
	if !q.StartsFrom.IsZero() {
		s.And("ends_at > %s", q.StartsFrom)
	}
	if !q.StartsBefore.IsZero() {
		s.And("starts_at < %s", q.StartsBefore)
	}
	return s
}

// Next returns the cursor after time off.
func (q *TimeOffQuery) Next(last *model.TimeOff) page.Cursor {
	return page.At(last.StartsAt, last.ID.UUID())
}

// OneTimeOff reads one time off.
func (s *Store) OneTimeOff(ctx context.Context, company id.Company, which id.TimeOff) (*model.TimeOff, error) {
	var found []model.TimeOff
	err := s.ReadOf(ctx, company, pg.Query{SQL: timeOffSQL + ` and id = $2`, Args: []any{company, which}, Scan: scanTimeOff(&found)})
	return only(found, "time off", err)
}

// TimeOff reads a page of time off plus one more, and the total number of matches.
func (s *Store) TimeOff(ctx context.Context, company id.Company, q *TimeOffQuery) (list []model.TimeOff, total int64, err error) {
	rows, count := q.statement(company, timeOffSQL), q.statement(company, countTimeOffSQL)
	q.Page.Add(&rows)
	err = s.ReadOf(ctx, company, rows.Query(scanTimeOff(&list)), count.Query(pg.First(&total)))
	return list, total, err
}

func scanTimeOff(into *[]model.TimeOff) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var t model.TimeOff
		var resource id.UUID
		var ofRoom bool
		err := rows.Scan(&t.ID, &resource, &ofRoom, &t.StartsAt, &t.EndsAt, &t.Reason, &t.CreatedAt)
		if ofRoom {
			t.Room = id.Room(resource)
		} else {
			t.Staff = id.StaffMember(resource)
		}
		*into = append(*into, t)
		return err
	})
}

// InsertHoliday stores a new holiday. It refuses one beyond the limit.
func (s *Store) InsertHoliday(ctx context.Context, tx *pg.Tx, company id.Company, h *model.Holiday) error {
	n, err := adding(ctx, tx, company, "holidays", countHolidaysSQL)
	if err != nil {
		return err
	}
	if n >= model.MaxHolidays {
		return model.TooManyHolidays()
	}
	_, err = tx.Exec(ctx, insertHolidaySQL, company, h.ID, h.Date, h.Name, h.Location, h.CreatedAt)
	return err
}

// DeleteHoliday deletes a holiday.
func (s *Store) DeleteHoliday(ctx context.Context, tx *pg.Tx, company id.Company, which id.Holiday) error {
	return deleteOne(ctx, tx, "holiday", deleteHolidaySQL, company, which)
}

// HolidayQuery is the filter and the page of a list of holidays.
type HolidayQuery struct {
	Page     page.Page
	From, To string // YYYY-MM-DD; "": no bound
}

// HolidaysByDay is the order of a list of holidays.
func HolidaysByDay() page.Order { return page.Order{Code: 73, Column: holidayKeySQL} }

func (q *HolidayQuery) statement(company id.Company, sql string) pg.Statement {
	s := pg.Statement{SQL: sql, Args: []any{company}}
	if q.From != "" {
		s.And("date >= %s::text::date", q.From)
	}
	if q.To != "" {
		s.And("date <= %s::text::date", q.To)
	}
	return s
}

// Next returns the cursor after a holiday.
func (q *HolidayQuery) Next(last *model.Holiday) page.Cursor {
	day, _ := time.Parse(time.DateOnly, last.Date)
	return page.At(day, last.ID.UUID())
}

// Holiday reads one holiday.
func (s *Store) Holiday(ctx context.Context, company id.Company, which id.Holiday) (*model.Holiday, error) {
	var found []model.Holiday
	err := s.ReadOf(ctx, company, pg.Query{SQL: holidaysSQL + ` and id = $2`, Args: []any{company, which}, Scan: scanHolidays(&found)})
	return only(found, "holiday", err)
}

// Holidays reads a page of holidays plus one more, and the total number of matches.
func (s *Store) Holidays(ctx context.Context, company id.Company, q *HolidayQuery) (list []model.Holiday, total int64, err error) {
	rows, count := q.statement(company, holidaysSQL), q.statement(company, countHolidaysSQL)
	q.Page.Add(&rows)
	err = s.ReadOf(ctx, company, rows.Query(scanHolidays(&list)), count.Query(pg.First(&total)))
	return list, total, err
}

func scanHolidays(into *[]model.Holiday) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var h model.Holiday
		err := rows.Scan(&h.ID, &h.Date, &h.Name, &h.Location, &h.CreatedAt)
		*into = append(*into, h)
		return err
	})
}
