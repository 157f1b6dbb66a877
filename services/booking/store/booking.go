package store

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	lockTransactionSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed'
			and t.id = (select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2)
		for no key update of t`

	bookingSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.status = 'confirmed'
			and t.id = (select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2))` +
		selectBookings + ` where b.id = $2`

	bookingPurchaserSQL = `select c.id, c.first_name, c.last_name, c.email, c.deleted_at is not null as deleted
		from customers c where c.company_id = $1 and c.id = (
			select t.purchaser_id from transactions t where t.company_id = $1 and t.id = (
				select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2))`

	policySQL = `select ` + policyColumns + ` from events e where e.company_id = $1 and e.id = (
		select b.event_id from bookings b where b.company_id = $1 and b.id = $2)`

	changeBookingSQL = `update bookings set is_cancelled = $3, cancelled_at = $4, late = $5, cancellation_reason = $6,
			is_refunded = $7, refunded_at = $8, refund_due = $9, refunded_amount = $10,
			attendance = $11, attendance_at = case when attendance is distinct from $11 then $12 else attendance_at end,
			event_id = $13, event_date_id = $14, pricing_option_id = $15, spaces = $16, bought_for = $17, managed_by = $18,
			gross = $19, net = $20, price = $21, credits_used = $22, tax_rate_basis_points = $23, unrecorded_refund_at = $24
		where company_id = $1 and id = $2`

	raiseTransactionSQL = `update transactions set version = $3, updated_at = $4 where company_id = $1 and id = $2`

	freeSpacesSQL = `update event_dates set booked = booked - $3 where company_id = $1 and id = $2`
)

// FoundBooking is a booking in a transaction without its other bookings, and its cancellation
// policy.
type FoundBooking struct {
	Transaction *model.Transaction
	Policy      model.CancellationPolicy
}

// Booking reads a booking.
func (s *Store) Booking(ctx context.Context, company id.Company, b id.Booking) (found FoundBooking, err error) {
	var l Listing
	err = s.ReadOf(ctx, company, l.booking(company, b, &found)...)
	err = l.only(&found, err)
	return found, err
}

// LockBooking reads a booking and locks its transaction until the end of tx. Every change of a
// booking takes this lock.
func (s *Store) LockBooking(ctx context.Context, tx *pg.Tx, company id.Company, b id.Booking) (found FoundBooking, err error) {
	var l Listing
	money := moneys{}
	queries := append([]pg.Query{{SQL: lockTransactionSQL, Args: []any{company, b}}}, l.booking(company, b, &found)...)
	err = tx.Pipeline(ctx, append(queries, money.query(company, []id.Booking{b}))...)
	if err = l.only(&found, err); err == nil {
		money.complete(found.Transaction)
	}
	return found, err
}

// only sets found to the only transaction that was read.
func (l *Listing) only(found *FoundBooking, err error) error {
	if err == nil && len(l.Transactions) == 0 {
		err = fault.Missing("booking")
	}
	if err == nil {
		found.Transaction = &l.namePurchaser().Transactions[0]
	}
	return err
}

// SaveBooking stores the changes of t's only booking with their history and t's version, and frees spaces.
func (s *Store) SaveBooking(ctx context.Context, tx *pg.Tx, company id.Company, t *model.Transaction, frees int32, history ...model.HistoryEntry) error {
	b := &t.Bookings[0]
	queries := []pg.Query{
		changeOf(company, t),
		{SQL: raiseTransactionSQL, Args: []any{company, t.ID, t.Version, t.UpdatedAt}},
	}
	if len(history) > 0 {
		queries = append(queries, AddHistory(company, history...))
	}
	if frees > 0 {
		queries = append(queries, pg.Query{SQL: freeSpacesSQL, Args: []any{company, b.Date.ID, frees}})
	}
	return tx.Pipeline(ctx, queries...)
}

// changeOf returns the statement that stores everything that can change of t's only booking.
func changeOf(company id.Company, t *model.Transaction) pg.Query {
	b := &t.Bookings[0]
	var boughtFor id.Customer
	if b.BoughtFor != nil {
		boughtFor = b.BoughtFor.ID
	}
	p := amountsOf(&b.Payment)
	return pg.Query{SQL: changeBookingSQL, Args: []any{company, b.ID, b.Cancelled, timeOrNull(b.CancelledAt), b.Late, orNull(b.Reason),
		b.Refunded, timeOrNull(b.RefundedAt), b.RefundDue, storedRefund(b), orNull(string(b.Attendance)), t.UpdatedAt,
		b.Date.Event, b.Date.ID, b.Option, b.Spaces, boughtFor, b.ManagedBy, p.gross, p.net, storedPrice(b), p.credits,
		p.taxRate, timeOrNull(b.UnrecordedRefund())}}
}

