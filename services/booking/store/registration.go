package store

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// As with transactions, the cost of a list depends only on the event and the page. The status of a
// booking's transaction is read row by row, in a subselect that the planner cannot turn into a join
// of whole tables.

const (
	eventExistsSQL = `select count(*) from events e where e.company_id = $1 and e.id = $2 and e.deleted_at is null`

	eventDateExistsSQL = `select count(*) from event_dates d where d.company_id = $1 and d.event_id = $2 and d.id = $3`

	ofEventSQL = ` from bookings b where b.company_id = $1 and b.event_id = $2`

	// The bookings of an event for one customer: those that the customer bought for nobody else,
	// and those that another customer bought for them. $3 is the customer.
	ofCustomerSQL = ` from (
			select b.id from transactions t cross join lateral (select b.id, b.event_id, b.bought_for from bookings b
				where b.company_id = $1 and b.transaction_id = t.id offset 0) b
			where t.company_id = $1 and t.purchaser_id = $3 and t.status = 'confirmed' and b.event_id = $2 and b.bought_for is null
			union
			select b.id from bookings b where b.company_id = $1 and b.bought_for = $3 and b.event_id = $2
		) m cross join lateral (select b.id, b.transaction_id, b.event_date_id, b.is_cancelled, b.cancelled_at, b.refunded_at, b.attendance_at
			from bookings b where b.company_id = $1 and b.id = m.id offset 0) b where true`

	confirmedSQL = ` and (select t.status from transactions t where t.company_id = $1 and t.id = b.transaction_id) = 'confirmed'`

	// %at is an instant and %id the lowest identifier of that time. Confirming a hold also counts
	// as a change; its time is stored as a whole second.
	changedSQL = `(b.id >= %id or b.cancelled_at >= %at or b.refunded_at >= %at or b.attendance_at >= %at
		or (select t.purchased_at from transactions t where t.company_id = $1 and t.id = b.transaction_id) >= date_trunc('second', %at::timestamptz))`

	// There are few unconfirmed bookings, so they are counted and subtracted.
	unconfirmedSQL = ` - (select count(*) from transactions t cross join lateral (select b.id, b.event_id, b.event_date_id, b.is_cancelled
			from bookings b where b.company_id = $1 and b.transaction_id = t.id offset 0) b
		where t.company_id = $1 and t.status <> 'confirmed' and b.event_id = $2`
)

// RegistrationQuery is the filters and the page of a list of registrations.
type RegistrationQuery struct {
	Page      page.Page
	Event     id.Event
	Date      id.EventDate // zero: of all dates
	Customer  *id.Customer // nil: for all customers
	Cancelled *bool        // nil: both
	Since     time.Time    // zero: none
}

// firstAt returns the lowest identifier that can be generated at a time.
func firstAt(at time.Time) id.UUID {
	var u id.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(max(at.UnixMilli(), 0))<<16)
	return u
}

// from begins a statement on the bookings of the event or customer of q.
func (q *RegistrationQuery) from(company id.Company) pg.Statement {
	if q.Customer == nil {
		return pg.Statement{SQL: ofEventSQL, Args: []any{company, q.Event}}
	}
	return pg.Statement{SQL: ofCustomerSQL, Args: []any{company, q.Event, *q.Customer}}
}

// filter adds the conditions that indexes cover.
func (q *RegistrationQuery) filter(s *pg.Statement) {
	if !q.Date.IsZero() {
		s.And("b.event_date_id = %s", q.Date)
	}
	if q.Cancelled != nil {
		s.And("b.is_cancelled = %s", *q.Cancelled)
	}
}

// changed adds the condition on the last change.
func (q *RegistrationQuery) changed(s *pg.Statement) {
	if !q.Since.IsZero() {
		s.SQL += " and " + strings.NewReplacer("%id", s.Arg(firstAt(q.Since)), "%at", s.Arg(q.Since)).Replace(changedSQL)
	}
}

// Total returns the statement that counts the bookings that match q.
func (q *RegistrationQuery) Total(company id.Company) pg.Statement {
	s := q.from(company)
	q.filter(&s)
	if q.Customer == nil && q.Since.IsZero() {
		s.SQL = "select (select count(*)" + s.SQL + ")" + unconfirmedSQL
		q.filter(&s)
		s.SQL += ")"
		return s
	}
	q.changed(&s)
	s.SQL = "select count(*)" + s.SQL + confirmedSQL
	return s
}

