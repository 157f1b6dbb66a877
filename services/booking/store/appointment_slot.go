package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// AppointmentSlotsSQL reads the dates of appointments with their assignments.
	AppointmentSlotsSQL = slotColumns + `d.id` + pg.AmongIDs + slotAssignments

	// SlotsOfBookingsSQL is AppointmentSlotsSQL for the dates of bookings.
	SlotsOfBookingsSQL = slotColumns + `d.id = any(array(select b.event_date_id from bookings b
		where b.company_id = $1 and b.id` + pg.AmongIDs + `))` + slotAssignments

	slotColumns = `select d.id, d.event_id, e.title, e.location, e.listed, d.sequence, d.status, d.starts_at, d.duration_minutes, d.timezone,
		a.kind, a.resource_id, coalesce(n.name, ''), coalesce(n.color, ''), coalesce(a.unit, 0), coalesce(a.position, 0),
		coalesce(a.buffer_before, 0), coalesce(a.buffer_after, 0), a.taken_from, a.taken_until, coalesce(a.active, false), a.substitutes_for
	from (select d.id, d.event_id, d.sequence, d.status, d.starts_at, d.duration_minutes, d.timezone from event_dates d
		where d.company_id = $1 and d.appointment_id is not null and `

	slotAssignments = ` offset 0) d
	cross join lateral (select e.title, e.location, e.listed from events e where e.company_id = $1 and e.id = d.event_id offset 0) e
	left join lateral (` + assignmentsOfDate + `) a on true
	left join lateral (` + nameOfResource + `) n on true
	order by d.id, a.position, a.resource_id`
)

const (
	assignmentsOfDate = `select a.kind, a.resource_id, a.unit, a.position, a.buffer_before, a.buffer_after, a.taken_from,
			a.taken_until, a.active, a.substitutes_for
		from assignments a where a.company_id = $1 and a.event_date_id = d.id offset 0`

	nameOfResource = `select s.name, s.color from staff s where s.company_id = $1 and s.id = a.resource_id and a.kind = 'staff'
		union all select r.name, '' from rooms r where r.company_id = $1 and r.id = a.resource_id and a.kind = 'room' offset 0`
)

// AppointmentSlots reads the slots of the appointments on dates, in one round trip. It omits dates that
// belong to other kinds of events. Without tx, it runs in its own transaction.
func (s *Store) AppointmentSlots(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate) (map[id.EventDate]*model.AppointmentSlot, error) {
	found := make(map[id.EventDate]*model.AppointmentSlot, len(dates))
	if len(dates) == 0 {
		return found, nil
	}
	query := pg.Query{SQL: AppointmentSlotsSQL, Args: []any{company, dates}, Scan: scanSlots(found)}
	if tx != nil {
		return found, tx.Pipeline(ctx, query)
	}
	return found, s.ReadOf(ctx, company, query)
}

// scanSlots returns a Query.Scan that adds slots to found.
func scanSlots(found map[id.EventDate]*model.AppointmentSlot) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var slot model.AppointmentSlot
		var a model.Assignment
		var kind *string
		var from, until *time.Time
		err := rows.Scan(&slot.Date, &slot.Type, &slot.Title, &slot.Location, &slot.Listed, &slot.Sequence, &slot.DateStatus, &slot.StartsAt, &slot.Minutes,
			&slot.Timezone, &kind, &a.Resource, &a.Name, &a.Color, &a.Unit, &a.Position, &a.Before, &a.After, &from, &until,
			&a.Active, &a.SubstitutesFor)
		if err != nil {
			return err
		}
		to := found[slot.Date]
		if to == nil {
			to = &slot
			found[slot.Date] = to
		}
		if kind != nil {
			a.Date, a.Kind, a.From, a.Until = slot.Date, model.ResourceKind(*kind), from.UTC(), until.UTC()
			to.Add(a)
		}
		return nil
	})
}

const (
	// AppointmentsSQL reads bookings whose transactions are confirmed or not, without released ones.
	AppointmentsSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.status <> 'released' and t.id = any(array(
			select b.transaction_id from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + `)))` +
		selectBookings + ` where b.id` + pg.AmongIDs + ` order by b.id`

	// PurchasesOfAppointmentsSQL reads their purchasers, statuses, and when held slots are released. While
	// a payment by pass is in progress, held_until is when the hold that is being paid expires.
	PurchasesOfAppointmentsSQL = `select b.id, t.status, t.held_until, t.purchaser_id,
			coalesce(c.first_name, ''), coalesce(c.last_name, ''), coalesce(c.email, '')
		from (select b.id, b.transaction_id from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + ` offset 0) b
		cross join lateral (select t.purchaser_id, t.status, case t.status when 'held' then t.expires_at when 'pending' then t.held_until end as held_until
			from transactions t where t.company_id = $1 and t.id = b.transaction_id offset 0) t
		left join lateral (select c.first_name, c.last_name, c.email from customers c
			where c.company_id = $1 and c.id = t.purchaser_id offset 0) c on true`
)

// Appointments reads appointments by their bookings, in the order of ids and in one round trip. It omits
// bookings that are not appointments, and those whose purchase was released. Without tx, it runs in its
// own transaction.
func (s *Store) Appointments(ctx context.Context, tx *pg.Tx, company id.Company, ids []id.Booking) ([]model.AppointmentBooking, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found foundAppointments
	if tx != nil {
		if err := tx.Pipeline(ctx, found.queries(company, ids)...); err != nil {
			return nil, err
		}
	} else if err := s.ReadOf(ctx, company, found.queries(company, ids)...); err != nil {
		return nil, err
	}
	return found.in(ids), nil
}

// foundAppointments collects bookings, their purchases and their slots.
type foundAppointments struct {
	Listing
	purchases map[id.Booking]model.AppointmentBooking
	slots     map[id.EventDate]*model.AppointmentSlot
}

func (f *foundAppointments) queries(company id.Company, ids []id.Booking) []pg.Query {
	f.purchases, f.slots = make(map[id.Booking]model.AppointmentBooking, len(ids)), make(map[id.EventDate]*model.AppointmentSlot, len(ids))
	return []pg.Query{
		{SQL: AppointmentsSQL, Args: []any{company, ids}, Scan: f.scanTransactions},
		{SQL: PurchasesOfAppointmentsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var b id.Booking
			var a model.AppointmentBooking
			p := &a.Purchaser
			err := rows.Scan(&b, &a.Status, orZero{&a.HeldUntil}, &p.ID, &p.FirstName, &p.LastName, &p.Email)
			f.purchases[b] = a
			return err
		})},
		{SQL: SlotsOfBookingsSQL, Args: []any{company, ids}, Scan: scanSlots(f.slots)},
	}
}

// in returns the appointments in the order of ids.
func (f *foundAppointments) in(ids []id.Booking) []model.AppointmentBooking {
	found := make(map[id.Booking]model.AppointmentBooking, len(ids))
	for _, t := range f.Transactions {
		for _, b := range t.Bookings {
			a := f.purchases[b.ID]
			purchaser := a.Purchaser
			a.Transaction, a.Slot = t, f.slots[b.Date.ID]
			a.Purchaser, a.Bookings = purchaser, []model.Booking{b}
			if a.Slot != nil {
				found[b.ID] = a
			}
		}
	}
	list := make([]model.AppointmentBooking, 0, len(ids))
	for _, b := range ids {
		if a, ok := found[b]; ok {
			list = append(list, a)
		}
	}
	return list
}
