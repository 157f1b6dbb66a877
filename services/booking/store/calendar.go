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
	calendarColumns = `id, kind, subject_id, secret_start, created_at, last_read_at`

	lockCalendarsSQL  = `select pg_advisory_xact_lock(hashtextextended('calendars ' || $1::uuid::text, 0))`
	countCalendarsSQL = `select count(*) from calendars where company_id = $1`
	insertCalendarSQL = `insert into calendars (company_id, id, kind, subject_id, secret_hash, secret_start, created_at)
		values ($1, $2, $3, $4, $5, $6, $7)`

	calendarsSQL      = `select ` + calendarColumns + ` from calendars where company_id = $1`
	calendarSQL       = calendarsSQL + ` and id = $2`
	deleteCalendarSQL = `delete from calendars where company_id = $1 and id = $2`

	subjectExistsSQL = `select count(*) from staff where company_id = $1 and id = $2`

	deleteCalendarsOfSQL = `delete from calendars c using unnest($1::uuid[], $2::uuid[]) n(company_id, subject_id)
		where c.company_id = n.company_id and c.subject_id = n.subject_id`

	calendarBySecretSQL = `select company_id, ` + calendarColumns + ` from calendars where secret_hash = $1`

	// Several processes can read a calendar at the same time. One of them stores the time.
	saveCalendarReadSQL = `update calendars set last_read_at = $3
		where company_id = $1 and id = (select id from calendars where company_id = $1 and id = $2 for no key update skip locked)`
)

// CalendarsByCreation sorts calendars by creation time.
func CalendarsByCreation() page.Order { return page.Order{Code: 80} }

// InsertCalendar stores a new calendar. secretHash is the SHA-256 of its secret. The fault is
// TOO_MANY_CALENDARS if the company has the maximum number of calendars.
func (s *Store) InsertCalendar(ctx context.Context, tx *pg.Tx, company id.Company, c *model.Calendar, secretHash []byte) error {
	var existing int
	err := tx.Pipeline(ctx, pg.Query{SQL: lockCalendarsSQL, Args: []any{company}, Scan: ignoreRows},
		pg.Query{SQL: countCalendarsSQL, Args: []any{company}, Scan: pg.First(&existing)})
	if err != nil {
		return err
	}
	if existing >= model.MaxCalendars {
		return model.TooManyCalendars()
	}
	var subject *id.UUID
	if !c.Subject.IsZero() {
		subject = &c.Subject
	}
	_, err = tx.Exec(ctx, insertCalendarSQL, company, c.ID, string(c.Kind), subject, secretHash, c.SecretStart, c.CreatedAt)
	return err
}

func ignoreRows(rows pgx.Rows) error {
	rows.Close()
	return nil
}

// CheckStaffExists returns fault.NotFound if the staff member does not exist. Staff members are never deleted.
func (s *Store) CheckStaffExists(ctx context.Context, tx *pg.Tx, company id.Company, staff id.StaffMember) error {
	var found int
	err := tx.Pipeline(ctx, pg.Query{SQL: subjectExistsSQL, Args: []any{company, staff}, Scan: pg.First(&found)})
	if err == nil && found == 0 {
		err = fault.Missing("staff member")
	}
	return err
}

// LockCustomer checks that a customer is in the copy and is not deleted. No deletion of the customer is
// confirmed before tx ends.
func (s *Store) LockCustomer(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	var first, last, email string
	var known id.Customer
	var deleted bool
	err := tx.Pipeline(ctx, pg.Query{
		SQL: KnownCustomersSQL, Args: []any{company, []id.Customer{customer}}, Scan: pg.First(&known, &first, &last, &email, &deleted),
	})
	switch {
	case err != nil:
		return err
	case known.IsZero():
		return &model.UnknownCustomers{Ids: []id.Customer{customer}}
	case deleted:
		return fault.Missing("customer")
	}
	return nil
}

