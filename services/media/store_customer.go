package media

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
	lockCustomerSQL = `select id from customers where company_id = $1 and id = $2 and deleted_at is null for key share`

	progressSQL = `select item_id, position_seconds, completed, updated_at from progress where company_id = $1 and customer_id = $2 and item_id = $3`

	lockProgressSQL = progressSQL + ` for update`

	beginProgressSQL = `insert into progress (company_id, customer_id, item_id, position_seconds, completed, updated_at)
		values ($1, $2, $3, 0, false, $4) on conflict do nothing`

	saveProgressSQL = `update progress set position_seconds = @position, completed = @completed, updated_at = @updated_at
		where company_id = @company and customer_id = @customer and item_id = @item`
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

// requirePresent refuses a customer who was erased or deleted after the request read them. It locks the
// customer's row, so that a deletion is confirmed only after tx.
func (s *store) requirePresent(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	erased, err := privacy.Erased(ctx, tx, company, customer)
	if err != nil {
		return err
	}
	var found id.Customer
	err = tx.Pipeline(ctx, pg.Query{SQL: meetCustomerSQL, Args: []any{company, customer}},
		pg.Query{SQL: lockCustomerSQL, Args: []any{company, customer}, Scan: pg.First(&found)})
	if err == nil && (erased || found.IsZero()) {
		err = fault.Missing("customer")
	}
	return err
}

// lockProgress reads the progress of a customer and locks it. It adds a row if there is none, so that
// concurrent requests wait for each other.
func (s *store) lockProgress(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, item id.MediaItem, now time.Time) (Progress, error) {
	if err := tx.Pipeline(ctx, pg.Query{SQL: beginProgressSQL, Args: []any{company, customer, item, now}}); err != nil {
		return Progress{}, err
	}
	return pg.GetInTx[Progress](ctx, tx, "progress", lockProgressSQL, company, customer, item)
}

// saveProgress stores the progress of a customer when tx commits.
func saveProgress(tx *pg.Tx, company id.Company, customer id.Customer, p Progress) {
	tx.Queue(pg.Query{SQL: saveProgressSQL, Args: []any{pgx.NamedArgs{
		"company": company, "customer": customer, "item": p.Item, "position": p.Position, "completed": p.Completed, "updated_at": p.UpdatedAt,
	}}})
}
