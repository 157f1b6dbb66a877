package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Slots of appointments. A commit that takes one holds the locks of its staff member and of its rooms.

const (
	// typeResourcesSQL reads the staff members who can give appointments of a type, and the rooms that it can
	// use. $3 is the staff member who is asked for; null means anyone.
	typeResourcesSQL = `select 'staff', o.staff_id from appointment_type_staff o
			where o.company_id = $1 and o.appointment_type_id = $2 and $3::uuid is null
		union all select 'staff', s.id from staff s where s.company_id = $1 and s.id = $3
		union all select distinct 'room', u.room_id from appointment_type_rooms u where u.company_id = $1 and u.appointment_type_id = $2`

	typeTimezoneSQL = `select e.timezone from events e where e.company_id = $1 and e.id = $2 and e.of_appointments and e.deleted_at is null`

	insertSlotSQL = `insert into event_dates
			(company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, appointment_id, sequence)
		values ($1, $2, $3, $4, $5, $6, 1, $7, $2, $8)`

	insertAssignmentsSQL = `insert into assignments
			(company_id, event_date_id, booking_id, resource_id, kind, unit, position, buffer_before, buffer_after, taken_from, taken_until)
		select $1, d.id, $3, n.resource_id, n.kind, n.unit, n.position, $7, $8,
			d.starts_at - make_interval(mins => $7), d.starts_at + make_interval(mins => d.duration_minutes + $8)
		from unnest($4::uuid[], $5::text[], $6::smallint[]) with ordinality n(resource_id, kind, unit, position)
			join event_dates d on d.company_id = $1 and d.id = $2`

	nameSlotsSQL = `update assignments a set booking_id = n.booking_id from unnest($2::uuid[], $3::uuid[]) n(event_date_id, booking_id)
		where a.company_id = $1 and a.event_date_id = n.event_date_id`

	dropAssignmentsSQL = `delete from assignments where company_id = $1 and event_date_id = any($2)`

	dropSlotsSQL = `delete from event_dates where company_id = $1 and id = any($2) and appointment_id is not null and booked = 0`

	moveBookingSQL = `update bookings set event_date_id = $3 where company_id = $1 and id = $2`

	freeSlotSQL = `update event_dates set booked = 0 where company_id = $1 and id = $2`

	endAssignmentsSQL = `update assignments set active = false where company_id = $1 and event_date_id = $2`
)

// Resources are staff members and rooms.
type Resources struct {
	Staff []id.StaffMember
	Rooms []id.Room
}

// Add adds the resources of other.
func (r *Resources) Add(other Resources) {
	r.Staff, r.Rooms = append(r.Staff, other.Staff...), append(r.Rooms, other.Rooms...)
}

// IDs returns the identifiers of all resources.
func (r *Resources) IDs() []id.UUID {
	var all []id.UUID
	for _, s := range r.Staff {
		all = append(all, s.UUID())
	}
	for _, room := range r.Rooms {
		all = append(all, room.UUID())
	}
	return all
}

// resourceKey is a type with the staff member who is asked for; zero means anyone.
type resourceKey struct {
	Type  id.AppointmentType
	Staff id.StaffMember
}

// TypeResources reads the resources that an appointment of a type can use: those of the staff member, or
// of everybody who offers the type if staff is zero. Without tx, concurrent requests of a company share
// round trips.
func (s *Store) TypeResources(ctx context.Context, tx *pg.Tx, company id.Company, which id.AppointmentType, staff id.StaffMember) (r Resources, err error) {
	key := resourceKey{which, staff}
	if tx == nil {
		r, _, err = s.resources.Get(ctx, company, key)
		return r, err
	}
	return r, tx.Pipeline(ctx, typeResources(company, key, &r))
}

func (s *Store) readTypeResources(ctx context.Context, company id.Company, keys []resourceKey) (map[resourceKey]Resources, error) {
	found := make([]Resources, len(keys))
	queries := make([]pg.Query, len(keys))
	for i, key := range keys {
		queries[i] = typeResources(company, key, &found[i])
	}
	if err := s.ReadOf(ctx, company, queries...); err != nil {
		return nil, err
	}
	byKey := make(map[resourceKey]Resources, len(keys))
	for i, key := range keys {
		byKey[key] = found[i]
	}
	return byKey, nil
}

func typeResources(company id.Company, key resourceKey, into *Resources) pg.Query {
	return pg.Query{SQL: typeResourcesSQL, Args: []any{company, key.Type, key.Staff}, Scan: pg.Each(func(rows pgx.Rows) error {
		var kind model.ResourceKind
		var resource id.UUID
		err := rows.Scan(&kind, &resource)
		if kind == model.RoomResource {
			into.Rooms = append(into.Rooms, id.Room(resource))
		} else {
			into.Staff = append(into.Staff, id.StaffMember(resource))
		}
		return err
	})}
}

