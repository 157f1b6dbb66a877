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

	lockAllPendingSQL = `select id from transactions where company_id = $1 and id` + pg.AmongIDs + ` and status = 'pending' order by id for no key update`

	stillPendingSQL = `select id from transactions where company_id = $1 and id` + pg.AmongIDs + ` and status = 'pending'`

	whichCancelledSQL = `select id from event_dates where company_id = $1 and id` + pg.AmongIDs + ` and status = 'cancelled'`

	// The waitlist entries that the transactions are for; the lock of a transaction protects its entry.
	waitersOfSQL = datedWaiters + ` and w.transaction_id is not null and w.transaction_id` + pg.AmongIDs + ` and w.state in ('offered', 'booking')`

	// The updates join the company too. PostgreSQL would otherwise expect few rows of a company in a
	// new table, and read all of them.
	confirmSQL = `update transactions t set status = 'confirmed', expires_at = null, held_until = null, held_prices = null,
			request_key = null, request_hash = null, request_kind = null, updated_at = $3
		from (select $1::uuid as company_id, unnest($2::uuid[]) as id offset 0) n
		where t.company_id = n.company_id and t.id = n.id and t.status = 'pending'`

	recordPaymentsSQL = `update bookings b set customer_pass_id = n.pass, credits_used = n.credits
		from (select $1::uuid as company_id, unnest($2::uuid[]) as id, unnest($3::uuid[]) as pass, unnest($4::integer[]) as credits offset 0) n
		where b.company_id = n.company_id and b.id = n.id and b.method = 'PASS'`

	begunSQL = `select request_key, request_hash, request_kind, id from transactions
		where company_id = $1 and request_key = any($2) and status in ('pending', 'undoing')`
)

// BackToHold turns a pending transaction back into the hold that it was, and reports whether it
// did. It changes nothing if the transaction was never a hold, or if several attempts pay for it.
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

// Confirmation is a pending transaction that a pass has paid. Its bookings have the pass and the credits
// that were taken.
type Confirmation struct {
	Transaction *model.Transaction
	Waiter      *model.WaitlistEntry // booked; nil: none
}

// Payable is the pending transactions, locked until the end of tx, those that another process has
// locked, and the dates of theirs that are cancelled.
type Payable struct {
	Pending   map[id.Transaction]bool
	Locked    map[id.Transaction]bool
	Cancelled map[id.EventDate]bool
	// Waiters are the waitlist entries that the transactions are for.
	Waiters []*model.WaitlistEntry
}

// Waiter returns the waitlist entry that a transaction is for; nil if there is none.
func (p *Payable) Waiter(of id.Transaction) *model.WaitlistEntry {
	for _, w := range p.Waiters {
		if w.Transaction == of {
			return w
		}
	}
	return nil
}

// LockPayable returns the queries that lock the transactions that are pending, and then read which
// of the dates are cancelled. If wait is false, they leave out transactions that are locked.
func LockPayable(company id.Company, transactions []id.Transaction, dates []id.EventDate, wait bool, into *Payable) []pg.Query {
	*into = Payable{Pending: map[id.Transaction]bool{}, Locked: map[id.Transaction]bool{}, Cancelled: map[id.EventDate]bool{}}
	lock := lockAllPendingSQL
	if !wait {
		lock += ` skip locked`
	}
	args := []any{company, transactions}
	queries := []pg.Query{
		{SQL: lock, Args: args, Scan: eachID(into.Pending)},
		{SQL: whichCancelledSQL, Args: []any{company, dates}, Scan: eachID(into.Cancelled)},
		{SQL: waitersOfSQL, Args: args, Scan: scanWaiters(&into.Waiters)},
	}
	if !wait {
		queries = append(queries, pg.Query{SQL: stillPendingSQL, Args: args, Scan: pg.Each(func(rows pgx.Rows) error {
			var t id.Transaction
			err := rows.Scan(&t)
			into.Locked[t] = !into.Pending[t]
			return err
		})})
	}
	return queries
}

// eachID returns a Query.Scan that sets the identifiers that were found.
func eachID[T comparable](found map[T]bool) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var one T
		err := rows.Scan(&one)
		found[one] = true
		return err
	})
}

// confirm returns the statements that confirm locked pending transactions.
func confirm(company id.Company, all []Confirmation, now time.Time) []pg.Query {
	ids := make([]id.Transaction, len(all))
	var bookings []id.Booking
	var passes []id.CustomerPass
	var credits []int32
	var booked []*model.WaitlistEntry
	for i, c := range all {
		ids[i] = c.Transaction.ID
		if c.Waiter != nil {
			booked = append(booked, c.Waiter)
		}
		for j := range c.Transaction.Bookings {
			b := &c.Transaction.Bookings[j]
			bookings, passes, credits = append(bookings, b.ID), append(passes, b.Payment.CustomerPass), append(credits, b.Payment.Credits)
		}
	}
	queries := []pg.Query{
		pg.Query{SQL: confirmSQL, Args: []any{company, ids, now}}.Affecting(len(all)),
		{SQL: recordPaymentsSQL, Args: []any{company, bookings, passes, credits}},
	}
	if len(booked) > 0 {
		queries = append(queries, saveWaiters(company, booked))
	}
	return queries
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

// Begun is the unfinished transaction of an earlier attempt of a request.
type Begun struct {
	Transaction id.Transaction // pending, or being undone
	Hash        []byte         // of the request
	Kind        *string        // of resource; nil: an earlier release began it
}

// BegunBy returns the query that finds the unfinished purchases of requests, by their keys.
func BegunBy(company id.Company, keys [][]byte, into map[string]Begun) pg.Query {
	return pg.Query{SQL: begunSQL, Args: []any{company, keys}, Scan: pg.Each(func(rows pgx.Rows) error {
		var key []byte
		var b Begun
		err := rows.Scan(&key, &b.Hash, &b.Kind, &b.Transaction)
		into[string(key)] = b
		return err
	})}
}
