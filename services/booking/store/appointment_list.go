package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// A list of appointments walks along the rows that its most selective filter leaves, in the order of the
// start where an index has it. As in other lists, the rest of an appointment is read row by row.

const (
	bookingOnDate = ` cross join lateral (` + listedBooking + ` and b.event_date_id = d.id offset 0) b`

	// An appointment's date, by the booking or by the assignment.
	dateOfAppointment = ` cross join lateral (select d.id, d.event_id, d.starts_at from event_dates d
		where d.company_id = $1 and d.appointment_id is not null and d.id = `

	purchaseOfAppointment = ` cross join lateral (select t.status, ` + changedAt + ` as changed_at
		from transactions t where t.company_id = $1 and t.id = b.transaction_id offset 0) p`

	heldTransaction = `t.status <> 'confirmed' and t.status in ('held', 'pending')`

	// The appointments that a customer bought or attends. Only the events of appointments have any, so the other
	// purchases of the customer are read in an index alone.
	appointmentsOfCustomerSQL = ` from (
			(select ` + appointmentPurchase + ` from transactions t
				where t.company_id = $1 and t.purchaser_id = %[1]s and t.status = 'confirmed' offset 0)
			union all
			(select ` + appointmentPurchase + ` from transactions t
				where t.company_id = $1 and t.purchaser_id = %[1]s and t.status in ('held', 'pending') offset 0)
			union all
			(select t.* from (select distinct b.transaction_id from bookings b where b.company_id = $1 and b.bought_for = %[1]s) g
				cross join lateral (select ` + appointmentPurchase + ` from transactions t
					where t.company_id = $1 and t.id = g.transaction_id and t.purchaser_id <> %[1]s offset 0) t)
		) t cross join lateral (` + listedBooking + ` and b.transaction_id = t.id
			and b.event_id = any(array(select e.id from events e where e.company_id = $1 and e.of_appointments)) offset 0) b`

	appointmentPurchase = `t.id, t.purchaser_id`

	// With held ones, which have an index of their own.
	changedOrHeldSQL = ` from (
			select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed' and ` + changedAt + ` >= %[1]s
			union all
			select t.id from transactions t where t.company_id = $1 and ` + heldTransaction + ` and ` + changedAt + ` >= %[1]s
		) t` + bookingsOfTransaction

	// The staff member of an appointment is the active one, or the last if none is active.
	isStaffSQL = `(select a.active or (select true from assignments o
				where o.company_id = $1 and o.event_date_id = d.id and o.kind = 'staff' and o.resource_id <> a.resource_id
					and (o.active or (o.position, o.resource_id) > (a.position, a.resource_id)) limit 1) is null
			from assignments a where a.company_id = $1 and a.event_date_id = d.id and a.resource_id = %s and a.kind = 'staff')`

	// The rooms of an appointment are the active ones, or all if none is active.
	isRoomSQL = `(select a.active or (select true from assignments o
				where o.company_id = $1 and o.event_date_id = d.id and o.kind = 'room' and o.active limit 1) is null
			from assignments a where a.company_id = $1 and a.event_date_id = d.id and a.resource_id = %s and a.kind = 'room')`
)

// AppointmentQuery is the filters and the page of a list of appointments.
type AppointmentQuery struct {
	Page                     page.Page
	StartsFrom, StartsBefore time.Time // zero: none
	Staff                    *id.StaffMember
	Room                     *id.Room
	Type                     *id.AppointmentType
	Customer                 *id.Customer // who bought or attends
	Statuses                 []model.AppointmentStatus
	Since                    time.Time // zero: none
	MostCounted              int64     // the largest total
}

// appointmentWalk is the rows that a statement goes through.
type appointmentWalk int

const (
	appointmentDates    appointmentWalk = iota // by start, of all types or of one
	resourceAssignments                        // of a staff member or in a room, by start
	customerBookings                           // of a customer
	heldAppointments                           // of holds and purchases in progress
	changedPurchases                           // of confirmed transactions, by their last change
	changedAppointments                        // of confirmed transactions that changed, and of those that are held
)

// walk returns the rows of which the filters of q leave the fewest.
func (q *AppointmentQuery) walk() appointmentWalk {
	switch {
	case q.Customer != nil:
		return customerBookings
	case len(q.Statuses) == 1 && q.Statuses[0] == model.AppointmentHeld:
		return heldAppointments
	case q.Staff != nil || q.Room != nil:
		return resourceAssignments
	case q.Type != nil || !q.StartsFrom.IsZero() || !q.StartsBefore.IsZero() || q.Since.IsZero():
		return appointmentDates
	case slices.Contains(q.Statuses, model.AppointmentHeld):
		return changedAppointments
	}
	return changedPurchases
}

// from begins a statement on the appointments that match q.
func (q *AppointmentQuery) from(company id.Company, of appointmentWalk) pg.Statement {
	s := pg.Statement{Args: []any{company}}
	where := " where true"
	const dateOfBooking = dateOfAppointment + "b.event_date_id offset 0) d"
	switch of {
	case customerBookings:
		customer := s.Arg(*q.Customer)
		s.SQL = strings.ReplaceAll(appointmentsOfCustomerSQL, "%[1]s", customer) + dateOfBooking
		where = " where (t.purchaser_id = " + customer + " or b.bought_for = " + customer + ")"
	case heldAppointments:
		s.SQL = " from (select t.id from transactions t where t.company_id = $1 and " + heldTransaction + " offset 0) t" +
			bookingsOfTransaction + dateOfBooking
	case resourceAssignments:
		s.SQL = " from assignments a" + dateOfAppointment + "a.event_date_id offset 0) d" + bookingOnDate
		where = " where a.company_id = $1 and a.resource_id = " + s.Arg(q.resource())
	case changedPurchases:
		s.SQL = " from transactions t" + bookingsOfTransaction + dateOfBooking
		where = " where t.company_id = $1 and t.status = 'confirmed'"
	case changedAppointments:
		s.SQL = strings.ReplaceAll(changedOrHeldSQL, "%[1]s", s.Arg(q.Since)) + dateOfBooking
	case appointmentDates:
		s.SQL = " from event_dates d" + bookingOnDate
		where = " where d.company_id = $1 and d.appointment_id is not null"
	}
	s.SQL += purchaseOfAppointment + where
	q.filter(&s, of)
	return s
}

