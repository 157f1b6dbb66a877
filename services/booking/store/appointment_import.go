package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// An appointment is null for the reference of another transaction.
	importedAppointmentsSQL = `select t.reference, d.id is not null, b.id from transactions t
		cross join lateral (select b.id, b.event_date_id from bookings b where b.company_id = $1 and b.transaction_id = t.id
			order by b.position limit 1) b
		left join lateral (select d.id from event_dates d
			where d.company_id = $1 and d.id = b.event_date_id and d.appointment_id is not null offset 0) d on true
		where t.company_id = $1 and t.reference = any($2)`

	// Appointment types by identifier and by reference, with their events.
	lockImportTypesSQL = `select y.id, coalesce(y.reference, ''), e.title, e.timezone, e.listed from appointment_types y
		join events e on e.company_id = y.company_id and e.id = y.id
		where y.company_id = $1 and e.deleted_at is null and (y.id = any($2) or y.reference = any($3))
		order by y.id for no key update of e`

	importPricesSQL = `select event_id, id, coalesce(length_minutes, 0), tax_rate_basis_points, ended_at is not null from pricing_options
		where company_id = $1 and event_id = any($2) order by event_id, ended_at is not null, position, id`

	importRequirementsSQL = `select appointment_type_id, requirement, room_id from appointment_type_rooms
		where company_id = $1 and appointment_type_id = any($2) order by appointment_type_id, requirement, position`

	lockImportStaffSQL = `select s.id, coalesce(s.reference, '') from staff s
		where s.company_id = $1 and (s.id = any($2) or s.reference = any($3)) order by s.id for no key update`

	// Rooms by identifier and by reference, and those that appointment types require.
	lockImportRoomsSQL = `select r.id, coalesce(r.reference, ''), r.capacity, r.active from rooms r
		where r.company_id = $1 and (r.id = any($2) or r.reference = any($3) or r.id in (
			select o.room_id from appointment_type_rooms o where o.company_id = $1 and o.appointment_type_id = any($4)))
		order by r.id for no key update`

	// ImportTakenSQL reads the assignments of resources during spans, as in TakenTimes.
	ImportTakenSQL = `select r.id, a.unit, a.taken_from, a.taken_until
		from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) r(id, starts, ends)
		cross join lateral (` + overlapColumns + ` and a.taken_until - a.taken_from <= interval '2 days'
				and a.taken_from > r.starts - interval '48 hours' and a.taken_from < r.ends and a.taken_until > r.starts
			union all ` + overlapColumns + ` and a.taken_until - a.taken_from > interval '2 days'
				and a.taken_until > r.starts and a.taken_from < r.ends offset 0) a`

	importTimeOffSQL = `select r.id, o.starts_at, o.ends_at
		from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) r(id, starts, ends)
		cross join lateral (select o.starts_at, o.ends_at from time_off o
			where o.company_id = $1 and o.resource_id = r.id and o.ends_at > r.starts and o.starts_at < r.ends offset 0) o`

	insertAppointmentDatesSQL = `insert into event_dates
			(company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, status, appointment_id)
		select $1, n.id, n.event_id, n.starts_at, n.duration_minutes, n.timezone, 1, n.booked, n.status, n.id
		from unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::integer[], $6::text[], $7::integer[], $8::text[])
			n(id, event_id, starts_at, duration_minutes, timezone, booked, status)`

	insertImportedAssignmentsSQL = `insert into assignments
			(company_id, event_date_id, booking_id, resource_id, kind, unit, position, taken_from, taken_until, active)
		select $1, n.event_date_id, n.booking_id, n.resource_id, n.kind, n.unit, n.position, n.taken_from, n.taken_until, n.active
		from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::smallint[], $7::smallint[], $8::timestamptz[], $9::timestamptz[], $10::boolean[])
			n(event_date_id, booking_id, resource_id, kind, unit, position, taken_from, taken_until, active)`

	// An event of appointments is counted from the commit on that lists it.
	listImportedSQL = `with listed as (
			update events set listed = true, updated_at = $3 where company_id = $1 and id = any($2) and not listed returning 1)
		insert into event_totals (company_id, events) select $1, count(*) from listed having count(*) > 0
		on conflict (company_id) do update set events = event_totals.events + excluded.events`
)

