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
	// A hold of a test clock that is ahead would otherwise be kept until the real time reaches its expiry.
	releaseSQL = `update transactions set status = 'released', expires_at = least(expires_at, $3) where company_id = $1 and id = any($2)`

	// An earlier release created a hold without hold_expires_at.
	lockUnconfirmedSQL = `select t.id, t.discount_code_id, t.purchaser_id,
			coalesce(t.hold_expires_at, t.held_until, case when t.status = 'held' then t.expires_at end),
			exists (select from waitlist_entries w where w.company_id = $1 and w.transaction_id = t.id)
		from transactions t where t.company_id = $1 and t.id = any($2) and t.status = any($3)
		order by t.id for no key update of t`

	heldBookingsSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.id` + pg.AmongIDs + `)` + selectBookings + ` order by p.id, b.position`

	placesSQL = `select event_date_id, sum(spaces)::integer from bookings where company_id = $1 and transaction_id = any($2)
		group by event_date_id order by event_date_id`

	LockDatesAloneSQL = `select id from event_dates where company_id = $1 and id = any($2) order by id for no key update`

	lockUsedCodesSQL = `select id from discount_codes where company_id = $1 and id = any($2) order by id for no key update`

	givePlacesSQL = `update event_dates d set booked = d.booked - n.spaces from unnest($2::uuid[], $3::integer[]) n(id, spaces)
		where d.company_id = $1 and d.id = n.id`

	giveUsesSQL = `update discount_codes c set uses = c.uses - n.uses
		from (select x.id, count(*)::integer as uses from unnest($2::uuid[]) x(id) group by x.id) n
		where c.company_id = $1 and c.id = n.id`
)

// Release frees the spaces of the transactions that have one of the statuses. It takes locks in the
// usual order: transactions, dates, waitlist entries and discount codes. now is the real time.
func (s *Store) Release(ctx context.Context, tx *pg.Tx, company id.Company, all []id.Transaction, from []model.TransactionStatus, now time.Time) (Released, error) {
	r := Released{holds: map[id.Transaction]*model.Hold{}}
	err := tx.Pipeline(ctx, pg.Query{SQL: lockUnconfirmedSQL, Args: []any{company, all, statusTexts(from)}, Scan: pg.Each(r.scanLocked)})
	if err != nil || r.Count() == 0 {
		return r, err
	}
	var spaces []int32
	var bookings Listing
	err = tx.Pipeline(ctx,
		pg.Query{SQL: heldBookingsSQL, Args: []any{company, r.ids}, Scan: bookings.scanTransactions},
		pg.Query{SQL: placesSQL, Args: []any{company, r.ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var d id.EventDate
			var n int32
			err := rows.Scan(&d, &n)
			r.Dates, spaces = append(r.Dates, d), append(spaces, n)
			return err
		})})
	if err != nil {
		return r, err
	}
	r.fillHolds(bookings.Transactions)
	queries := []pg.Query{
		{SQL: releaseSQL, Args: []any{company, r.ids, now}},
		{SQL: LockDatesAloneSQL, Args: []any{company, r.Dates}},
		{SQL: givePlacesSQL, Args: []any{company, r.Dates, spaces}},
		{SQL: lockReleasedWaitersSQL, Args: []any{company, r.ids}, Scan: scanReleased(&r.Waiters)},
	}
	if len(r.codes) > 0 {
		args := []any{company, r.codes}
		queries = append(queries, pg.Query{SQL: lockUsedCodesSQL, Args: args}, pg.Query{SQL: giveUsesSQL, Args: args})
	}
	return r, tx.Pipeline(ctx, queries...)
}

// Released is what a release has freed.
type Released struct {
	Dates   []id.EventDate         // with free spaces
	Waiters []*model.WaitlistEntry // that the transactions were for, locked and unchanged
	Holds   []*model.Hold          // before they ended, in the order of their identifiers

	ids   []id.Transaction
	codes []id.DiscountCode
	holds map[id.Transaction]*model.Hold
}

// Count returns the number of released transactions.
func (r *Released) Count() int { return len(r.ids) }

func (r *Released) scanLocked(rows pgx.Rows) error {
	h := &model.Hold{Status: model.HoldActive}
	var code id.DiscountCode
	var expiresAt *time.Time
	if err := rows.Scan(&h.ID, &code, &h.Purchaser.ID, &expiresAt, &h.Offer); err != nil {
		return err
	}
	r.ids = append(r.ids, h.ID)
	if !code.IsZero() {
		r.codes = append(r.codes, code)
	}
	if expiresAt != nil {
		h.ExpiresAt = *expiresAt
		r.holds[h.ID] = h
	}
	return nil
}

// fillHolds completes the holds with their bookings.
func (r *Released) fillHolds(transactions []model.Transaction) {
	for _, t := range transactions {
		if h := r.holds[t.ID]; h != nil {
			t.Purchaser = h.Purchaser
			h.Transaction = t
			r.Holds = append(r.Holds, h)
		}
	}
}

func statusTexts(list []model.TransactionStatus) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

const holdsOfDateSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'held' and t.id in (
		select b.transaction_id from bookings b where b.company_id = $1 and b.event_date_id = $2) order by t.id limit $3`

