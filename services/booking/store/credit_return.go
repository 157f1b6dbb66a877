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
	oweCreditsSQL = `insert into credit_returns (company_id, booking_id, transaction_id, customer_pass_id, credits, due_at)
		select $1, n.booking_id, n.transaction_id, n.customer_pass_id, n.credits, $2
		from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::integer[]) n(booking_id, transaction_id, customer_pass_id, credits)
		on conflict (company_id, booking_id) do nothing`

	// A failed return is claimed again after a delay, by the first process that finds it.
	claimReturnsSQL = `update credit_returns r set due_at = $2 from (
			select company_id, booking_id from credit_returns where due_at <= $1 order by due_at limit $3 for no key update skip locked) due
		where r.company_id = due.company_id and r.booking_id = due.booking_id
		returning r.company_id, r.booking_id, r.transaction_id, r.customer_pass_id, r.credits`

	returnedSQL = `delete from credit_returns where company_id = $1 and booking_id = $2`
)

// OweCredits stores that the credits of bookings must be returned. The job returns them when due.
func (s *Store) OweCredits(ctx context.Context, tx *pg.Tx, company id.Company, returns []model.CreditReturn, due time.Time) error {
	var bookings []id.Booking
	var transactions []id.Transaction
	var passes []id.CustomerPass
	var credits []int32
	for _, r := range returns {
		bookings, transactions = append(bookings, r.Booking), append(transactions, r.Transaction)
		passes, credits = append(passes, r.Pass), append(credits, r.Credits)
	}
	_, err := tx.Exec(ctx, oweCreditsSQL, company, due, bookings, transactions, passes, credits)
	return err
}

// ClaimReturns claims returns that are due. Another process can claim them after until.
func (s *Store) ClaimReturns(ctx context.Context, now, until time.Time, limit int) ([]model.CreditReturn, error) {
	var due []model.CreditReturn
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		return tx.Pipeline(ctx, pg.Query{SQL: claimReturnsSQL, Args: []any{now, until, limit}, Scan: pg.Each(func(rows pgx.Rows) error {
			var r model.CreditReturn
			err := rows.Scan(&r.Company, &r.Booking, &r.Transaction, &r.Pass, &r.Credits)
			due = append(due, r)
			return err
		})})
	})
	return due, s.Fault(err)
}

// CreditsReturned stores that the credits were returned to the pass.
func (s *Store) CreditsReturned(ctx context.Context, r model.CreditReturn) error {
	return s.Write(ctx, r.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, returnedSQL, r.Company, r.Booking)
		return err
	})
}
