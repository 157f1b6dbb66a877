package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/slots"
)

const (
	calendarTypeSQL = `select e.title, e.location, e.timezone, e.version, t.active, t.lengths, t.buffer_before_minutes, t.buffer_after_minutes,
			t.slot_minutes, t.minimum_notice_minutes, t.maximum_advance_days
		from appointment_types t join events e on e.company_id = $1 and e.id = t.id and e.deleted_at is null
		where t.company_id = $1 and t.id = $2`

	calendarPricesSQL = `select o.id, coalesce(o.length_minutes, 0) from pricing_options o
		where o.company_id = $1 and o.event_id = $2 and o.ended_at is null order by o.position, o.id`

	// calendarStaff has the active staff whose calendars are read: $3, or everybody who offers the type $2. If
	// $4 is set, $3 need not offer it.
	calendarStaff = `(select s.id from staff s where s.company_id = $1 and s.active
			and s.id = any(array(select o.staff_id from appointment_type_staff o where o.company_id = $1 and o.appointment_type_id = $2
					and ($3::uuid is null or o.staff_id = $3)
				union select $3::uuid where $4::boolean)))`

	// calendarRooms has the active rooms that the type $2 can use.
	calendarRooms = `(select r.id from appointment_type_rooms u join rooms r on r.company_id = $1 and r.id = u.room_id and r.active
			where u.company_id = $1 and u.appointment_type_id = $2)`

	calendarStaffSQL = `select s.id from ` + calendarStaff + ` s order by s.id`

	staffExistsSQL = `select exists (select from staff s where s.company_id = $1 and s.id = $2)`

	calendarHoursSQL = `select h.staff_id, coalesce(h.weekday, 0::smallint), coalesce(h.date, '1970-01-01'), coalesce(h.starts, 0::smallint),
			coalesce(h.ends, 0::smallint), h.location, h.timezone
		from ` + calendarStaff + ` s join working_hours h on h.company_id = $1 and h.staff_id = s.id
		where h.date is null or h.date between $5 and $6`

	calendarRoomsSQL = `select u.requirement, r.id, coalesce(r.capacity, 0)
		from appointment_type_rooms u left join rooms r on r.company_id = $1 and r.id = u.room_id and r.active
		where u.company_id = $1 and u.appointment_type_id = $2 order by u.requirement, u.position`

	// The conditions compare times, because row level security keeps ranges from using an index.
	calendarTimeOffSQL = `select t.resource_id, t.starts_at, t.ends_at
		from (select id from ` + calendarStaff + ` s union all select id from ` + calendarRooms + ` r) c
		join time_off t on t.company_id = $1 and t.resource_id = c.id and t.ends_at > $5 and t.starts_at < $6`

	// The holidays at the location of the type.
	calendarHolidaysSQL = `select distinct h.date from holidays h where h.company_id = $1 and h.date between $2 and $3
		and (h.location = '' or h.location = (select e.location from events e where e.company_id = $1 and e.id = $4))`
)

// calendarTakenSQL reads the assignments of the staff and rooms that overlap a time, except those of one
// date. An assignment that ends more than 48 hours after this time is longer than that, and long ones have
// an index of their own. So neither part reads all assignments to come.
const calendarTakenSQL = `select a.resource_id, a.unit, a.taken_from, a.taken_until, a.buffer_before, a.buffer_after
	from (select id from ` + calendarStaff + ` s union all select id from ` + calendarRooms + ` r) c
	cross join lateral (
		(select ` + calendarTaken + ` and a.taken_until > $5 and a.taken_until <= $6::timestamptz + interval '48 hours' order by a.taken_until)
		union all
		(select ` + calendarTaken + ` and a.taken_until > $6::timestamptz + interval '48 hours' and a.taken_until - a.taken_from > interval '2 days'
			order by a.taken_until)) a
	where a.event_date_id is distinct from $7`