// HoldsOf returns holds with spaces of a date.
func (s *Store) HoldsOf(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate, limit int) (holds []id.Transaction, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: holdsOfDateSQL, Args: []any{company, date, limit}, Scan: pg.Collect(&holds)})
	return holds, err
}

// holdsOfCustomerSQL finds the holds that a customer would pay, and those that another customer would
// pay for them.
const holdsOfCustomerSQL = `select t.id from transactions t where t.company_id = $1 and t.purchaser_id = $2 and t.status = 'held'
	union select t.id from bookings b cross join lateral (select t.id from transactions t
		where t.company_id = $1 and t.id = b.transaction_id and t.status = 'held' offset 0) t
	where b.company_id = $1 and b.bought_for = $2
	order by 1 limit $3`

// HoldsOfCustomer returns holds that name a customer.
func (s *Store) HoldsOfCustomer(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, limit int) (holds []id.Transaction, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: holdsOfCustomerSQL, Args: []any{company, customer, limit}, Scan: pg.Collect(&holds)})
	return holds, err
}

const (
	ExpiredHoldsSQL = `(select company_id, id from transactions where status = 'held' and expires_at <= $1 order by expires_at limit $2)
		union all (select t.company_id, t.id` + clocks + ` cross join lateral (
			select t.company_id, t.id` + heldByClock + ` order by t.expires_at limit $2) t order by random() limit $2)`

	// The first process that marks a purchase undoes it. If that process crashes, another one
	// claims it later.
	claimUndoingSQL = `update transactions t set status = 'undoing', expires_at = $2 from (
			select company_id, id from transactions where status in ('pending', 'undoing') and expires_at <= $1
			order by expires_at limit $3 for no key update skip locked) due
		where t.company_id = due.company_id and t.id = due.id returning t.company_id, t.id`

	removeReleasedSQL = `with gone as (delete from transactions where (company_id, id) in (
			select company_id, id from transactions where status = 'released' and expires_at <= $1 limit $2 for update skip locked)
			returning company_id, id),
		keys as (delete from purchase_keys k using gone where k.company_id = gone.company_id and k.transaction_id = gone.id)
		delete from bookings b using gone where b.company_id = gone.company_id and b.transaction_id = gone.id`

	removeKeysSQL = `delete from purchase_keys where created_at <= $1`
)

// OwnedTransaction is a transaction with its company.
type OwnedTransaction struct {
	Company id.Company
	ID      id.Transaction
}

// ExpiredHolds returns holds of all companies that have expired at now: up to limit by the real time, and
// up to limit by test clocks.
func (s *Store) ExpiredHolds(ctx context.Context, now time.Time, limit int) ([]OwnedTransaction, error) {
	var due []OwnedTransaction
	err := s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: ExpiredHoldsSQL, Args: []any{now, limit}, Scan: scanOwned(&due)})
	return due, s.Fault(err)
}

// ClaimUndoing claims purchases by pass that have timed out. Another process can claim them after
// until.
func (s *Store) ClaimUndoing(ctx context.Context, now, until time.Time, limit int) ([]OwnedTransaction, error) {
	var due []OwnedTransaction
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		return tx.Pipeline(ctx, pg.Query{SQL: claimUndoingSQL, Args: []any{now, until, limit}, Scan: scanOwned(&due)})
	})
	return due, s.Fault(err)
}

// removedAtOnce is the number of released transactions, and of ended holds, that one commit removes.
const removedAtOnce = 1000

// RemoveReleased deletes released transactions that expired before released, dates of appointments that have
// had no booking since then, keys of purchases that were made before keys, and holds that ended before holds.
// Every batch is a commit.
func (s *Store) RemoveReleased(ctx context.Context, released, keys, holds time.Time) error {
	for more := true; more; {
		err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			bookings, err := tx.Exec(ctx, removeReleasedSQL, released, removedAtOnce)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, removeKeysSQL, keys); err != nil {
				return err
			}
			ended, err := tx.Exec(ctx, removeEndedHoldsSQL, holds, removedAtOnce)
			if err != nil {
				return err
			}
			assigned, err := tx.Exec(ctx, removeVacatedSQL, released, removedAtOnce)
			// Each transaction has at least one booking, and each date of an appointment an assignment.
			more = max(bookings.RowsAffected(), ended.RowsAffected(), assigned.RowsAffected()) >= removedAtOnce
			return err
		})
		if err != nil {
			return s.Fault(err)
		}
	}
	return nil
}

func scanOwned(into *[]OwnedTransaction) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var o OwnedTransaction
		err := rows.Scan(&o.Company, &o.ID)
		*into = append(*into, o)
		return err
	})
}
