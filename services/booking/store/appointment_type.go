package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/recurrence"
)

const (
	typeColumns = `r.id, r.lengths, r.buffer_before_minutes, r.buffer_after_minutes, r.slot_minutes,
		r.minimum_notice_minutes, r.maximum_advance_days, r.active, coalesce(r.reference, ''),
		r.created_at, r.updated_at, e.listed, ` + eventColumns

	typesSQL     = `select ` + typeColumns + ` from appointment_types r join events e on e.company_id = r.company_id and e.id = r.id where r.company_id = $1`
	typeByIDSQL  = typesSQL + ` and r.id = $2`
	lockTypeSQL  = typeByIDSQL + ` for no key update of e`
	countedTypes = `select count(*) from appointment_types r where r.company_id = $1`

	typeStaffSQL = `select appointment_type_id, staff_id from appointment_type_staff
		where company_id = $1 and appointment_type_id` + pg.AmongIDs + ` order by appointment_type_id, staff_id`
	typeRoomsSQL = `select appointment_type_id, requirement, room_id from appointment_type_rooms
		where company_id = $1 and appointment_type_id` + pg.AmongIDs + ` order by appointment_type_id, requirement, position`

	insertTypeSQL = `insert into appointment_types (company_id, id, lengths, buffer_before_minutes, buffer_after_minutes, slot_minutes,
			minimum_notice_minutes, maximum_advance_days, active, reference, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`

	// The event is listed, and counted, from its first date on.
	ofAppointmentsSQL = `update events set of_appointments = true, listed = false where company_id = $1 and id = $2`

	saveTypeSQL = `update appointment_types set lengths = $3, buffer_before_minutes = $4, buffer_after_minutes = $5, slot_minutes = $6,
			minimum_notice_minutes = $7, maximum_advance_days = $8, active = $9, updated_at = $10
		where company_id = $1 and id = $2`

	deleteTypeStaffSQL = `delete from appointment_type_staff where company_id = $1 and appointment_type_id = $2`
	insertTypeStaffSQL = `insert into appointment_type_staff (company_id, appointment_type_id, staff_id) select $1, $2, unnest($3::uuid[])`

	deleteTypeRoomsSQL = `delete from appointment_type_rooms where company_id = $1 and appointment_type_id = $2`
	insertTypeRoomsSQL = `insert into appointment_type_rooms (company_id, appointment_type_id, requirement, position, room_id)
		select $1, $2, n.requirement, n.position, n.room_id from unnest($3::smallint[], $4::smallint[], $5::uuid[]) n(requirement, position, room_id)`
)

// foundTypes are appointment types with their options, staff and rooms.
type foundTypes struct {
	types   []model.AppointmentType
	options map[id.Event][]model.PricingOption
	staff   map[id.AppointmentType][]id.StaffMember
	rooms   map[id.AppointmentType][][]id.Room
}

func (f *foundTypes) scan() func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var t model.AppointmentType
		e := &t.Event
		var r recurrence.Recurrence
		err := rows.Scan(append([]any{&t.ID, &t.Lengths, &t.BufferBefore, &t.BufferAfter, &t.SlotMinutes, &t.Notice, &t.Advance, &t.Active, &t.Reference, &t.CreatedAt, &t.UpdatedAt,
			&t.Listed, &e.ID, &e.Title, &e.Description, &e.Type, &e.Status, &e.Timezone, &e.Location, &e.Version, &e.CreatedAt, &e.UpdatedAt,
			&r.Rule, &r.Start, &r.Exceptions, &e.StaffAndRooms.Staff, &e.StaffAndRooms.Rooms, &e.OfAppointments}, append(policyFields(&e.Policy), rulesFields(&e.Rules)...)...)...)
		f.types = append(f.types, t)
		return err
	})
}

// parts returns the queries for the options, staff and rooms of types.
func (f *foundTypes) parts(company id.Company, types []id.AppointmentType) []pg.Query {
	f.options, f.staff, f.rooms = map[id.Event][]model.PricingOption{}, map[id.AppointmentType][]id.StaffMember{}, map[id.AppointmentType][][]id.Room{}
	args := []any{company, types}
	return []pg.Query{
		{SQL: optionsSQL, Args: args, Scan: scanOptions(f.options)},
		{SQL: typeStaffSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var t id.AppointmentType
			var who id.StaffMember
			err := rows.Scan(&t, &who)
			f.staff[t] = append(f.staff[t], who)
			return err
		})},
		{SQL: typeRoomsSQL, Args: args, Scan: pg.Each(f.scanRoom)},
	}
}

func (f *foundTypes) scanRoom(rows pgx.Rows) error {
	var t id.AppointmentType
	var requirement int
	var room id.Room
	err := rows.Scan(&t, &requirement, &room)
	for len(f.rooms[t]) <= requirement {
		f.rooms[t] = append(f.rooms[t], nil)
	}
	f.rooms[t][requirement] = append(f.rooms[t][requirement], room)
	return err
}

// join sets the options, staff and rooms of every type.
func (f *foundTypes) join() []model.AppointmentType {
	for i := range f.types {
		t := &f.types[i]
		t.Event.Options, t.Staff, t.Rooms = f.options[t.Event.ID], f.staff[t.ID], f.rooms[t.ID]
	}
	return f.types
}

