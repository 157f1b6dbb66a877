package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// As with transactions, the cost of a list depends only on the page and on what its filters leave. The
// most selective filter decides which index a statement walks, and the other tables are read row by
// row, in subselects that the planner cannot turn into joins of whole tables.

const (
	eventExistsSQL = `select count(*) from events e where e.company_id = $1 and e.id = $2 and e.deleted_at is null`

	eventDateExistsSQL = `select count(*) from event_dates d where d.company_id = $1 and d.id = $2 and ($3::uuid is null or d.event_id = $3)`

	bookingsOfTransaction = ` cross join lateral (` + listedBooking + ` and b.transaction_id = t.id offset 0) b`

	listedBooking = `select b.id, b.transaction_id, b.event_id, b.event_date_id, b.bought_for, b.is_cancelled, b.attendance
		from bookings b where b.company_id = $1`

	// The bookings for a customer: those that the customer bought for nobody else, and those that
	// another customer bought for them. %[1]s is the customer. OFFSET 0 keeps the planner from walking along
	// the changes of all transactions.
	ofCustomerSQL = ` from (
			(select ` + listedPurchase + ` from transactions t
				where t.company_id = $1 and t.purchaser_id = %[1]s and t.status = 'confirmed' offset 0)
			union all` + receivedSQL + `
		) t` + bookingsOfTransaction

	receivedByCustomerSQL = ` from (` + receivedSQL + `) t` + bookingsOfTransaction

	// The purchases in which another customer bought something for a customer.
	receivedSQL = ` (select t.* from (select distinct b.transaction_id from bookings b where b.company_id = $1 and b.bought_for = %[1]s) g
				cross join lateral (select ` + listedPurchase + ` from transactions t where t.company_id = $1 and t.id = g.transaction_id
					and t.status = 'confirmed' and t.purchaser_id <> %[1]s offset 0) t)`

	ofPurchaserSQL = ` from (select ` + listedPurchase + ` from transactions t
		where t.company_id = $1 and t.purchaser_id = %[1]s and t.status = 'confirmed' offset 0) t` + bookingsOfTransaction

	listedPurchase = `t.id, t.purchaser_id, t.purchased_at, t.updated_at`

	onDatesSQL = ` from event_dates d cross join lateral (` + listedBooking + ` and b.event_date_id = d.id offset 0) b`

	startOfBooking = `(select d.starts_at from event_dates d where d.company_id = $1 and d.id = b.event_date_id)`

	purchaseOfBooking = ` cross join lateral (select t.status, t.purchaser_id, t.purchased_at, t.updated_at
		from transactions t where t.company_id = $1 and t.id = b.transaction_id offset 0) t`
)

// RegistrationQuery is the filters and the page of a list of registrations.
type RegistrationQuery struct {
	Page                     page.Page
	Event                    id.Event          // zero: of all events
	Date                     id.EventDate      // zero: of all dates
	Customer                 *id.Customer      // nil: for all customers
	Purchaser                *id.Customer      // nil: of all purchasers
	BoughtByOthers           bool              // with Customer: without what the customer bought
	Cancelled                *bool             // nil: both
	Attendance               *model.Attendance // nil: any
	Since                    time.Time         // zero: none
	StartsFrom, StartsBefore time.Time         // zero: none
	MostCounted              int64             // the largest total; 0: any
}

// walk is the rows that a statement goes through.
type walk int

const (
	bookings    walk = iota // in the order of their identifiers
	ofPerson                // of a customer or a purchaser
	onDates                 // on the dates of a period
	byChange                // of transactions, in the order of their last change
	unconfirmed             // of transactions that are not confirmed
)

// walk returns the rows of which the filters of q leave the fewest.
func (q *RegistrationQuery) walk() walk {
	switch {
	case q.Customer != nil || q.Purchaser != nil:
		return ofPerson
	case !q.Event.IsZero() || !q.Date.IsZero():
		return bookings
	case !q.StartsFrom.IsZero() || !q.StartsBefore.IsZero():
		return onDates
	case !q.Since.IsZero() || q.Page.Order.Column != "":
		return byChange
	}
	return bookings
}

// from begins a statement: the rows of a walk that match the filters on bookings, without those on
// their purchases.
func (q *RegistrationQuery) from(company id.Company, of walk, withPurchase bool) pg.Statement {
	s := pg.Statement{Args: []any{company}}
	where := " where b.company_id = $1"
	switch of {
	case bookings:
		s.SQL = " from bookings b"
	case ofPerson:
		s.SQL, where = q.fromPerson(&s)
	case onDates:
		s.SQL, where = onDatesSQL, " where d.company_id = $1"
	case byChange:
		s.SQL, where = " from transactions t"+bookingsOfTransaction, " where t.company_id = $1 and t.status = 'confirmed'"
	case unconfirmed:
		s.SQL, where = " from transactions t"+bookingsOfTransaction, " where t.company_id = $1 and t.status <> 'confirmed'"
	}
	if withPurchase && of != byChange && of != ofPerson {
		s.SQL += purchaseOfBooking
		where += " and t.status = 'confirmed'"
	}
	s.SQL += where
	q.filter(&s, of)
	return s
}

