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
	lockPurchaseSQL = `select t.status, coalesce(t.expires_at, 'epoch') from transactions t where t.company_id = $1 and t.id = $2`

	lockHoldSQL = lockPurchaseSQL + ` and ` + wasHeld + ` for no key update`

	lockOfferedSQL = lockPurchaseSQL + ` for no key update`

	// A free booking has the amounts 0.
	confirmHeldSQL = `with paid as (update bookings set payment_reference = $4, money_method = $6,
				gross = case when $6 = 'FREE' then 0 else gross end, net = case when $6 = 'FREE' then 0 else net end
			where company_id = $1 and transaction_id = $2)
		update transactions set status = 'confirmed', hold_expires_at = coalesce(hold_expires_at, expires_at), expires_at = null,
			purchased_at = $3, timezone = $5, updated_at = $7, created_by = $8 where company_id = $1 and id = $2`

	heldCreditsSQL = `select b.id, o.credits, o.whole_course from bookings b join pricing_options o on o.company_id = b.company_id and o.id = b.pricing_option_id
		where b.company_id = $1 and b.transaction_id = $2`

	heldToPassSQL = `with paid as (update bookings b set method = 'PASS', credits_used = n.credits, currency = null, gross = null, net = null,
				payment_reference = null from unnest($5::uuid[], $6::integer[]) n(id, credits)
			where b.company_id = $1 and b.transaction_id = $2 and b.id = n.id)
		update transactions set status = 'pending', held_until = expires_at, hold_expires_at = coalesce(hold_expires_at, expires_at), expires_at = $3, purchased_at = $4, timezone = $7,
			created_by = $8, held_prices = (
				select jsonb_agg(jsonb_build_object('id', b.id, 'currency', b.currency, 'gross', b.gross, 'net', b.net))
				from bookings b where b.company_id = $1 and b.transaction_id = $2)
			where company_id = $1 and id = $2`

	joinPendingSQL = `update transactions set held_until = null, held_prices = null where company_id = $1 and id = $2`
)

// LockedHold is the state of a locked hold.
type LockedHold struct {
	Status    model.TransactionStatus
	ExpiresAt time.Time
}

// LockHold reads a hold and locks it until the end of tx. It returns fault.NotFound for a transaction
// that never was a hold.
func (s *Store) LockHold(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) (LockedHold, error) {
	return lockHeld(ctx, tx, lockHoldSQL, company, which)
}

// LockOffered is LockHold for the transaction of a waitlist entry, which was booked without an offer if
// it never was a hold.
func (s *Store) LockOffered(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) (LockedHold, error) {
	return lockHeld(ctx, tx, lockOfferedSQL, company, which)
}

func lockHeld(ctx context.Context, tx *pg.Tx, sql string, company id.Company, which id.Transaction) (LockedHold, error) {
	var h LockedHold
	err := tx.QueryRow(ctx, sql, company, which).Scan(&h.Status, &h.ExpiresAt)
	return h, pg.Missing(err, "hold")
}

// CheckHold refuses to confirm a hold whose dates are cancelled or whose customers are deleted. It
// also runs the query further, in the same round trip. It returns the waitlist entry whose offer the
// hold is; nil if it is none.
func (s *Store) CheckHold(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction, further pg.Query) (*model.WaitlistEntry, error) {
	var waiters []*model.WaitlistEntry
	err := tx.Pipeline(ctx, refuseCancelledDates(company, which), refuseDeletedCustomers(company, which), further,
		pg.Query{SQL: waitersOfSQL, Args: []any{company, []id.Transaction{which}}, Scan: scanWaiters(&waiters)})
	if err != nil || len(waiters) == 0 {
		return nil, err
	}
	return waiters[0], nil
}

// ConfirmHeld stores a hold that is not paid by pass as a confirmed purchase. by is the caller who pays.
func (s *Store) ConfirmHeld(ctx context.Context, tx *pg.Tx, company id.Company, t *model.Transaction, how model.PaymentChoice, by string) error {
	_, money := storedMethod(how.Method)
	_, err := tx.Exec(ctx, confirmHeldSQL, company, t.ID, t.PurchasedAt, orNull(how.Reference), t.Timezone, money, t.UpdatedAt, orNull(by))
	return err
}

// HeldCredits returns the price in credits of each booking of a hold.
func (s *Store) HeldCredits(ctx context.Context, tx *pg.Tx, company id.Company, t id.Transaction) (map[id.Booking]model.CreditPrice, error) {
	prices := map[id.Booking]model.CreditPrice{}
	err := tx.Pipeline(ctx, pg.Query{SQL: heldCreditsSQL, Args: []any{company, t}, Scan: pg.Each(func(rows pgx.Rows) error {
		var b id.Booking
		var p model.CreditPrice
		err := rows.Scan(&b, &p.Credits, &p.WholeCourse)
		prices[b] = p
		return err
	})})
	return prices, err
}

// PayHeldByPass stores a hold as a pending purchase by pass. by is the caller who pays.
func (s *Store) PayHeldByPass(ctx context.Context, tx *pg.Tx, company id.Company, t *model.Transaction, expiresAt time.Time, by string) error {
	var ids []id.Booking
	var credits []int32
	for i := range t.Bookings {
		ids, credits = append(ids, t.Bookings[i].ID), append(credits, t.Bookings[i].Payment.Credits)
	}
	_, err := tx.Exec(ctx, heldToPassSQL, company, t.ID, expiresAt, t.PurchasedAt, ids, credits, t.Timezone, orNull(by))
	return err
}

// JoinPending marks a pending purchase as paid for by several attempts, so that it does not become
// a hold again.
func (s *Store) JoinPending(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) error {
	_, err := tx.Exec(ctx, joinPendingSQL, company, which)
	return err
}
