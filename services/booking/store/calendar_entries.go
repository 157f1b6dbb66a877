package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// As in lists of registrations, the other tables are read row by row, in subselects that the planner cannot
// turn into joins of whole tables.

const (
	// These return no row if the calendar must not be read any more.
	staffCalendarNameSQL    = `select name from staff where company_id = $1 and id = $2 and active`
	customerCalendarNameSQL = `select trim(first_name || ' ' || last_name) from customers where company_id = $1 and id = $2 and deleted_at is null`

	// entryColumns need the date d, its event e, and b, a booking or nothing. Cancelling a booking and deleting
	// an event do not change the date, so each adds 1 to its sequence. None of them is ever undone. The dates of
	// classes have sequences of their own, so a booking that moved between them has an offset.
	entryColumns = `select d.id, b.id, coalesce(b.date_sequence, d.sequence) + coalesce(b.calendar_offset, 0) + coalesce(b.is_cancelled, false)::int + (e.deleted_at is not null)::int,
			e.title, e.location, d.starts_at, d.duration_minutes, d.timezone,
			greatest(e.updated_at, b.updated_at, b.cancelled_at)`

	confirmedBooking = `select b.id, b.event_date_id, b.calendar_offset, b.is_cancelled, b.cancelled_at, b.bought_for, t.purchaser_id, t.updated_at
		from bookings b cross join lateral (select t.purchaser_id, t.updated_at from transactions t
			where t.company_id = $1 and t.id = b.transaction_id and t.status = 'confirmed' offset 0) t
		where b.company_id = $1`

	eventOfEntry = ` cross join lateral (select e.* from events e where e.company_id = $1 and e.id = d.event_id offset 0) e`

	attendeeOfEntry = ` left join lateral (select c.first_name, c.last_name from customers c
			where c.company_id = $1 and c.id = coalesce(b.bought_for, b.purchaser_id) offset 0) c on true`

	isCancelled = `(d.status = 'cancelled' or e.deleted_at is not null or coalesce(b.is_cancelled, false))`

	// shownDates is the condition of entries: bookings of appointments, and dates of events of other kinds that
	// are or were published. A date without a booking that is confirmed has no entry if it is an appointment.
	shownDates = ` and (b.id is not null or d.appointment_id is null and e.status <> 'draft')`

	// companyEntriesSQL walks the index of dates by start.
	companyEntriesSQL = entryColumns + `, ` + isCancelled + `, coalesce(c.first_name, ''), coalesce(c.last_name, '')
		from event_dates d` + eventOfEntry + `
		left join lateral (select b.*, null::integer as date_sequence from (` + confirmedBooking + ` and b.event_date_id = d.id and d.appointment_id is not null offset 0) b) b on true` +
		attendeeOfEntry + `
		where d.company_id = $1` + shownDates

	// customerEntriesSQL reads the bookings for a customer, as lists of registrations do.
	customerEntriesSQL = entryColumns + `, ` + isCancelled + `, '', ''
		from (
			select b.id from transactions t` + bookingsOfTransaction + `
			where t.company_id = $1 and t.purchaser_id = $2 and t.status = 'confirmed' and b.bought_for is null
			union
			select b.id from bookings b where b.company_id = $1 and b.bought_for = $2
		) m cross join lateral (select b.*, null::integer as date_sequence from (` + confirmedBooking + ` and b.id = m.id offset 0) b) b
		cross join lateral (select d.* from event_dates d where d.company_id = $1 and d.id = b.event_date_id offset 0) d` + eventOfEntry + `
		where true`

	// staffEntriesSQL reads the dates to which a person is or was assigned. An appointment that was moved to
	// another person is shown cancelled at the time at which it was left. Its sequence is that of the date to
	// which it moved, which is higher. If it moved to a date of the same person, only that date is shown.
	//
	// An assignment is not active if it was ended, or if an appointment was imported that was past.
	staffEntriesSQL = entryColumns + `, ` + isCancelled + ` or coalesce(b.moved, false) or not a.active and (d.appointment_id is null
				or exists (select from assignments o where o.company_id = $1 and o.event_date_id = d.id and o.kind = 'staff' and o.active)),
			coalesce(c.first_name, ''), coalesce(c.last_name, '')
		from assignments a
		cross join lateral (select d.* from event_dates d where d.company_id = $1 and d.id = a.event_date_id offset 0) d` + eventOfEntry + `
		left join lateral (
			select b.*, null::integer as date_sequence, false as moved from (` + confirmedBooking + ` and b.event_date_id = d.id and d.appointment_id is not null offset 0) b
			union all
			select b.*, n.sequence, true from (` + confirmedBooking + ` and b.id = a.booking_id and b.event_date_id <> d.id offset 0) b
				cross join lateral (select n.id, n.sequence from event_dates n where n.company_id = $1 and n.id = b.event_date_id offset 0) n
				where not exists (select from assignments o where o.company_id = $1 and o.event_date_id = n.id and o.resource_id = $2)
		) b on true` + attendeeOfEntry + `
		where a.company_id = $1 and a.resource_id = $2 and a.kind = 'staff'` + shownDates

	// The names of the people and rooms that a date has, or had before it was cancelled.
	entryNamesSQL = `select a.event_date_id, a.kind, coalesce(s.name, r.name, ''), a.active from assignments a
		left join staff s on s.company_id = $1 and s.id = a.resource_id and a.kind = 'staff'
		left join rooms r on r.company_id = $1 and r.id = a.resource_id and a.kind = 'room'
		where a.company_id = $1 and a.event_date_id` + pg.AmongIDs + ` and a.position >= 0
		order by a.event_date_id, a.active desc, a.position, a.resource_id`
)