// AppointmentType reads a type.
func (s *Store) AppointmentType(ctx context.Context, company id.Company, which id.AppointmentType) (*model.AppointmentType, error) {
	var found foundTypes
	err := s.ReadOf(ctx, company, append(found.parts(company, []id.AppointmentType{which}),
		pg.Query{SQL: typeByIDSQL, Args: []any{company, which}, Scan: found.scan()})...)
	return only(found.join(), "appointment type", err)
}

// LockAppointmentType reads a type and locks its event until the end of tx. The event has the dates that
// GetEvent shows, and their summary.
func (s *Store) LockAppointmentType(ctx context.Context, tx *pg.Tx, company id.Company, which id.AppointmentType, now time.Time) (*model.AppointmentType, error) {
	var found foundTypes
	var event foundEvents
	events := []id.Event{id.Event(which)}
	event.dates = map[id.Event][]model.EventDate{}
	queries := append([]pg.Query{{SQL: lockTypeSQL, Args: []any{company, which}, Scan: found.scan()}}, found.parts(company, []id.AppointmentType{which})...)
	err := tx.Pipeline(ctx, append(queries, event.summarize(company, events, now), event.shownDates(company, events, now, model.ShownDates))...)
	t, err := only(found.join(), "appointment type", err)
	if err != nil {
		return nil, err
	}
	t.Event.Dates, t.Event.Summary = event.dates[t.Event.ID], event.summary[t.Event.ID]
	return t, nil
}

// AppointmentTypes reads a page of types plus one more, and the total number of matches.
func (s *Store) AppointmentTypes(ctx context.Context, company id.Company, q *ResourceQuery) ([]model.AppointmentType, int64, error) {
	var found foundTypes
	var total int64
	list, count := q.list(company, typesSQL), q.statement(company, countedTypes)
	if err := s.ReadOf(ctx, company, list.Query(found.scan()), count.Query(pg.First(&total))); err != nil || len(found.types) == 0 {
		return nil, total, err
	}
	types := make([]id.AppointmentType, len(found.types))
	for i := range found.types {
		types[i] = found.types[i].ID
	}
	err := s.ReadOf(ctx, company, found.parts(company, types)...)
	return found.join(), total, err
}

// AfterType returns the cursor after an appointment type.
func (q *ResourceQuery) AfterType(last *model.AppointmentType) page.Cursor {
	return q.cursor(last.CreatedAt, last.UpdatedAt, last.ID.UUID())
}

// InsertAppointmentType stores a new type and its event. It refuses one beyond the limit.
func (s *Store) InsertAppointmentType(ctx context.Context, tx *pg.Tx, company id.Company, t *model.AppointmentType) error {
	n, err := adding(ctx, tx, company, "appointment types", countTypesSQL)
	if err != nil {
		return err
	}
	if n >= model.MaxResources {
		return model.TooManyAppointmentTypes()
	}
	if err := s.InsertEvent(ctx, tx, company, &t.Event, nil); err != nil {
		return err
	}
	return tx.Pipeline(ctx, append([]pg.Query{
		{SQL: ofAppointmentsSQL, Args: []any{company, t.Event.ID}},
		{SQL: uncountEventSQL, Args: []any{company}},
		{SQL: insertTypeSQL, Args: []any{company, t.ID, t.Lengths, t.BufferBefore, t.BufferAfter, t.SlotMinutes, t.Notice, t.Advance, t.Active, orNull(t.Reference), t.CreatedAt}},
		insertTypeStaff(company, t)}, insertTypeRooms(company, t))...)
}

func insertTypeStaff(company id.Company, t *model.AppointmentType) pg.Query {
	return pg.Query{SQL: insertTypeStaffSQL, Args: []any{company, t.ID, append([]id.StaffMember{}, t.Staff...)}}
}

func insertTypeRooms(company id.Company, t *model.AppointmentType) pg.Query {
	var requirements, positions []int16
	rooms := []id.Room{}
	for i, requirement := range t.Rooms {
		for j, room := range requirement {
			requirements, positions, rooms = append(requirements, int16(i)), append(positions, int16(j)), append(rooms, room)
		}
	}
	return pg.Query{SQL: insertTypeRoomsSQL, Args: []any{company, t.ID, requirements, positions, rooms}}
}

// SaveAppointmentType stores the changes of a type whose event is locked.
func (s *Store) SaveAppointmentType(ctx context.Context, tx *pg.Tx, company id.Company, p *model.AppointmentTypePlan) error {
	if err := s.SaveEvent(ctx, tx, company, p.Event); err != nil {
		return err
	}
	t := p.AppointmentType
	queries := []pg.Query{{SQL: saveTypeSQL, Args: []any{company, t.ID, t.Lengths, t.BufferBefore, t.BufferAfter, t.SlotMinutes, t.Notice, t.Advance, t.Active, t.UpdatedAt}}}
	if p.StaffChanged {
		queries = append(queries, pg.Query{SQL: deleteTypeStaffSQL, Args: []any{company, t.ID}}, insertTypeStaff(company, t))
	}
	if p.RoomsChanged {
		queries = append(queries, pg.Query{SQL: deleteTypeRoomsSQL, Args: []any{company, t.ID}}, insertTypeRooms(company, t))
	}
	return tx.Pipeline(ctx, queries...)
}
