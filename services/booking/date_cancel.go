package booking

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
)

const (
	// cancelBatch is how many bookings of a date share a commit.
	cancelBatch = 500

	// Transactions are locked before their bookings are read, in the order in which
	// all lock them.
	lockBookedSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed' and t.id in (
			select b.transaction_id from bookings b where b.company_id = $1 and b.event_date_id = $2 and not b.is_cancelled
				and (select c.status from transactions c where c.company_id = $1 and c.id = b.transaction_id) = 'confirmed'
			order by b.id limit $3)
		order by t.id for no key update`

	bookedOfSQL = `select b.id from bookings b where b.company_id = $1 and b.event_date_id = $2 and not b.is_cancelled
		and b.transaction_id = any($3) order by b.id`

	// What was paid by pass goes back to it, whatever the policy.
	cancelAllSQL = `update bookings set is_cancelled = true, cancelled_at = $3,
			is_refunded = is_refunded or id = any($4), refunded_at = case when id = any($4) then $3 else refunded_at end
		where company_id = $1 and id = any($2)`

	raiseAllSQL = `update transactions set version = version + 1 where company_id = $1 and id = any($2)`
)

// cancelBookings cancels up to a batch of what is booked of a date in tx, with one
// event each, and says how many it were; 0: nothing is left.
func (s *Server) cancelBookings(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) (int, error) {
	var transactions []id.Transaction
	err := tx.Pipeline(ctx, pg.Query{SQL: lockBookedSQL, Args: []any{company, date, cancelBatch}, Scan: each(func(rows pgx.Rows) error {
		var t id.Transaction
		err := rows.Scan(&t)
		transactions = append(transactions, t)
		return err
	})})
	if err != nil || len(transactions) == 0 {
		return 0, err
	}
	var bookings []id.Booking
	err = tx.Pipeline(ctx, pg.Query{SQL: bookedOfSQL, Args: []any{company, date, transactions}, Scan: scanBookingIDs(&bookings)})
	if err != nil || len(bookings) == 0 {
		return 0, err
	}
	booked, err := registrationsIn(ctx, tx, company, bookings)
	if err != nil {
		return 0, err
	}
	now := s.now()
	var spaces int32
	var events []outbox.Event
	var returns []creditReturn
	refunded := []id.Booking{}
	raised := map[id.Transaction]int64{}
	for i := range booked {
		t := &booked[i].Transaction
		if _, ok := raised[t.ID]; !ok {
			raised[t.ID] = t.Version + 1
		}
		t.Version = raised[t.ID]
		spaces += t.Bookings[0].cancel().frees
		t.Bookings[0].CancelledAt = now
		if r, owed := owes(company, t, &t.Bookings[0]); owed && t.Bookings[0].refund().changed {
			returns, refunded = append(returns, r), append(refunded, r.booking)
		}
		events = append(events, bookingCancelled(snapshotToProto(t, &t.Bookings[0])))
	}
	err = tx.Pipeline(ctx,
		pg.Query{SQL: cancelAllSQL, Args: []any{company, bookings, now, refunded}},
		pg.Query{SQL: raiseAllSQL, Args: []any{company, transactions}},
		pg.Query{SQL: freeSpacesSQL, Args: []any{company, date, spaces}})
	if err != nil {
		return 0, err
	}
	if err := s.owe(ctx, tx, company, returns); err != nil {
		return 0, err
	}
	tx.AfterCommit(func() { s.returning(returns) })
	return len(bookings), s.append(ctx, tx, company, now, events...)
}
