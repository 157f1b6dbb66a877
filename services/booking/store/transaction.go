package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Reads of transactions. The cost of a list must depend only on the customer and the page, never on
// the size of the tables or the planner's estimates. Therefore each part of a booking is fetched by
// key in its own subselect. OFFSET 0 prevents the planner from turning it into a join of whole
// tables.

// Parts of every read. $1 is the company, and page the transactions to return, to which
// selectBookings adds the bookings.
const (
	matching = `t.company_id = $1 and t.purchaser_id = $2 and t.status = 'confirmed'
		and t.purchased_at >= $3 and t.purchased_at <= $4`

	// ahead is true for a transaction with a booking whose date starts after $5.
	ahead = ` and (select true from bookings b
		cross join lateral (select d.starts_at from event_dates d
			where d.company_id = $1 and d.id = b.event_date_id offset 0) d
		where b.company_id = $1 and b.transaction_id = t.id and d.starts_at > $5 limit 1)`

	// changedAt is when a transaction last changed, in the form of the index.
	changedAt = `case when t.updated_at is null then t.purchased_at else t.updated_at end`

	purchaseColumns = `t.id, t.purchased_at, t.timezone, t.version, ` + changedAt + ` as changed_at, t.source = 'import' as imported`

	// A refund that an earlier release or an import recorded has no amount: it is the whole price.
	selectBookings = `
	select p.id, p.purchased_at, p.timezone, p.version, p.changed_at,
		b.id, b.is_cancelled, b.is_refunded, b.spaces, b.bought_for, b.pricing_option_id,
		b.method, coalesce(b.currency, ''), coalesce(b.gross, 0), coalesce(b.net, 0), coalesce(b.payment_reference, ''),
		coalesce(b.credits_used, 0), b.customer_pass_id,
		d.id, d.starts_at, d.timezone, d.duration_minutes, d.of_appointment, e.id, e.title, e.type,
		coalesce(c.first_name, ''), coalesce(c.last_name, ''), coalesce(c.email, ''),
		b.cancelled_at, coalesce(b.attendance, ''), coalesce(b.discount, 0), coalesce(b.discount_code, ''),
		b.late, coalesce(b.cancellation_reason, ''), b.refunded_at, ` + refundDue + `, ` + refundedAmount + `,
		coalesce(b.price, b.gross, 0), b.managed_by, p.imported
	from page p
	cross join lateral (select b.id, b.position, b.is_cancelled, b.is_refunded, b.spaces, b.bought_for, b.pricing_option_id,
			coalesce(b.money_method, b.method) as method, b.currency, b.gross, b.net, b.payment_reference, b.credits_used, b.customer_pass_id,
			b.event_id, b.event_date_id, b.cancelled_at, b.attendance, b.discount, b.discount_code,
			b.late, b.cancellation_reason, b.refunded_at, b.refund_due, b.refunded_amount, b.price, b.managed_by from bookings b
		where b.company_id = $1 and b.transaction_id = p.id offset 0) b
	cross join lateral (select d.id, d.starts_at, d.timezone, d.duration_minutes, d.appointment_id is not null as of_appointment from event_dates d
		where d.company_id = $1 and d.id = b.event_date_id offset 0) d
	cross join lateral (select e.id, e.title, e.type from events e
		where e.company_id = $1 and e.id = b.event_id offset 0) e
	left join lateral (select c.first_name, c.last_name, c.email from customers c
		where c.company_id = $1 and c.id = b.bought_for offset 0) c on true`

	refundDue      = `case when b.is_refunded and b.refunded_amount is null then 0 else b.refund_due end`
	refundedAmount = `coalesce(b.refunded_amount, case when b.is_refunded then b.gross end, 0)`

	inOrder = ` order by p.purchased_at desc, p.id desc, b.position`
)

