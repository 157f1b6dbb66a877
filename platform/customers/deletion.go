package customers

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const deleteSQL = `insert into customers as c (company_id, id, deleted_at) values ($1, $2, $3)
	on conflict (company_id, id) do update set deleted_at = excluded.deleted_at where c.deleted_at is null`

// AwaitSQL is the statement of AwaitCommits, for tests that wait until it waits for a lock.
const AwaitSQL = `select from customers where company_id = $1 and id = $2 for update`

// ConfirmDeletion records in store that a customer is deleted, at a time of the company, and waits for the
// commits that have read the customer as present. It can be repeated. The fault is NOT_FOUND if the customer
// never existed, and INVALID_PARAMETER if the customer is not deleted.
func ConfirmDeletion(ctx context.Context, store pg.Store, customers Lookup, company id.Company, customer id.Customer, now time.Time) error {
	deleted, err := customers.Deleted(ctx, company, customer)
	if err != nil {
		return err
	}
	if !deleted {
		return NotDeleted()
	}
	err = store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: deleteSQL, Args: []any{company, customer, now}})
	})
	if err != nil {
		return err
	}
	return AwaitCommits(ctx, store, company, customer)
}

// NotDeleted returns the fault of a confirmation for a customer who is not deleted.
func NotDeleted() *fault.Error {
	return fault.InvalidParameter("customer_id", "deleted", "must be a deleted customer")
}

// AwaitCommits waits until every commit that has locked the row of a customer for key share has ended. It
// takes no other lock, and releases its lock when it returns.
func AwaitCommits(ctx context.Context, store pg.Store, company id.Company, customer id.Customer) error {
	return store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: AwaitSQL, Args: []any{company, customer}})
	})
}
