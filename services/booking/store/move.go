package store

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// LockBookingsSQL locks the transactions of bookings in the lock order.
const LockBookingsSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed'
		and t.id in (select b.transaction_id from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + `)
	order by t.id for no key update of t`

// LockBookings reads bookings in the order of all, as LockBooking does, and locks their transactions until the
// end of tx. A booking that does not exist has no transaction.
func (s *Store) LockBookings(ctx context.Context, tx *pg.Tx, company id.Company, all []id.Booking) ([]FoundBooking, error) {
	queries := []pg.Query{{SQL: LockBookingsSQL, Args: []any{company, all}}}
	found, lists, money := make([]FoundBooking, len(all)), make([]Listing, len(all)), moneys{}
	for i, b := range all {
		queries = append(queries, lists[i].booking(company, b, &found[i])...)
	}
	if err := tx.Pipeline(ctx, append(queries, money.query(company, all))...); err != nil {
		return nil, err
	}
	for i := range all {
		if len(lists[i].Transactions) > 0 {
			found[i].Transaction = &lists[i].namePurchaser().Transactions[0]
			money.complete(found[i].Transaction)
		}
	}
	return found, nil
}

// booking returns the queries that read a booking, its purchaser and its policy.
func (l *Listing) booking(company id.Company, b id.Booking, found *FoundBooking) []pg.Query {
	args := []any{company, b}
	return []pg.Query{
		{SQL: bookingSQL, Args: args, Scan: l.scanTransactions},
		{SQL: bookingPurchaserSQL, Args: args, Scan: l.scanPurchaser},
		{SQL: policySQL, Args: args, Scan: pg.First(policyFields(&found.Policy)...)},
	}
}

// LockMove reads the offer for a move of bookings whose transactions are locked, and their unfinished changes of
// credits. It locks the dates and these changes until the end of tx.
func (s *Store) LockMove(ctx context.Context, tx *pg.Tx, company id.Company, d model.Demand) (*model.Offer, map[id.Booking]*StoredCreditChange, error) {
	changes := map[id.Booking]*StoredCreditChange{}
	of, err := s.LockOffer(ctx, tx, company, d, lockCreditChanges(company, d.Moved, changes))
	return of, changes, err
}

// MovedTransaction is a move to store. Its transaction has only the booking, as it is after the move.
type MovedTransaction struct {
	Transaction *model.Transaction
	Move        *model.MovedBooking
	History     model.HistoryEntry
	// Taken is the change of credits that the move completes; zero: none.
	Taken id.UUID
	// Falls is the change that returns credits after the commit; nil: none.
	Falls *StoredCreditChange
}

// SaveMoves stores moves that are made together, with the counts of their dates.
func (s *Store) SaveMoves(ctx context.Context, tx *pg.Tx, company id.Company, all []MovedTransaction) error {
	var queries []pg.Query
	moves := make([]*model.MovedBooking, len(all))
	history := make([]model.HistoryEntry, len(all))
	for i, m := range all {
		t := m.Transaction
		moves[i], history[i] = m.Move, m.History
		queries = append(queries, changeOf(company, t),
			pg.Query{SQL: raiseTransactionSQL, Args: []any{company, t.ID, t.Version, t.UpdatedAt}})
		if !m.Taken.IsZero() {
			queries = append(queries, pg.Query{SQL: takenSQL, Args: []any{company, t.Bookings[0].ID, m.Taken}}.Affecting(1))
		}
		if m.Falls != nil {
			queries = append(queries, m.Falls.insert())
		}
	}
	if spaces := model.Recount(moves...); len(spaces) > 0 {
		queries = append(queries, takes(spaces).update(company))
	}
	return s.Fault(tx.Pipeline(ctx, append(queries, AddHistory(company, history...))...))
}