// CalendarContent is what a calendar shows.
type CalendarContent struct {
	Name    string // of the staff member or the customer; "" for the company
	Entries []*model.CalendarEntry
}

// CalendarContent reads what a calendar shows within a window, by start. It returns fault.NotFound if the staff
// member is not active or if the customer was deleted.
func (s *Store) CalendarContent(ctx context.Context, company id.Company, c *model.Calendar, w model.CalendarWindow) (*CalendarContent, error) {
	content := &CalendarContent{}
	var names []string
	queries := calendarNameQuery(company, c, &names)
	var upcoming, past []*model.CalendarEntry
	later, earlier := entriesStatement(company, c), entriesStatement(company, c)
	addWindow(&later, c, w.Now, w.Until, "")
	addWindow(&earlier, c, w.From, w.Now, " desc")
	err := s.ReadOf(ctx, company, append(queries, later.Query(scanEntries(&upcoming)), earlier.Query(scanEntries(&past)))...)
	switch {
	case err != nil:
		return nil, err
	case len(queries) > 0 && len(names) == 0:
		return nil, fault.Missing("calendar")
	case len(names) > 0:
		content.Name = names[0]
	}
	content.Entries = model.ChooseEntries(upcoming, past)
	return content, s.readEntryNames(ctx, company, content.Entries)
}

// calendarNameQuery returns the query that reads the name of a calendar's subject; none for the company.
func calendarNameQuery(company id.Company, c *model.Calendar, names *[]string) []pg.Query {
	sql := staffCalendarNameSQL
	switch c.Kind {
	case model.CompanyCalendar:
		return nil
	case model.CustomerCalendar:
		sql = customerCalendarNameSQL
	case model.StaffCalendar:
	}
	return []pg.Query{{SQL: sql, Args: []any{company, c.Subject}, Scan: pg.Collect(names)}}
}

// entriesStatement returns the statement that reads the entries of a calendar at any time.
func entriesStatement(company id.Company, c *model.Calendar) pg.Statement {
	switch c.Kind {
	case model.StaffCalendar:
		return pg.Statement{SQL: staffEntriesSQL, Args: []any{company, c.Subject}}
	case model.CustomerCalendar:
		return pg.Statement{SQL: customerEntriesSQL, Args: []any{company, c.Subject}}
	case model.CompanyCalendar:
	}
	return pg.Statement{SQL: companyEntriesSQL, Args: []any{company}}
}

// addWindow limits a statement to dates that start from one time to another, and to one more entry than a
// calendar shows.
func addWindow(s *pg.Statement, c *model.Calendar, from, until any, direction string) {
	s.And("d.starts_at >= %s", from)
	s.And("d.starts_at < %s", until)
	if c.Kind == model.StaffCalendar { // taken_from is at most the largest buffer before the start
		s.And("a.taken_from >= %s::timestamptz - interval '8 hours'", from)
		s.And("a.taken_from < %s", until)
	}
	s.SQL += " order by d.starts_at" + direction + ", d.id" + direction + ", b.id" + direction + " limit " + s.Arg(model.MaxCalendarEntries+1)
}

func scanEntries(into *[]*model.CalendarEntry) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		e := &model.CalendarEntry{}
		var booking *id.Booking
		err := rows.Scan(&e.Date, &booking, &e.Sequence, &e.Title, &e.Location, &e.StartsAt, &e.Minutes, &e.Timezone,
			&e.UpdatedAt, &e.Cancelled, &e.CustomerFirstName, &e.CustomerLastName)
		if booking != nil {
			e.Booking = *booking
		}
		*into = append(*into, e)
		return err
	})
}

// readEntryNames reads the names of the staff members and rooms of entries.
func (s *Store) readEntryNames(ctx context.Context, company id.Company, entries []*model.CalendarEntry) error {
	if len(entries) == 0 {
		return nil
	}
	dates := make([]id.EventDate, len(entries))
	for i, e := range entries {
		dates[i] = e.Date
	}
	names := map[id.EventDate]*dateNames{}
	err := s.ReadOf(ctx, company, pg.Query{SQL: entryNamesSQL, Args: []any{company, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
		var date id.EventDate
		var kind, name string
		var active bool
		if err := rows.Scan(&date, &kind, &name, &active); err != nil {
			return err
		}
		if names[date] == nil {
			names[date] = &dateNames{}
		}
		names[date].add(kind, name, active)
		return nil
	})})
	for _, e := range entries {
		if n := names[e.Date]; n != nil {
			e.Staff, e.Rooms = n.staff, n.rooms
		}
	}
	return err
}

// dateNames are the names of the staff members and rooms of a date.
type dateNames struct {
	staff, rooms             []string
	hasStaffNow, hasRoomsNow bool
}

// add adds a name. Active assignments come first. If there are any, the others are of the past.
func (n *dateNames) add(kind, name string, active bool) {
	list, now := &n.rooms, &n.hasRoomsNow
	if kind == "staff" {
		list, now = &n.staff, &n.hasStaffNow
	}
	if *now && !active {
		return
	}
	*now = active
	*list = append(*list, name)
}