// TypeTimezone returns the zone of an appointment type.
func (s *Store) TypeTimezone(ctx context.Context, tx *pg.Tx, company id.Company, which id.AppointmentType) (timezone string, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: typeTimezoneSQL, Args: []any{company, id.Event(which)}, Scan: pg.First(&timezone)})
	if err == nil && timezone == "" {
		err = fault.Missing("appointment type")
	}
	return timezone, err
}

// LockResources locks staff members and then rooms, each in the order of their identifiers, after it has run
// first. A commit that decides about their time holds these locks (invariant 32). It returns the resources that it
// has locked. If wait is false, it leaves out those that another process has locked.
func (s *Store) LockResources(ctx context.Context, tx *pg.Tx, company id.Company, r Resources, wait bool, first ...pg.Query) (map[id.UUID]model.KnownResource, error) {
	known := map[id.UUID]model.KnownResource{}
	suffix := ""
	if !wait {
		suffix = ` skip locked`
	}
	err := tx.Pipeline(ctx, append(first,
		pg.Query{SQL: lockStaffSQL + suffix, Args: []any{company, model.Distinct(slices.Clone(r.Staff))}, Scan: scanKnown(known)},
		pg.Query{SQL: lockRoomsSQL + suffix, Args: []any{company, model.Distinct(slices.Clone(r.Rooms))}, Scan: scanKnown(known)})...)
	return known, err
}

// QueueSlot stores the date of an appointment with its assignments when tx commits, or with its next
// statement.
func QueueSlot(tx *pg.Tx, company id.Company, slot *model.NewSlot) {
	var resources []id.UUID
	var kinds []string
	var units []int16
	for _, a := range slot.Assignments() {
		resources, kinds, units = append(resources, a.Resource), append(kinds, string(a.Kind)), append(units, int16(a.Unit))
	}
	tx.Queue(pg.Query{SQL: insertSlotSQL, Args: []any{company, slot.Date, id.Event(slot.Type), slot.StartsAt, slot.Minutes, slot.Timezone,
		slot.Booked, slot.Sequence}},
		pg.Query{SQL: insertAssignmentsSQL, Args: []any{company, slot.Date, slot.Booking, resources, kinds, units, slot.Staff.Before, slot.Staff.After}})
}

// NamedSlots are the dates of appointments that a commit has made, with their bookings.
type NamedSlots struct {
	Dates    []id.EventDate
	Bookings []id.Booking
}

// SettleSlots records the bookings of slots, and removes the slots whose purchases were refused, when tx
// commits.
func SettleSlots(tx *pg.Tx, company id.Company, kept NamedSlots, refused []id.EventDate) {
	if len(kept.Dates) > 0 {
		tx.Queue(pg.Query{SQL: nameSlotsSQL, Args: []any{company, kept.Dates, kept.Bookings}})
	}
	if len(refused) > 0 {
		tx.Queue(pg.Query{SQL: dropAssignmentsSQL, Args: []any{company, refused}}, pg.Query{SQL: dropSlotsSQL, Args: []any{company, refused}})
	}
	CheckOverlaps(tx)
}

// MovedAppointment is an appointment that gets another date.
type MovedAppointment struct {
	Transaction *model.Transaction // with its new version
	Old         *model.AppointmentSlot
	New         *model.NewSlot
	History     model.HistoryEntry
}

// Move gives the booking of an appointment its new date, and frees the space of the old one. If the two
// overlap, nobody else can have the old one.
func (s *Store) Move(ctx context.Context, tx *pg.Tx, company id.Company, m *MovedAppointment, overlaps bool) error {
	t := m.Transaction
	QueueSlot(tx, company, m.New)
	tx.Queue(
		pg.Query{SQL: moveBookingSQL, Args: []any{company, t.Bookings[0].ID, m.New.Date}},
		pg.Query{SQL: raiseTransactionSQL, Args: []any{company, t.ID, t.Version, t.UpdatedAt}},
		pg.Query{SQL: freeSlotSQL, Args: []any{company, m.Old.Date}})
	tx.Queue(AddHistory(company, m.History))
	if overlaps {
		tx.Queue(pg.Query{SQL: endAssignmentsSQL, Args: []any{company, m.Old.Date}})
	}
	return tx.Pipeline(ctx)
}

// LockSlot locks the date of an appointment until the end of tx.
func (s *Store) LockSlot(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) error {
	return tx.Pipeline(ctx, pg.Query{SQL: LockDatesAloneSQL, Args: []any{company, []id.EventDate{date}}})
}

// CheckOverlaps makes the database check all assignments of tx when it commits, or with its next statement.
// If two of them overlap, it has a refusal for that.
func CheckOverlaps(tx *pg.Tx) { tx.Queue(pg.Query{SQL: checkOverlapsSQL}) }
