package store

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Staff, rooms and appointment types have a limit per company and similar lists.

const (
	// Resources of one kind are added one after the other, so that their number is exact. $2 is the kind.
	lockAddingSQL = `select pg_advisory_xact_lock(hashtextextended($2 || ' ' || $1::uuid, 0))`

	countStaffSQL = `select count(*) from staff where company_id = $1`
	countRoomsSQL = `select count(*) from rooms where company_id = $1`
	countTypesSQL = `select count(*) from appointment_types where company_id = $1`

	lackingStaffSQL = `select n.id from unnest($2::uuid[]) n(id) where not exists (select from staff s where s.company_id = $1 and s.id = n.id)`
	lackingRoomsSQL = `select n.id from unnest($2::uuid[]) n(id) where not exists (select from rooms r where r.company_id = $1 and r.id = n.id)`

	// TimeOffConflictsSQL finds the first date of a resource that overlaps time off, and counts these dates. It hides
	// the times from the planner, which otherwise can choose an index of the whole history.
	TimeOffConflictsSQL = `select a.event_date_id, count(*) over ()
		from (select $2::uuid as resource_id, $3::timestamptz as taken_from, $4::timestamptz as taken_until offset 0) n
		cross join lateral (` + overlappingNeed + `) a
		order by a.taken_from, a.event_date_id limit 1`

	// UnitConflictsSQL finds the first date after $3 that has one of the units $4 to $5 of a room, and counts these
	// dates.
	UnitConflictsSQL = `select a.event_date_id, count(*) over ()
		from generate_series($4::integer, $5::integer) u(unit)
		cross join lateral (select a.event_date_id, a.taken_from from assignments a
			where a.company_id = $1 and a.resource_id = $2 and a.active and a.unit > 0 and a.unit = u.unit::smallint and a.taken_until > $3
			order by a.taken_until) a
		order by a.taken_from, a.event_date_id limit 1`
)

// adding locks the resources of a kind of the company against additions, and counts them.
func adding(ctx context.Context, tx *pg.Tx, company id.Company, kind, count string) (n int, err error) {
	if _, err := tx.Exec(ctx, lockAddingSQL, company, kind); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, count, company).Scan(&n)
	return n, err
}

// Lacking returns which of the staff and rooms do not exist.
func (s *Store) Lacking(ctx context.Context, tx *pg.Tx, company id.Company, staff []id.StaffMember, rooms [][]id.Room) (*model.Lacking, error) {
	all := []id.Room{}
	for _, requirement := range rooms {
		all = append(all, requirement...)
	}
	var noStaff []id.StaffMember
	var noRooms []id.Room
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lackingStaffSQL, Args: []any{company, append([]id.StaffMember{}, staff...)}, Scan: pg.Collect(&noStaff)},
		pg.Query{SQL: lackingRoomsSQL, Args: []any{company, all}, Scan: pg.Collect(&noRooms)})
	l := &model.Lacking{Staff: map[id.StaffMember]bool{}, Rooms: map[id.Room]bool{}}
	for _, who := range noStaff {
		l.Staff[who] = true
	}
	for _, room := range noRooms {
		l.Rooms[room] = true
	}
	return l, err
}

// TimeOffConflicts returns the active assignments during time off. The caller holds the lock of the resource.
func (s *Store) TimeOffConflicts(ctx context.Context, tx *pg.Tx, company id.Company, t *model.TimeOff) (c model.Conflicts, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: TimeOffConflictsSQL, Args: []any{company, t.Resource(), t.StartsAt, t.EndsAt}, Scan: pg.First(&c.First, &c.Count)})
	return c, err
}

// UnitConflicts returns the active assignments, now or later, of the units beyond a room's capacity.
func (s *Store) UnitConflicts(ctx context.Context, tx *pg.Tx, company id.Company, r *model.Room, now time.Time) (c model.Conflicts, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: UnitConflictsSQL, Args: []any{company, r.ID, now, r.Capacity + 1, int32(model.MaxUnits)},
		Scan: pg.First(&c.First, &c.Count)})
	return c, err
}

// ResourceQuery is the filter, the order and the page of a list of staff, rooms or appointment types.
type ResourceQuery struct {
	Page   page.Page
	Since  time.Time // zero: none
	Active *bool     // nil: any
	// OffersType is for staff: only people who offer this type. OfferedBy is for appointment types: only
	// those that this person offers. Nil means no filter.
	OffersType *id.AppointmentType
	OfferedBy  *id.StaffMember
}

// statement returns the statement that begins with sql, for the rows of the table with an alias that match q.
func (q *ResourceQuery) statement(company id.Company, sql string) pg.Statement {
	s := pg.Statement{SQL: sql, Args: []any{company}}
	if !q.Since.IsZero() {
		s.And("r.updated_at >= %s", q.Since)
	}
	if q.Active != nil {
		s.And("r.active = %s", *q.Active)
	}
	if q.OffersType != nil {
		s.And("r.id in (select o.staff_id from appointment_type_staff o where o.company_id = $1 and o.appointment_type_id = %s)", *q.OffersType)
	}
	if q.OfferedBy != nil {
		s.And("r.id in (select o.appointment_type_id from appointment_type_staff o where o.company_id = $1 and o.staff_id = %s)", *q.OfferedBy)
	}
	return s
}

// list returns the statement that reads the page and one more row.
func (q *ResourceQuery) list(company id.Company, sql string) pg.Statement {
	s := q.statement(company, sql)
	q.Page.Add(&s)
	return s
}

// cursor returns the cursor after a row.
func (q *ResourceQuery) cursor(created, updated time.Time, row id.UUID) page.Cursor {
	if q.Page.Order.Column == "r.updated_at" {
		return page.At(updated, row)
	}
	return page.At(created, row)
}

// The lists of resources, as codes of their orders.
const (
	staffList = 60 + 4*iota
	roomList
	typeList
)

// ResourceOrders are the orders of a list of staff, rooms or appointment types.
type ResourceOrders struct{ Created, CreatedDesc, Updated, UpdatedDesc page.Order }

func resourceOrders(code byte) ResourceOrders {
	return ResourceOrders{
		Created:     page.Order{Code: code, Column: "r.created_at", ID: "r.id"},
		CreatedDesc: page.Order{Code: code + 1, Column: "r.created_at", ID: "r.id", Desc: true},
		Updated:     page.Order{Code: code + 2, Column: "r.updated_at", ID: "r.id"},
		UpdatedDesc: page.Order{Code: code + 3, Column: "r.updated_at", ID: "r.id", Desc: true},
	}
}

// StaffOrders are the orders of a list of staff.
func StaffOrders() ResourceOrders { return resourceOrders(staffList) }

// RoomOrders are the orders of a list of rooms.
func RoomOrders() ResourceOrders { return resourceOrders(roomList) }

// TypeOrders are the orders of a list of appointment types.
func TypeOrders() ResourceOrders { return resourceOrders(typeList) }