// OpenAppointmentImport fills l with the existing rows that lines refer to. It locks the events of their
// types, their staff and their rooms until the end of tx.
func (s *Store) OpenAppointmentImport(ctx context.Context, tx *pg.Tx, l *model.AppointmentImport, lines []*model.ImportedAppointment) error {
	var references, types, staff, rooms []string
	for _, a := range lines {
		references, types, staff = append(references, a.Reference), append(types, a.Type), append(staff, a.Staff)
		rooms = append(rooms, a.Rooms...)
	}
	typeIDs := identifiers[id.AppointmentType](types)
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockImportsSQL, Args: []any{l.Company}},
		pg.Query{SQL: importedAppointmentsSQL, Args: []any{l.Company, references}, Scan: scanImported(l)},
		pg.Query{SQL: lockImportTypesSQL, Args: []any{l.Company, slices.Collect(maps.Values(typeIDs)), types}, Scan: scanImportTypes(l, typeIDs)},
		pg.Query{SQL: importCustomersSQL, Args: []any{l.Company, slices.Collect(maps.Values(l.Customers))}, Scan: scanNames(l.Customers, l.Names)},
	)
	if err != nil {
		return err
	}
	found := map[id.AppointmentType]*model.ImportType{}
	for _, y := range l.Types {
		found[y.ID] = y
	}
	all := slices.Collect(maps.Keys(found))
	staffIDs, roomIDs := identifiers[id.StaffMember](staff), identifiers[id.Room](rooms)
	err = tx.Pipeline(ctx,
		pg.Query{SQL: importPricesSQL, Args: []any{l.Company, all}, Scan: scanImportPrices(found)},
		pg.Query{SQL: importRequirementsSQL, Args: []any{l.Company, all}, Scan: scanRequirements(found)},
		pg.Query{SQL: lockImportStaffSQL, Args: []any{l.Company, slices.Collect(maps.Values(staffIDs)), staff}, Scan: scanImportStaff(l, staffIDs)},
		pg.Query{SQL: lockImportRoomsSQL, Args: []any{l.Company, slices.Collect(maps.Values(roomIDs)), rooms, all}, Scan: scanImportRooms(l, roomIDs)},
	)
	if err != nil {
		return err
	}
	return readTaken(ctx, tx, l, lines)
}

// identifiers returns the texts that are identifiers of kind T.
func identifiers[T ~[16]byte, P interface {
	*T
	UnmarshalText([]byte) error
}](texts []string) map[string]T {
	found := map[string]T{}
	for _, text := range texts {
		var v T
		if text != "" && P(&v).UnmarshalText([]byte(text)) == nil {
			found[text] = v
		}
	}
	return found
}

// named calls add with each text that names a row: its identifier, or its reference.
func named[T ~[16]byte](ids map[string]T, row T, reference string, add func(text string)) {
	for text, which := range ids {
		if which == row {
			add(text)
		}
	}
	if _, isID := ids[reference]; reference != "" && !isID {
		add(reference)
	}
}

func scanImported(l *model.AppointmentImport) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var reference string
		var isAppointment bool
		var b id.Booking
		err := rows.Scan(&reference, &isAppointment, &b)
		l.Existing[reference] = id.Appointment{}
		if isAppointment {
			l.Existing[reference] = id.Appointment(b)
		}
		return err
	})
}

func scanImportTypes(l *model.AppointmentImport, ids map[string]id.AppointmentType) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		y := &model.ImportType{}
		var reference string
		err := rows.Scan(&y.ID, &reference, &y.Title, &y.Timezone, &y.Listed)
		named(ids, y.ID, reference, func(text string) { l.Types[text] = y })
		return err
	})
}

func scanImportPrices(found map[id.AppointmentType]*model.ImportType) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var of id.AppointmentType
		var p model.ImportPrice
		err := rows.Scan(&of, &p.Option, &p.Length, &p.TaxRate, &p.Ended)
		if y := found[of]; y != nil {
			y.Options = append(y.Options, p)
		}
		return err
	})
}

// scanRequirements reads the rooms of each requirement, which are ordered by requirement.
func scanRequirements(found map[id.AppointmentType]*model.ImportType) func(pgx.Rows) error {
	last := map[id.AppointmentType]int32{}
	return pg.Each(func(rows pgx.Rows) error {
		var of id.AppointmentType
		var requirement int32
		var room id.Room
		if err := rows.Scan(&of, &requirement, &room); err != nil {
			return err
		}
		y := found[of]
		if n, ok := last[of]; !ok || n != requirement {
			y.Requirements = append(y.Requirements, nil)
		}
		last[of] = requirement
		n := len(y.Requirements) - 1
		y.Requirements[n] = append(y.Requirements[n], room)
		return nil
	})
}