// fromPerson returns the bookings of a customer or a purchaser, with their purchases t.
func (q *RegistrationQuery) fromPerson(s *pg.Statement) (from, where string) {
	if q.Customer == nil {
		return fmt.Sprintf(ofPurchaserSQL, s.Arg(*q.Purchaser)), " where true"
	}
	customer, from := s.Arg(*q.Customer), ofCustomerSQL
	if q.BoughtByOthers {
		from = receivedByCustomerSQL
	}
	return strings.ReplaceAll(from, "%[1]s", customer), " where coalesce(b.bought_for, t.purchaser_id) = " + customer
}

// filter adds the conditions on bookings.
func (q *RegistrationQuery) filter(s *pg.Statement, of walk) {
	if !q.Event.IsZero() {
		s.And("b.event_id = %s", q.Event)
	}
	if !q.Date.IsZero() {
		s.And("b.event_date_id = %s", q.Date)
	}
	q.filterState(s)
	start := startOfBooking
	if of == onDates {
		start = "d.starts_at"
	}
	if !q.StartsFrom.IsZero() {
		s.And(start+" >= %s", q.StartsFrom)
	}
	if !q.StartsBefore.IsZero() {
		s.And(start+" < %s", q.StartsBefore)
	}
}

// filterState adds the conditions on what became of a booking. There are indexes for them, of all
// events. Within an event or a date, coalesce prevents the planner from using these.
func (q *RegistrationQuery) filterState(s *pg.Statement) {
	cancelled, attendance := "b.is_cancelled", "b.attendance"
	if !q.Event.IsZero() || !q.Date.IsZero() {
		cancelled, attendance = "coalesce(b.is_cancelled, false)", "coalesce(b.attendance, null)"
	}
	switch c := q.Cancelled; {
	case c != nil && *c:
		s.SQL += " and " + cancelled
	case c != nil:
		s.SQL += " and not " + cancelled
	}
	switch a := q.Attendance; {
	case a == nil:
	case *a == model.NotRecorded:
		s.SQL += " and " + attendance + " is null"
	default:
		s.And(attendance+" = %s", string(*a))
	}
}

// filterPurchase adds the conditions on purchases.
func (q *RegistrationQuery) filterPurchase(s *pg.Statement) {
	if q.Purchaser != nil && q.Customer != nil {
		s.And("t.purchaser_id = %s", *q.Purchaser)
	}
	if !q.Since.IsZero() {
		s.And(changedAt+" >= %s", q.Since)
	}
}

// Total returns the statement that counts the bookings that match q. Few bookings are not confirmed, so
// where no filter needs the purchase they are counted and subtracted.
func (q *RegistrationQuery) Total(company id.Company) pg.Statement {
	of := q.walk()
	if of == ofPerson || !q.Since.IsZero() {
		s := q.from(company, of, true)
		q.filterPurchase(&s)
		s.SQL = "select count(*) from (select" + s.SQL + q.limit(&s, "") + ") n"
		return s
	}
	if of == byChange { // only because of the order
		of = bookings
	}
	all, hidden := q.from(company, of, false), q.from(company, unconfirmed, false)
	if of == bookings && q.MostCounted > 0 {
		all.SQL += " order by b.id" // along the index that the list walks
	}
	// Both statements have the same arguments in the same order.
	countHidden := "(select count(*)" + hidden.SQL + ")"
	limit := q.limit(&all, " + "+countHidden)
	return pg.Statement{SQL: "select (select count(*) from (select" + all.SQL + limit + ") n) - " + countHidden, Args: all.Args}
}

// limit returns the limit of the rows that s counts: MostCounted and more.
func (q *RegistrationQuery) limit(s *pg.Statement, more string) string {
	if q.MostCounted == 0 {
		return ""
	}
	return " limit " + s.Arg(q.MostCounted) + "::bigint" + more
}

// List returns the statement that reads the identifiers and changes of the page and of one more booking.
func (q *RegistrationQuery) List(company id.Company) pg.Statement {
	s := q.from(company, q.walk(), true)
	s.SQL = "select b.id, " + changedAt + s.SQL
	q.filterPurchase(&s)
	addPage(&s, q.Page)
	return s
}

// addPage adds a page to a statement on the transactions t. In the order of their last change, the
// index needs a condition on its first column alone.
func addPage(s *pg.Statement, p page.Page) {
	if p.Order.Column != "" {
		if p.After == nil {
			start := p.Order.Start()
			p.After = &start
		}
		beyond := " >= %s"
		if p.Order.Desc {
			beyond = " <= %s"
		}
		s.And(p.Order.Column+beyond, p.After.Time())
	}
	p.Add(s)
}