const calendarTaken = `a.resource_id, a.unit, a.taken_from, a.taken_until, a.buffer_before, a.buffer_after, a.event_date_id from assignments a
		where a.company_id = $1 and a.resource_id = c.id and a.active and a.taken_from < $6`

// CalendarQuery is the part of an appointment type's calendar to read.
type CalendarQuery struct {
	Staff id.StaffMember // zero: everybody who offers the type
	// Everybody also reads a Staff who does not offer the type.
	Everybody bool
	// From and Until bound the starts that will be tried.
	From, Until time.Time
	// Without is a date whose assignments count as free.
	Without id.EventDate
}

// Shared returns the query that reads the same calendar and is equal for all queries that read it.
func (q CalendarQuery) Shared() CalendarQuery {
	q.From, q.Until = q.bounds()
	return q
}

// CalendarType is the part of an appointment type that its calendar and its purchases need.
type CalendarType struct {
	ID                        id.AppointmentType
	Title, Location, Timezone string
	Version                   int64 // of the event
	Active                    bool
	Lengths                   []int32 // minutes, ascending
	Before, After             int32   // minutes
	Prices                    []model.LengthPrice
}

// Event returns the identifier of the event of the type's appointments.
func (t *CalendarType) Event() id.Event { return id.Event(t.ID) }

// Calendar reads what decides which slots of an appointment type are free, in one round trip. Without tx,
// it runs in its own transaction. It returns fault.NotFound if the type or the staff member does not exist.
func (s *Store) Calendar(ctx context.Context, tx *pg.Tx, company id.Company, which id.AppointmentType, want CalendarQuery) (*slots.Calendar, *CalendarType, error) {
	r := &calendarReader{company: company, want: want, kind: CalendarType{ID: which}, staffExists: true, byStaff: map[id.UUID]int{}}
	var err error
	if tx != nil {
		err = tx.Pipeline(ctx, r.queries()...)
	} else {
		err = s.ReadOf(ctx, company, r.queries()...)
	}
	if err != nil {
		return nil, nil, err
	}
	return r.result()
}

const movedSQL = `select d.id, d.duration_minutes,
		(select a.resource_id from assignments a where a.company_id = $1 and a.event_date_id = d.id and a.kind = 'staff' and a.active)
	from bookings b
	join event_dates d on d.company_id = $1 and d.id = b.event_date_id and d.event_id = $3 and d.appointment_id is not null
	where b.company_id = $1 and b.id = $2`

// MovedDate is the date of an appointment that is to be moved.
type MovedDate struct {
	ID      id.EventDate
	Minutes int32
	Staff   id.StaffMember // zero: the date has ended
}

// MovedDate returns the date of an appointment of a type.
func (s *Store) MovedDate(ctx context.Context, company id.Company, appointment id.Appointment, which id.AppointmentType) (d MovedDate, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: movedSQL, Args: []any{company, appointment, which}, Scan: pg.First(&d.ID, &d.Minutes, &d.Staff)})
	if err == nil && d.ID.IsZero() {
		err = fault.Missing("appointment")
	}
	return d, err
}

// calendarReader collects the rows of a calendar.
type calendarReader struct {
	company     id.Company
	want        CalendarQuery
	kind        CalendarType
	found       bool
	staffExists bool
	calendar    slots.Calendar
	byStaff     map[id.UUID]int // in calendar.Staff
	requirement int             // of the last room
	hours       []hours
}

// hours is a row of working_hours.
type hours struct {
	staff              id.UUID
	shift              slots.Shift
	location, timezone string
}

// CalendarQueries returns the queries that Calendar runs, for tests of their plans.
func CalendarQueries(company id.Company, which id.AppointmentType, want CalendarQuery) []pg.Query {
	r := &calendarReader{company: company, want: want, kind: CalendarType{ID: which}}
	return r.queries()
}