const (
	PageSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where ` + matching + ` order by t.purchased_at desc, t.id desc limit $5 offset $6)` + selectBookings + inOrder

	TotalSQL = `select count(*) from transactions t where ` + matching

	FuturePageSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where ` + matching + ahead + ` order by t.purchased_at desc, t.id desc limit $6 offset $7)` +
		selectBookings + ` where d.starts_at > $5` + inOrder

	FutureTotalSQL = `select count(*) from transactions t where ` + matching + ahead

	purchaserSQL = `select id, first_name, last_name, email, deleted_at is not null as deleted
		from customers where company_id = $1 and id = $2`

	transactionSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.id = $2 and t.purchaser_id = $3 and t.status = 'confirmed')` +
		selectBookings + inOrder
)

// Listing is a page of a customer's transactions.
type Listing struct {
	Purchaser    *model.KnownCustomer // nil: not in the copy
	Transactions []model.Transaction
	Total        int64
}

// TransactionQuery is the filters and the page of a list of transactions.
type TransactionQuery struct {
	Customer id.Customer
	Window   model.Window
	Page     model.Page
	// After keeps only bookings whose date starts after it; zero keeps all.
	After time.Time
}

// Transactions reads a page, the total and the purchaser in one round trip.
func (s *Store) Transactions(ctx context.Context, company id.Company, q TransactionQuery) (Listing, error) {
	var l Listing
	args := []any{company, q.Customer, q.Window.From, q.Window.To}
	total, rows := TotalSQL, PageSQL
	if !q.After.IsZero() {
		total, rows = FutureTotalSQL, FuturePageSQL
		args = append(args, q.After)
	}
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: purchaserSQL, Args: []any{company, q.Customer}, Scan: l.scanPurchaser},
		pg.Query{SQL: total, Args: args, Scan: pg.Each(func(rows pgx.Rows) error { return rows.Scan(&l.Total) })},
		pg.Query{SQL: rows, Args: append(args[:len(args):len(args)], q.Page.Size, q.Page.Offset()), Scan: l.scanTransactions},
	)
	return l.namePurchaser(), err
}

// Transaction reads one transaction of one customer. The listing is empty if it does not exist.
func (s *Store) Transaction(ctx context.Context, company id.Company, customer id.Customer, t id.Transaction) (Listing, error) {
	var l Listing
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: purchaserSQL, Args: []any{company, customer}, Scan: l.scanPurchaser},
		pg.Query{SQL: transactionSQL, Args: []any{company, t, customer}, Scan: l.scanTransactions},
	)
	return l.namePurchaser(), err
}

// namePurchaser sets the purchaser of every transaction. The purchaser is read once.
func (l Listing) namePurchaser() Listing {
	if l.Purchaser != nil {
		for i := range l.Transactions {
			l.Transactions[i].Purchaser = l.Purchaser.Customer
		}
	}
	return l
}

func (l *Listing) scanPurchaser(rows pgx.Rows) error {
	for rows.Next() {
		l.Purchaser = &model.KnownCustomer{}
		if err := scanCustomer(rows, l.Purchaser); err != nil {
			return err
		}
	}
	return nil
}

func scanCustomer(rows pgx.Rows, c *model.KnownCustomer) error {
	return rows.Scan(&c.ID, &c.FirstName, &c.LastName, &c.Email, &c.Deleted)
}

// scanTransactions scans the rows of selectBookings, which are ordered by transaction.
func (l *Listing) scanTransactions(rows pgx.Rows) error {
	for rows.Next() {
		var t model.Transaction
		var b model.Booking
		var forWhom model.Customer
		p, d := &b.Payment, &b.Date
		err := rows.Scan(&t.ID, &t.PurchasedAt, &t.Timezone, &t.Version, &t.UpdatedAt,
			&b.ID, &b.Cancelled, &b.Refunded, &b.Spaces, &forWhom.ID, &b.Option,
			&p.Method, &p.Currency, &p.Gross, &p.Net, &p.Reference, &p.Credits, &p.CustomerPass,
			&d.ID, &d.StartsAt, &d.Timezone, &d.Minutes, &d.OfAppointment, &d.Event, &d.EventTitle, &d.EventType,
			&forWhom.FirstName, &forWhom.LastName, &forWhom.Email, orZero{&b.CancelledAt}, &b.Attendance, &p.Discount, &p.Code,
			&b.Late, &b.Reason, orZero{&b.RefundedAt}, &b.RefundDue, &b.RefundedAmount,
			&b.Price, &b.ManagedBy, &b.Imported)
		if err != nil {
			return err
		}
		if !forWhom.ID.IsZero() {
			b.BoughtFor = &forWhom
		}
		n := len(l.Transactions)
		if n == 0 || l.Transactions[n-1].ID != t.ID {
			l.Transactions = append(l.Transactions, t)
			n++
		}
		last := &l.Transactions[n-1]
		last.Bookings = append(last.Bookings, b)
	}
	return nil
}

const beforehandSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.id = $2 and t.status = $3)` + selectBookings + inOrder

const unconfirmedPurchaserSQL = `select c.id, c.first_name, c.last_name, c.email, c.deleted_at is not null as deleted
	from customers c where c.company_id = $1 and c.id = (select t.purchaser_id from transactions t where t.company_id = $1 and t.id = $2)`

// Unconfirmed reads a transaction that is not confirmed. It returns fault.NotFound if the
// transaction does not have the status.
func (s *Store) Unconfirmed(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction, as model.TransactionStatus) (*model.Transaction, error) {
	var l Listing
	err := tx.Pipeline(ctx,
		pg.Query{SQL: beforehandSQL, Args: []any{company, which, string(as)}, Scan: l.scanTransactions},
		l.taxRates(company, which),
		pg.Query{SQL: unconfirmedPurchaserSQL, Args: []any{company, which}, Scan: l.scanPurchaser})
	if err != nil {
		return nil, err
	}
	if len(l.Transactions) == 0 {
		return nil, fault.Missing("transaction")
	}
	return &l.namePurchaser().Transactions[0], nil
}