// storedPrice returns the price; nil if it is what was paid, or the payment was by pass.
func storedPrice(b *model.Booking) *int64 {
	if !b.Payment.Method.IsMoney() || b.Price == b.Payment.Gross {
		return nil
	}
	return &b.Price
}

// storedRefund returns the refunded amount; nil if nothing was refunded, or the payment was by pass.
func storedRefund(b *model.Booking) *int64 {
	if !b.Refunded || !b.Payment.Method.IsMoney() {
		return nil
	}
	return &b.RefundedAmount
}

const (
	// Transactions are locked before their bookings are read, in the lock order that all statements
	// use.
	LockBookedSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed' and t.id in (
			select b.transaction_id from bookings b where b.company_id = $1 and b.event_date_id = $2 and not b.is_cancelled
				and (select c.status from transactions c where c.company_id = $1 and c.id = b.transaction_id) = 'confirmed'
			order by b.id limit $3)
		order by t.id for no key update`

	bookedOfSQL = `select b.id from bookings b where b.company_id = $1 and b.event_date_id = $2 and not b.is_cancelled
		and b.transaction_id = any($3) order by b.id`

	cancelAllSQL = `update bookings b set is_cancelled = true, cancelled_at = $2, cancellation_reason = $3, refund_due = n.due,
			is_refunded = n.refunded, refunded_at = case when n.refunded and not b.is_refunded then $2 else b.refunded_at end
		from (select $1::uuid as company_id, unnest($4::uuid[]) as id, unnest($5::bigint[]) as due, unnest($6::boolean[]) as refunded offset 0) n
		where b.company_id = n.company_id and b.id = n.id`

	raiseAllSQL = `update transactions set version = version + 1, updated_at = $3 where company_id = $1 and id = any($2)`
)

// LockBooked locks transactions with bookings of a date that are not cancelled, and returns these
// bookings as registrations. It stops after limit bookings.
func (s *Store) LockBooked(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate, limit int) ([]model.Registration, error) {
	var transactions []id.Transaction
	err := tx.Pipeline(ctx, pg.Query{SQL: LockBookedSQL, Args: []any{company, date, limit}, Scan: pg.Collect(&transactions)})
	if err != nil || len(transactions) == 0 {
		return nil, err
	}
	var bookings []id.Booking
	err = tx.Pipeline(ctx, pg.Query{SQL: bookedOfSQL, Args: []any{company, date, transactions}, Scan: pg.Collect(&bookings)})
	if err != nil || len(bookings) == 0 {
		return nil, err
	}
	return s.registrationsInTx(ctx, tx, company, bookings)
}

// SaveCancelled stores the cancellation of bookings of a date at now with its history, increases the versions of their
// transactions, and frees the spaces of the date.
func (s *Store) SaveCancelled(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate, cancelled []model.Registration,
	reason string, now time.Time, history []model.HistoryEntry) error {
	bookings, transactions := make([]id.Booking, len(cancelled)), make([]id.Transaction, len(cancelled))
	due, refunded := make([]int64, len(cancelled)), make([]bool, len(cancelled))
	var spaces int32
	for i := range cancelled {
		b := cancelled[i].Booking()
		bookings[i], transactions[i], due[i], refunded[i] = b.ID, cancelled[i].ID, b.RefundDue, b.Refunded
		spaces += b.Spaces
	}
	return tx.Pipeline(ctx,
		pg.Query{SQL: cancelAllSQL, Args: []any{company, now, orNull(reason), bookings, due, refunded}},
		pg.Query{SQL: raiseAllSQL, Args: []any{company, model.Distinct(transactions), now}},
		pg.Query{SQL: freeSpacesSQL, Args: []any{company, date, spaces}},
		AddHistory(company, history...))
}

const countBookedSQL = `select count(*) from bookings b where b.company_id = $1 and b.event_date_id = any($2) and not b.is_cancelled
	and (select t.status from transactions t where t.company_id = $1 and t.id = b.transaction_id) = 'confirmed'`

// CountBooked returns the number of bookings of dates that are not cancelled.
func (s *Store) CountBooked(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate) (n int32, err error) {
	err = tx.QueryRow(ctx, countBookedSQL, company, dates).Scan(&n)
	return n, err
}