func (r *calendarReader) queries() []pg.Query {
	from, until := r.want.bounds()
	firstDay, lastDay := from.AddDate(0, 0, -3), until.AddDate(0, 0, 3)
	args := []any{r.company, r.kind.ID, r.want.Staff, r.want.Everybody && !r.want.Staff.IsZero()}
	with := func(more ...any) []any { return append(args[:len(args):len(args)], more...) }
	queries := []pg.Query{
		{SQL: calendarTypeSQL, Args: []any{r.company, r.kind.ID}, Scan: pg.Each(r.scanType)},
		{SQL: calendarPricesSQL, Args: []any{r.company, r.kind.ID}, Scan: pg.Each(r.scanPrice)},
		{SQL: calendarStaffSQL, Args: args, Scan: pg.Each(r.scanStaff)},
		{SQL: calendarHoursSQL, Args: with(firstDay, lastDay), Scan: pg.Each(r.scanHours)},
		{SQL: calendarRoomsSQL, Args: []any{r.company, r.kind.ID}, Scan: pg.Each(r.scanRoom)},
		{SQL: calendarTimeOffSQL, Args: with(from, until), Scan: pg.Each(r.scanTimeOff)},
		{SQL: calendarHolidaysSQL, Args: []any{r.company, firstDay, lastDay, r.kind.ID}, Scan: pg.Each(r.scanHoliday)},
		{SQL: calendarTakenSQL, Args: with(from, until, r.want.Without), Scan: r.scanTaken},
	}
	if !r.want.Staff.IsZero() {
		queries = append(queries, pg.Query{SQL: staffExistsSQL, Args: []any{r.company, r.want.Staff}, Scan: pg.First(&r.staffExists)})
	}
	return queries
}

// bounds returns the time of which the calendar is read, in UTC: the calendar weeks of the starts in every zone, and
// the day on which the longest appointment ends with its buffers. Most queries of a week have the same bounds.
func (q CalendarQuery) bounds() (from, until time.Time) {
	const farthest = 16 * time.Hour // more than the offset of any zone
	const longest = 33 * time.Hour  // a day, a buffer of 8 hours and a clock change
	from, until = monday(q.From.Add(-farthest)).Add(-farthest), monday(q.Until.Add(farthest)).AddDate(0, 0, 7).Add(farthest)
	if last := q.Until.UTC().Add(longest).Truncate(24*time.Hour).AddDate(0, 0, 1); last.After(until) {
		until = last
	}
	return from, until
}

