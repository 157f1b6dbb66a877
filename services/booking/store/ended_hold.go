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

const (
	// A released transaction has an ended hold, unless an earlier release ended it.
	holdSQL = `select t.id, t.status, t.purchaser_id, coalesce(t.hold_expires_at, t.held_until, t.expires_at) from transactions t
		where t.company_id = $1 and t.id = $2 and ` + wasHeld

	// wasHeld is the condition that the transaction t is, or was, a hold.
	wasHeld = `(t.hold_expires_at is not null or t.held_until is not null or t.status = 'held')`

	holdBookingsSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.id = $2)` + selectBookings + inOrder

	endedHoldSQL = `select h.hold::text from ended_holds h where h.company_id = $1 and h.id = $2`

	recipientsSQL = `select c.id, c.first_name, c.last_name, c.email, c.deleted_at is not null as deleted from customers c
		where c.company_id = $1 and c.id = any((select h.recipients from ended_holds h where h.company_id = $1 and h.id = $2)::uuid[])`

	insertEndedHoldsSQL = `insert into ended_holds (company_id, id, purchaser_id, recipients, ended_at, hold)
		select $1, n.id, n.purchaser_id,
			array(select b.bought_for from bookings b where b.company_id = $1 and b.transaction_id = n.id order by b.position), $5, n.hold::jsonb
		from unnest($2::uuid[], $3::uuid[], $4::text[]) n(id, purchaser_id, hold)`

	removeEndedHoldsSQL = `delete from ended_holds where (company_id, id) in (
			select company_id, id from ended_holds where ended_at <= $1 order by ended_at limit $2 for update skip locked)`
)

// FoundHold is a hold. It is a transaction, or a copy of it from when it ended.
type FoundHold struct {
	Hold *model.Hold // nil: it has ended
	// Ended is the ended hold as EndedHold.Content has it, and Recipients are the customers of its
	// bookings.
	Ended      []byte
	Recipients map[id.Customer]model.Customer
}

// Hold reads a hold at now. It returns fault.NotFound if it does not exist, or ended too long ago.
func (s *Store) Hold(ctx context.Context, company id.Company, which id.Transaction, now time.Time) (FoundHold, error) {
	var f foundHold
	err := s.ReadOf(ctx, company, f.queries(company, which)...)
	return f.found(now, err)
}

// HoldInTx is Hold within tx.
func (s *Store) HoldInTx(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction, now time.Time) (FoundHold, error) {
	var f foundHold
	err := tx.Pipeline(ctx, f.queries(company, which)...)
	return f.found(now, err)
}

// foundHold collects the rows of a hold.
type foundHold struct {
	FoundHold
	held   *model.Hold
	status model.TransactionStatus
	Listing
}

// queries returns the queries that read a hold. Each has its own snapshot, so the ended hold is read
// after the transaction: one of them has it.
func (f *foundHold) queries(company id.Company, which id.Transaction) []pg.Query {
	args := []any{company, which}
	f.Recipients = map[id.Customer]model.Customer{}
	return []pg.Query{
		{SQL: holdSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			f.held = &model.Hold{}
			var expiresAt *time.Time
			err := rows.Scan(&f.held.ID, &f.status, &f.held.Purchaser.ID, &expiresAt)
			if expiresAt != nil {
				f.held.ExpiresAt = *expiresAt
			}
			return err
		})},
		{SQL: holdBookingsSQL, Args: args, Scan: f.scanTransactions},
		{SQL: endedHoldSQL, Args: args, Scan: pg.First(&f.Ended)},
		{SQL: recipientsSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var c model.KnownCustomer
			err := scanCustomer(rows, &c)
			f.Recipients[c.ID] = c.Customer
			return err
		})},
	}
}

func (f *foundHold) found(now time.Time, err error) (FoundHold, error) {
	switch {
	case err != nil:
		return FoundHold{}, err
	case f.Ended != nil:
		return f.FoundHold, nil
	case f.held == nil || len(f.Transactions) == 0:
		return FoundHold{}, fault.Missing("hold")
	}
	f.Hold = f.held
	purchaser := f.held.Purchaser
	f.Hold.Transaction = f.Transactions[0]
	f.Hold.Purchaser, f.Hold.Status = purchaser, model.HeldStatus(f.status, f.held.ExpiresAt, now)
	return f.FoundHold, nil
}

// EndedHold is a hold that has ended without a purchase.
type EndedHold struct {
	*model.Hold
	Content []byte // the message as JSON, without names
}

// KeepEndedHolds stores ended holds when tx commits.
func KeepEndedHolds(tx *pg.Tx, company id.Company, ended []EndedHold, at time.Time) {
	if len(ended) == 0 {
		return
	}
	ids, purchasers, contents := make([]id.Transaction, len(ended)), make([]id.Customer, len(ended)), make([]string, len(ended))
	for i, h := range ended {
		ids[i], purchasers[i], contents[i] = h.ID, h.Purchaser.ID, string(h.Content)
	}
	tx.Queue(pg.Query{SQL: insertEndedHoldsSQL, Args: []any{company, ids, purchasers, contents, at}})
}
