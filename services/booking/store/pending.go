package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	backToHoldSQL = `update transactions set status = 'held', expires_at = held_until, held_until = null, held_prices = null
		where company_id = $1 and id = $2 and status = 'pending' and held_until is not null`

	backToCardSQL = `update bookings b set method = 'CARD', currency = n.currency, gross = n.gross, net = n.net, credits_used = null
		from transactions t, jsonb_to_recordset(t.held_prices) n(id uuid, currency text, gross bigint, net bigint)
		where t.company_id = $1 and t.id = $2 and t.status = 'pending' and t.held_until is not null
			and b.company_id = $1 and b.transaction_id = $2 and b.id = n.id`

	lockPendingSQL = `select from transactions where company_id = $1 and id = $2 for no key update`

	undoSQL = `update transactions set status = 'undoing', expires_at = $3 where company_id = $1 and id = $2 and status = 'pending'`

	// A date that was cancelled during the payment cannot be booked.
	cancelledDatesSQL = `select count(*) from bookings b join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
		where b.company_id = $1 and b.transaction_id = $2 and d.status = 'cancelled'`

	confirmSQL = `with waited as (` + bookWaiterSQL + `)
		update transactions set status = 'confirmed', expires_at = null, held_until = null, held_prices = null
		where company_id = $1 and id = $2 and status = 'pending'`

	nameUsedPassSQL = `update bookings set customer_pass_id = $3 where company_id = $1 and transaction_id = $2 and method = 'PASS'`

	begunSQL = `select transaction_id, request_hash from purchase_keys k where company_id = $1 and caller = $2 and key = $3
		and exists (select from transactions t where t.company_id = $1 and t.id = k.transaction_id and t.status in ('pending', 'undoing'))`

	beginsSQL = `insert into purchase_keys (company_id, caller, key, request_hash, transaction_id, created_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (company_id, caller, key) do update set request_hash = excluded.request_hash,
			transaction_id = excluded.transaction_id, created_at = excluded.created_at`
)

// BackToHold makes a pending transaction the hold that it was, and reports whether it did. It does
// not if the transaction never was a hold, or if several attempts pay for it.
func (s *Store) BackToHold(ctx context.Context, company id.Company, t id.Transaction) (back bool, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		var changed int64
		args := []any{company, t}
		err := tx.Pipeline(ctx, pg.Query{SQL: lockPendingSQL, Args: args}, pg.Query{SQL: backToCardSQL, Args: args},
			pg.Query{SQL: backToHoldSQL, Args: args, Scan: tally(&changed)})
		back = changed > 0
		return err
	})
	return back, err
}

// BeginUndo marks a pending transaction as being undone, and reports whether it was still pending.
// reason is recorded in the waitlist entry that the transaction is for.
func (s *Store) BeginUndo(ctx context.Context, company id.Company, t id.Transaction, until time.Time, reason string) (begun bool, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, undoSQL, company, t, until)
		begun = tag.RowsAffected() > 0
		if err == nil && begun {
			_, err = tx.Exec(ctx, refuseWaiterSQL, company, t, reason)
		}
		return err
	})
	return begun, err
}

// ErrNotPending reports that the status of a transaction changed during its purchase.
var ErrNotPending = errors.New("the transaction is not pending any more")

// ConfirmPending confirms a pending transaction and runs further queries. It returns ErrNotPending
// if the transaction is no longer pending.
func (s *Store) ConfirmPending(ctx context.Context, tx *pg.Tx, company id.Company, t id.Transaction, pass id.CustomerPass, further pg.Query) error {
	return tx.Pipeline(ctx,
		pg.Query{SQL: confirmSQL, Args: []any{company, t}, Scan: func(rows pgx.Rows) error {
			rows.Close()
			if rows.CommandTag().RowsAffected() == 0 {
				return ErrNotPending
			}
			return nil
		}},
		refuseCancelledDates(company, t),
		refuseDeletedCustomers(company, t),
		pg.Query{SQL: nameUsedPassSQL, Args: []any{company, t, pass}},
		further)
}

// refuseCancelledDates returns the query that refuses a transaction whose dates are cancelled.
func refuseCancelledDates(company id.Company, t id.Transaction) pg.Query {
	return pg.Query{SQL: cancelledDatesSQL, Args: []any{company, t}, Scan: func(rows pgx.Rows) error {
		cancelled, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		if err == nil && cancelled > 0 {
			err = fault.Refuse(model.ReasonEventCancelled, "the event is cancelled")
		}
		return err
	}}
}

// PurchaseKey is the Idempotency-Key of a purchase by pass.
type PurchaseKey struct {
	Caller, Key string
	Hash        []byte // of the request
}

// BegunUnder returns the unfinished transaction that an earlier request with the same key has
// begun; zero if there is none.
func (s *Store) BegunUnder(ctx context.Context, tx *pg.Tx, company id.Company, k PurchaseKey) (id.Transaction, error) {
	var t id.Transaction
	var stored []byte
	err := tx.QueryRow(ctx, begunSQL, company, k.Caller, k.Key).Scan(&t, &stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return id.Transaction{}, nil
	}
	if err == nil && string(stored) != string(k.Hash) {
		return t, idem.Reused()
	}
	return t, err
}

// BeginUnder stores the transaction that a request with a key has begun.
func (s *Store) BeginUnder(ctx context.Context, tx *pg.Tx, company id.Company, k PurchaseKey, t id.Transaction, now time.Time) error {
	_, err := tx.Exec(ctx, beginsSQL, company, k.Caller, k.Key, k.Hash, t, now)
	return err
}