// monday returns the midnight in UTC at which the calendar week of t begins.
func monday(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day-(int(t.UTC().Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
}

func (r *calendarReader) scanType(rows pgx.Rows) error {
	t := &r.calendar.Type
	err := rows.Scan(&r.kind.Title, &r.kind.Location, &r.kind.Timezone, &r.kind.Version, &r.kind.Active, &t.Lengths,
		&t.Before, &t.After, &t.Grid, &t.Notice, &t.Horizon)
	r.kind.Lengths, r.kind.Before, r.kind.After, r.found = t.Lengths, t.Before, t.After, true
	return err
}

func (r *calendarReader) scanPrice(rows pgx.Rows) error {
	var p model.LengthPrice
	err := rows.Scan(&p.Option, &p.Minutes)
	r.kind.Prices = append(r.kind.Prices, p)
	return err
}

func (r *calendarReader) scanStaff(rows pgx.Rows) error {
	var who id.StaffMember
	err := rows.Scan(&who)
	r.byStaff[who.UUID()] = len(r.calendar.Staff)
	r.calendar.Staff = append(r.calendar.Staff, slots.Staff{ID: who})
	return err
}

func (r *calendarReader) scanHours(rows pgx.Rows) error {
	var h hours
	var day time.Time
	err := rows.Scan(&h.staff, &h.shift.Weekday, &day, &h.shift.Starts, &h.shift.Ends, &h.location, &h.timezone)
	h.shift.Date = slots.DateOf(day)
	r.hours = append(r.hours, h)
	return err
}

func (r *calendarReader) scanRoom(rows pgx.Rows) error {
	var requirement int
	var room id.Room
	var capacity int32
	if err := rows.Scan(&requirement, &room, &capacity); err != nil {
		return err
	}
	c := &r.calendar
	if len(c.Requirements) == 0 || requirement != r.requirement {
		c.Requirements, r.requirement = append(c.Requirements, nil), requirement
	}
	if room.IsZero() { // it is not active
		return nil
	}
	last := &c.Requirements[len(c.Requirements)-1]
	*last = append(*last, room)
	if c.Rooms == nil {
		c.Rooms = map[id.Room]*slots.Room{}
	}
	c.Rooms[room] = &slots.Room{ID: room, Capacity: capacity}
	return nil
}

func (r *calendarReader) scanTimeOff(rows pgx.Rows) error {
	var resource id.UUID
	var off slots.Span
	if err := rows.Scan(&resource, &off.From, &off.Until); err != nil {
		return err
	}
	if i, ok := r.byStaff[resource]; ok {
		r.calendar.Staff[i].TimeOff = append(r.calendar.Staff[i].TimeOff, off)
	} else if room := r.calendar.Rooms[id.Room(resource)]; room != nil {
		room.TimeOff = append(room.TimeOff, off)
	}
	return nil
}

func (r *calendarReader) scanHoliday(rows pgx.Rows) error {
	var day time.Time
	err := rows.Scan(&day)
	r.calendar.Holidays = append(r.calendar.Holidays, slots.DateOf(day))
	return err
}

func (r *calendarReader) scanTaken(rows pgx.Rows) error {
	var resource id.UUID
	var unit, before, after int32
	var taken slots.Span
	to := []any{&resource, &unit, &taken.From, &taken.Until, &before, &after}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if i, ok := r.byStaff[resource]; ok {
			who := &r.calendar.Staff[i]
			minutes := int32(taken.Until.Sub(taken.From)/time.Minute) - before - after
			starts := taken.From.Add(time.Duration(before) * time.Minute)
			who.Taken = append(who.Taken, slots.Taken{Span: taken, Starts: starts, Minutes: minutes})
		} else if room := r.calendar.Rooms[id.Room(resource)]; room != nil {
			room.Taken = append(room.Taken, slots.TakenUnit{Unit: unit, Span: taken})
		}
	}
	return nil
}

// result returns the calendar after all rows were read.
func (r *calendarReader) result() (*slots.Calendar, *CalendarType, error) {
	if !r.found {
		return nil, nil, fault.Missing("appointment type")
	}
	if !r.staffExists {
		return nil, nil, fault.Missing("staff member")
	}
	var err error
	if r.calendar.Type.Loc, err = zone.Load(r.kind.Timezone); err != nil {
		return nil, nil, fmt.Errorf("appointment type %s: %w", r.kind.ID, err)
	}
	for i := range r.hours {
		if err := r.addHours(&r.hours[i]); err != nil {
			return nil, nil, err
		}
	}
	return &r.calendar, &r.kind, nil
}

// addHours adds a shift to its person. On a date with hours at other locations only, the person does not
// work at the location of the type.
func (r *calendarReader) addHours(h *hours) (err error) {
	i, ok := r.byStaff[h.staff]
	if !ok {
		return nil
	}
	if h.location != "" && h.location != r.kind.Location {
		if h.shift.Weekday != 0 {
			return nil
		}
		h.shift.Starts, h.shift.Ends = 0, 0
	}
	h.shift.Loc = time.UTC
	if h.shift.Ends > 0 {
		if h.shift.Loc, err = zone.Load(h.timezone); err != nil {
			return fmt.Errorf("working hours of %s: %w", id.StaffMember(h.staff), err)
		}
	}
	r.calendar.Staff[i].Shifts = append(r.calendar.Staff[i].Shifts, h.shift)
	return nil
}