// List returns the statement that reads the identifiers of the page and one more.
func (q *RegistrationQuery) List(company id.Company) pg.Statement {
	s := q.from(company)
	s.SQL = "select b.id" + s.SQL
	q.filter(&s)
	q.changed(&s)
	s.SQL += confirmedSQL
	q.Page.Add(&s)
	return s
}

// RegistrationIDs reads a page, plus one more identifier if there is another page, and the total
// number of matches.
func (s *Store) RegistrationIDs(ctx context.Context, company id.Company, q *RegistrationQuery) (ids []id.Booking, total int64, err error) {
	var events, dates int64
	list, matching := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: eventExistsSQL, Args: []any{company, q.Event}, Scan: pg.First(&events)},
		pg.Query{SQL: eventDateExistsSQL, Args: []any{company, q.Event, q.Date}, Scan: pg.First(&dates)},
		pg.Query{SQL: list.SQL, Args: list.Args, Scan: pg.Collect(&ids)},
		pg.Query{SQL: matching.SQL, Args: matching.Args, Scan: pg.First(&total)},
	)
	switch {
	case err != nil:
		return nil, 0, err
	case events == 0:
		return nil, 0, fault.Missing("event")
	case dates == 0 && !q.Date.IsZero():
		return nil, 0, fault.Missing("event date")
	}
	return ids, total, nil
}

const (
	RegistrationsSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.status = 'confirmed' and t.id in (
			select b.transaction_id from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + `))` +
		selectBookings + ` where b.id` + pg.AmongIDs + ` order by b.id`

	RegistrantsSQL = `select b.id, t.purchaser_id, coalesce(c.first_name, ''), coalesce(c.last_name, ''), coalesce(c.email, ''),
			greatest(t.purchased_at, b.cancelled_at, b.refunded_at, b.attendance_at)
		from (select b.id, b.transaction_id, b.cancelled_at, b.refunded_at, b.attendance_at from bookings b
			where b.company_id = $1 and b.id` + pg.AmongIDs + ` offset 0) b
		cross join lateral (select t.purchaser_id, t.purchased_at from transactions t
			where t.company_id = $1 and t.id = b.transaction_id and t.status = 'confirmed' offset 0) t
		left join lateral (select c.first_name, c.last_name, c.email from customers c
			where c.company_id = $1 and c.id = t.purchaser_id offset 0) c on true`
)

// foundRegistrations collects bookings and their purchasers.
type foundRegistrations struct {
	Listing
	registrants map[id.Booking]registrant
}

type registrant struct {
	model.Customer
	changedAt time.Time
}

func (f *foundRegistrations) queries(company id.Company, ids []id.Booking) []pg.Query {
	f.registrants = make(map[id.Booking]registrant, len(ids))
	return []pg.Query{
		{SQL: RegistrationsSQL, Args: []any{company, ids}, Scan: f.scanTransactions},
		{SQL: RegistrantsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var b id.Booking
			var r registrant
			err := rows.Scan(&b, &r.ID, &r.FirstName, &r.LastName, &r.Email, &r.changedAt)
			f.registrants[b] = r
			return err
		})},
	}
}

// in returns the registrations in the order of ids.
func (f *foundRegistrations) in(ids []id.Booking) []model.Registration {
	found := make(map[id.Booking]model.Registration, len(ids))
	for _, t := range f.Transactions {
		for _, b := range t.Bookings {
			of := f.registrants[b.ID]
			r := model.Registration{Transaction: t, ChangedAt: of.changedAt}
			r.Purchaser, r.Bookings = of.Customer, []model.Booking{b}
			found[b.ID] = r
		}
	}
	list := make([]model.Registration, 0, len(ids))
	for _, b := range ids {
		if r, ok := found[b]; ok {
			list = append(list, r)
		}
	}
	return list
}

// Registrations reads confirmed bookings in the order of ids. It omits bookings that do not exist.
func (s *Store) Registrations(ctx context.Context, company id.Company, ids []id.Booking) ([]model.Registration, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found foundRegistrations
	if err := s.ReadOf(ctx, company, found.queries(company, ids)...); err != nil {
		return nil, err
	}
	return found.in(ids), nil
}

// registrationsInTx is Registrations within tx.
func (s *Store) registrationsInTx(ctx context.Context, tx *pg.Tx, company id.Company, ids []id.Booking) ([]model.Registration, error) {
	var found foundRegistrations
	if err := tx.Pipeline(ctx, found.queries(company, ids)...); err != nil {
		return nil, err
	}
	return found.in(ids), nil
}