// Orders of registrations and transactions. Page tokens contain their codes.

// RegistrationsByChange sorts registrations by the last change of their transactions.
func RegistrationsByChange() page.Order { return page.Order{Code: 30, Column: changedAt, ID: "b.id"} }

// RegistrationsByChangeDesc sorts registrations by the last change of their transactions, latest first.
func RegistrationsByChangeDesc() page.Order {
	return page.Order{Code: 31, Column: changedAt, ID: "b.id", Desc: true}
}

// ListedBooking is a booking of a list, with the last change of its transaction.
type ListedBooking struct {
	ID        id.Booking
	ChangedAt time.Time
}

// Cursor returns the cursor of the booking in an order.
func (b *ListedBooking) Cursor(o page.Order) page.Cursor {
	return cursorOf(o, b.ID.UUID(), b.ChangedAt)
}

// cursorOf returns the cursor of a row. Orders by creation have no other key than the identifier.
func cursorOf(o page.Order, row id.UUID, changedAt time.Time) page.Cursor {
	if o.Column == "" {
		return page.Cursor{ID: row}
	}
	return page.At(changedAt, row)
}

// RegistrationIDs reads a page, plus one more booking if there is another page, and the total number of
// matches.
func (s *Store) RegistrationIDs(ctx context.Context, company id.Company, q *RegistrationQuery) (page []ListedBooking, total int64, err error) {
	events, dates := int64(1), int64(1)
	list, matching := q.List(company), q.Total(company)
	queries := []pg.Query{
		{SQL: list.SQL, Args: list.Args, Scan: pg.Each(func(rows pgx.Rows) error {
			var b ListedBooking
			err := rows.Scan(&b.ID, &b.ChangedAt)
			page = append(page, b)
			return err
		})},
		{SQL: matching.SQL, Args: matching.Args, Scan: pg.First(&total)},
	}
	if !q.Event.IsZero() {
		queries = append(queries, pg.Query{SQL: eventExistsSQL, Args: []any{company, q.Event}, Scan: pg.First(&events)})
	}
	if !q.Date.IsZero() {
		queries = append(queries, pg.Query{SQL: eventDateExistsSQL, Args: []any{company, q.Date, q.Event}, Scan: pg.First(&dates)})
	}
	err = s.ReadOf(ctx, company, queries...)
	switch {
	case err != nil:
		return nil, 0, err
	case events == 0:
		return nil, 0, fault.Missing("event")
	case dates == 0:
		return nil, 0, fault.Missing("event date")
	}
	return page, total, nil
}

const (
	RegistrationsSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.status = 'confirmed' and t.id in (
			select b.transaction_id from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + `))` +
		selectBookings + ` where b.id` + pg.AmongIDs + ` order by b.id`

	RegistrantsSQL = `select b.id, t.purchaser_id, coalesce(c.first_name, ''), coalesce(c.last_name, ''), coalesce(c.email, '')
		from (select b.id, b.transaction_id from bookings b
			where b.company_id = $1 and b.id` + pg.AmongIDs + ` offset 0) b
		cross join lateral (select t.purchaser_id from transactions t
			where t.company_id = $1 and t.id = b.transaction_id and t.status = 'confirmed' offset 0) t
		left join lateral (select c.first_name, c.last_name, c.email from customers c
			where c.company_id = $1 and c.id = t.purchaser_id offset 0) c on true`
)

// foundRegistrations collects bookings and their purchasers.
type foundRegistrations struct {
	Listing
	registrants map[id.Booking]model.Customer
}

func (f *foundRegistrations) queries(company id.Company, ids []id.Booking) []pg.Query {
	f.registrants = make(map[id.Booking]model.Customer, len(ids))
	return []pg.Query{
		{SQL: RegistrationsSQL, Args: []any{company, ids}, Scan: f.scanTransactions},
		{SQL: RegistrantsSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var b id.Booking
			var r model.Customer
			err := rows.Scan(&b, &r.ID, &r.FirstName, &r.LastName, &r.Email)
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
			r := model.Registration{Transaction: t}
			r.Purchaser, r.Bookings = f.registrants[b.ID], []model.Booking{b}
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

// registrationsInTx is Registrations within tx, with what the movements of the bookings need.
func (s *Store) registrationsInTx(ctx context.Context, tx *pg.Tx, company id.Company, ids []id.Booking) ([]model.Registration, error) {
	var found foundRegistrations
	money := moneys{}
	if err := tx.Pipeline(ctx, append(found.queries(company, ids), money.query(company, ids))...); err != nil {
		return nil, err
	}
	list := found.in(ids)
	for i := range list {
		money.complete(&list[i].Transaction)
	}
	return list, nil
}