// resource returns the staff member or the room along whose assignments a statement walks.
func (q *AppointmentQuery) resource() id.UUID {
	if q.Staff != nil {
		return q.Staff.UUID()
	}
	return q.Room.UUID()
}

// start returns the column of the start in a walk, and changed that of the last change.
func (w appointmentWalk) start() string {
	if w == resourceAssignments {
		return "a.starts_at"
	}
	return "d.starts_at"
}

func (w appointmentWalk) changed() string {
	if w == changedPurchases {
		return changedAt
	}
	return "p.changed_at"
}

// filter adds the conditions of q.
func (q *AppointmentQuery) filter(s *pg.Statement, of appointmentWalk) {
	s.SQL += " and (" + strings.Join(q.states(), " or ") + ")"
	if !q.StartsFrom.IsZero() {
		s.And(of.start()+" >= %s", q.StartsFrom)
	}
	if !q.StartsBefore.IsZero() {
		s.And(of.start()+" < %s", q.StartsBefore)
	}
	if q.Type != nil {
		s.And("d.event_id = %s", *q.Type)
	}
	if q.Staff != nil {
		s.And(isStaffSQL, *q.Staff)
	}
	if q.Room != nil {
		s.And(isRoomSQL, *q.Room)
	}
	if !q.Since.IsZero() {
		s.And(of.changed()+" >= %s", q.Since)
	}
}

// states returns the conditions of the statuses of q; an appointment meets at most one.
func (q *AppointmentQuery) states() []string {
	conditions := map[model.AppointmentStatus]string{
		model.AppointmentHeld:      "p.status in ('held', 'pending') and not b.is_cancelled",
		model.AppointmentBooked:    "p.status = 'confirmed' and not b.is_cancelled",
		model.AppointmentCancelled: "p.status = 'confirmed' and b.is_cancelled",
	}
	var out []string
	for _, status := range q.Statuses {
		out = append(out, conditions[status])
	}
	if len(out) == 0 {
		return []string{"p.status = 'confirmed'"}
	}
	return out
}

// Total returns the statement that counts the appointments that match q, up to the limit.
func (q *AppointmentQuery) Total(company id.Company) pg.Statement {
	of := q.walk()
	s := q.from(company, of)
	if of == appointmentDates || of == resourceAssignments {
		s.SQL += " order by " + of.start() // along the index that the list walks
	}
	s.SQL = "select count(*) from (select" + s.SQL + " limit " + s.Arg(q.MostCounted) + ") n"
	return s
}

// List returns the statement that reads the identifiers, starts and changes of the page and of one more
// appointment.
func (q *AppointmentQuery) List(company id.Company) pg.Statement {
	from, p := *q, q.Page
	if p.Order.Column == changedAt && q.Since.IsZero() {
		from.Since = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) // walks along all changes, unless a filter leaves fewer rows
	}
	of := from.walk()
	if p.Order.Column == changedAt {
		p.Order.Column = of.changed()
	} else {
		p.Order.Column = of.start()
	}
	s := from.from(company, of)
	s.SQL = "select b.id, " + of.start() + ", " + of.changed() + s.SQL
	addPage(&s, p)
	return s
}

// Orders of appointments.

// AppointmentsByStart sorts appointments by their start.
func AppointmentsByStart() page.Order { return page.Order{Code: 76, Column: "d.starts_at", ID: "b.id"} }

// AppointmentsByStartDesc sorts appointments by their start, latest first.
func AppointmentsByStartDesc() page.Order {
	return page.Order{Code: 77, Column: "d.starts_at", ID: "b.id", Desc: true}
}

// AppointmentsByChange sorts appointments by the last change of their transactions.
func AppointmentsByChange() page.Order { return page.Order{Code: 78, Column: changedAt, ID: "b.id"} }

// AppointmentsByChangeDesc sorts appointments by the last change of their transactions, latest first.
func AppointmentsByChangeDesc() page.Order {
	return page.Order{Code: 79, Column: changedAt, ID: "b.id", Desc: true}
}

// ListedAppointment is an appointment of a list.
type ListedAppointment struct {
	ID                  id.Booking
	StartsAt, ChangedAt time.Time
}

// Cursor returns the cursor of the appointment in an order.
func (a *ListedAppointment) Cursor(o page.Order) page.Cursor {
	if o.Column == changedAt {
		return page.At(a.ChangedAt, a.ID.UUID())
	}
	return page.At(a.StartsAt, a.ID.UUID())
}

// AppointmentIDs reads a page, plus one more appointment if there is another page, and the total number of
// matches.
func (s *Store) AppointmentIDs(ctx context.Context, company id.Company, q *AppointmentQuery) (found []ListedAppointment, total int64, err error) {
	list, matching := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company,
		list.Query(pg.Each(func(rows pgx.Rows) error {
			var a ListedAppointment
			err := rows.Scan(&a.ID, &a.StartsAt, &a.ChangedAt)
			found = append(found, a)
			return err
		})),
		matching.Query(pg.First(&total)))
	return found, total, err
}