func scanImportStaff(l *model.AppointmentImport, ids map[string]id.StaffMember) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var member id.StaffMember
		var reference string
		err := rows.Scan(&member, &reference)
		named(ids, member, reference, func(text string) { l.Staff[text] = member })
		return err
	})
}

func scanImportRooms(l *model.AppointmentImport, ids map[string]id.Room) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		r := &model.ImportRoom{}
		var reference string
		err := rows.Scan(&r.ID, &reference, &r.Capacity, &r.Active)
		l.RoomsByID[r.ID] = r
		named(ids, r.ID, reference, func(text string) { l.Rooms[text] = r.ID })
		return err
	})
}

// readTaken reads what takes the time of the resources of lines when they need it.
func readTaken(ctx context.Context, tx *pg.Tx, l *model.AppointmentImport, lines []*model.ImportedAppointment) error {
	var resources []id.UUID
	var starts, ends []time.Time
	for resource, spans := range l.Needed(lines) {
		for _, span := range spans {
			resources, starts, ends = append(resources, resource), append(starts, span.From), append(ends, span.Until)
		}
	}
	if len(resources) == 0 {
		return nil
	}
	args := []any{l.Company, resources, starts, ends}
	return tx.Pipeline(ctx,
		pg.Query{SQL: ImportTakenSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var resource id.UUID
			var unit int32
			var span model.TimeSpan
			err := rows.Scan(&resource, &unit, &span.From, &span.Until)
			l.AddTaken(resource, unit, span)
			return err
		})},
		pg.Query{SQL: importTimeOffSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var resource id.UUID
			var span model.TimeSpan
			err := rows.Scan(&resource, &span.From, &span.Until)
			l.AddTimeOff(resource, span)
			return err
		})})
}

// CloseAppointmentImport writes the appointments of the plan. Their events are then listed.
func (s *Store) CloseAppointmentImport(ctx context.Context, tx *pg.Tx, l *model.AppointmentImport) error {
	if len(l.Recorded) == 0 {
		return nil
	}
	var p purchases
	var d importedDates
	var a assignmentColumns
	for i := range l.Recorded {
		r := &l.Recorded[i]
		p.add(&r.Transaction, r.Reference)
		d.add(r)
		for j := range r.Assignments {
			a.add(r.Transaction.Bookings[0].ID, &r.Assignments[j])
		}
	}
	queries := []pg.Query{
		{SQL: insertAppointmentDatesSQL, Args: []any{l.Company, d.ids, d.events, d.starts, d.minutes, d.timezones, d.booked, d.statuses}},
		{SQL: insertImportedAssignmentsSQL, Args: []any{l.Company, a.dates, a.bookings, a.resources, a.kinds, a.units, a.positions, a.from, a.until, a.active}},
		{SQL: listImportedSQL, Args: []any{l.Company, d.events, l.Now}},
	}
	return tx.Pipeline(ctx, append(queries, p.insert(l.Company, history)...)...)
}

// importedDates are the column values of dates of appointments to insert.
type importedDates struct {
	ids       []id.EventDate
	events    []id.Event
	starts    []time.Time
	minutes   []int32
	timezones []string
	booked    []int32
	statuses  []string
}

func (d *importedDates) add(r *model.RecordedAppointment) {
	b := &r.Transaction.Bookings[0]
	d.ids, d.events = append(d.ids, b.Date.ID), append(d.events, b.Date.Event)
	d.starts, d.minutes, d.timezones = append(d.starts, b.Date.StartsAt), append(d.minutes, b.Date.Minutes), append(d.timezones, b.Date.Timezone)
	booked := b.Spaces
	if b.Cancelled {
		booked = 0
	}
	d.booked, d.statuses = append(d.booked, booked), append(d.statuses, string(r.Status))
}

// assignmentColumns are the column values of assignments to insert.
type assignmentColumns struct {
	dates       []id.EventDate
	bookings    []id.Booking
	resources   []id.UUID
	kinds       []string
	units       []int32
	positions   []int32
	from, until []time.Time
	active      []bool
}

func (c *assignmentColumns) add(b id.Booking, a *model.Assignment) {
	c.dates, c.bookings, c.resources = append(c.dates, a.Date), append(c.bookings, b), append(c.resources, a.Resource)
	c.kinds, c.units, c.positions = append(c.kinds, string(a.Kind)), append(c.units, a.Unit), append(c.positions, a.Position)
	c.from, c.until, c.active = append(c.from, a.From), append(c.until, a.Until), append(c.active, a.Active)
}
