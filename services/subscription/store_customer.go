package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	deleteCustomerSQL = `insert into customers as c (company_id, id, deleted_at) values ($1, $2, $3)
		on conflict (company_id, id) do update set deleted_at = excluded.deleted_at where c.deleted_at is null`

	fenceSQL = `select from customers where company_id = $1 and id = $2 for update`

	meetCustomerSQL = `insert into customers (company_id, id) values ($1, $2) on conflict (company_id, id) do nothing`

	// The row of a deleted customer is not locked, so that refused requests do not hold up a fence.
	lockCustomerSQL = `select from customers where company_id = $1 and id = $2 and deleted_at is null for key share`

	openOfCustomerSQL = `select id from subscriptions where company_id = $1 and customer_id = $2 and status <> 'ended' order by id limit $3`
)

// deleteCustomer records that a customer is deleted.
func (s *store) deleteCustomer(ctx context.Context, company id.Company, customer id.Customer, now time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: deleteCustomerSQL, Args: []any{company, customer, now}})
	})
}

// awaitCommits waits until every commit that has read the customer as present has ended.
func (s *store) awaitCommits(ctx context.Context, company id.Company, customer id.Customer) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: fenceSQL, Args: []any{company, customer}})
	})
}

// requirePresent refuses a customer who was erased or deleted after the request looked the customer up. It
// locks the customer's row, so that a deletion is confirmed only after tx.
func (s *store) requirePresent(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	erased, err := privacy.Erased(ctx, tx, company, customer)
	if err != nil {
		return err
	}
	present := false
	err = tx.Pipeline(ctx, pg.Query{SQL: meetCustomerSQL, Args: []any{company, customer}},
		pg.Query{SQL: lockCustomerSQL, Args: []any{company, customer}, Scan: pg.Each(func(pgx.Rows) error {
			present = true
			return nil
		})})
	if err == nil && (erased || !present) {
		err = fault.Missing("customer")
	}
	return err
}

// openOfCustomer returns subscriptions of a customer that have not ended, up to limit.
func (s *store) openOfCustomer(ctx context.Context, company id.Company, customer id.Customer, limit int) (open []id.Subscription, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: openOfCustomerSQL, Args: []any{company, customer, limit}, Scan: pg.Collect(&open)})
	return open, err
}