// CalendarByID reads a calendar with a secret address.
func (s *Store) CalendarByID(ctx context.Context, company id.Company, which id.Calendar) (*model.Calendar, error) {
	var found []model.Calendar
	err := s.ReadOf(ctx, company, pg.Query{SQL: calendarSQL, Args: []any{company, which}, Scan: scanCalendars(&found)})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.Missing("calendar")
	}
	return &found[0], nil
}

// DeleteCalendar deletes a calendar. It returns fault.NotFound if there is none.
func (s *Store) DeleteCalendar(ctx context.Context, tx *pg.Tx, company id.Company, which id.Calendar) error {
	tag, err := tx.Exec(ctx, deleteCalendarSQL, company, which)
	if err == nil && tag.RowsAffected() == 0 {
		err = fault.Missing("calendar")
	}
	return err
}

// DeleteCalendarsOf deletes the calendars of the deleted customers among records.
func (s *Store) DeleteCalendarsOf(ctx context.Context, tx *pg.Tx, records []model.CustomerRecord) error {
	var companies []id.Company
	var customers []id.Customer
	for _, r := range records {
		if !r.DeletedAt.IsZero() {
			companies, customers = append(companies, r.Company), append(customers, r.ID)
		}
	}
	if len(customers) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, deleteCalendarsOfSQL, companies, customers)
	return err
}

// CalendarListQuery is the filter and the page of a list of calendars.
type CalendarListQuery struct {
	Page    page.Page
	Subject id.UUID // zero: all
}

func (q *CalendarListQuery) statement(company id.Company, sql string) pg.Statement {
	s := pg.Statement{SQL: sql, Args: []any{company}}
	if !q.Subject.IsZero() {
		s.And("subject_id = %s", q.Subject)
	}
	return s
}

// Total returns the statement that counts the calendars that match q.
func (q *CalendarListQuery) Total(company id.Company) pg.Statement {
	return q.statement(company, countCalendarsSQL)
}

// List returns the statement that reads the page and one more calendar.
func (q *CalendarListQuery) List(company id.Company) pg.Statement {
	s := q.statement(company, calendarsSQL)
	q.Page.Add(&s)
	return s
}

// Next returns the cursor after a calendar.
func (q *CalendarListQuery) Next(last *model.Calendar) page.Cursor {
	return page.Cursor{ID: last.ID.UUID()}
}

// Calendars reads a page of calendars plus one more, and the total number of matches.
func (s *Store) Calendars(ctx context.Context, company id.Company, q *CalendarListQuery) (calendars []model.Calendar, total int64, err error) {
	list, count := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company, list.Query(scanCalendars(&calendars)), count.Query(pg.First(&total)))
	return calendars, total, err
}

func scanCalendars(into *[]model.Calendar) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		c, err := scanCalendar(rows)
		*into = append(*into, c)
		return err
	})
}

func scanCalendar(rows pgx.Rows, first ...any) (c model.Calendar, err error) {
	var subject *id.UUID
	err = rows.Scan(append(first, &c.ID, &c.Kind, &subject, &c.SecretStart, &c.CreatedAt, &c.LastReadAt)...)
	if subject != nil {
		c.Subject = *subject
	}
	return c, err
}

// CalendarBySecret returns the calendar of any company with the SHA-256 of its secret. The secret identifies
// the caller, as a token does.
func (s *Store) CalendarBySecret(ctx context.Context, secretHash []byte) (company id.Company, c *model.Calendar, err error) {
	err = s.Read(ctx, pg.Lookup(), pg.Query{SQL: calendarBySecretSQL, Args: []any{secretHash}, Scan: pg.Each(func(rows pgx.Rows) error {
		found, err := scanCalendar(rows, &company)
		c = &found
		return err
	})})
	if err == nil && c == nil {
		err = fault.Missing("calendar")
	}
	return company, c, s.Fault(err)
}

// SaveCalendarRead stores when a calendar was read.
func (s *Store) SaveCalendarRead(ctx context.Context, company id.Company, which id.Calendar, at time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, saveCalendarReadSQL, company, which, at)
		return err
	})
}
