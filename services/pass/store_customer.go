package pass

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

	lockPresentSQL = `select deleted_at is not null from customers where company_id = $1 and id = $2 for key share`

	onOfferSQL = `select status from pass_types where company_id = $1 and id = $2 for share`
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

// requirePresent refuses a customer who was erased or deleted, or a pass type that was archived,
// after the request read them. It locks both, so that they do not change until the end of tx.
func (s *store) requirePresent(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, passType id.PassType) error {
	erased, err := privacy.Erased(ctx, tx, company, customer)
	if err != nil {
		return err
	}
	if erased {
		return fault.Missing("customer")
	}
	return tx.Pipeline(ctx, append(presentCustomer(company, customer), onOffer(company, passType))...)
}

// presentCustomer returns the queries that refuse a deleted customer. They lock the row of any
// other customer, so that a deletion is confirmed only after tx.
func presentCustomer(company id.Company, customer id.Customer) []pg.Query {
	args := []any{company, customer}
	return []pg.Query{
		{SQL: meetCustomerSQL, Args: args},
		{SQL: lockPresentSQL, Args: args, Scan: func(rows pgx.Rows) error {
			deleted, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
			if err == nil && deleted {
				err = fault.Missing("customer")
			}
			return err
		}},
	}
}

// onOffer returns the query that refuses an archived pass type. It locks any other pass type, so
// that it is not archived before the end of tx.
func onOffer(company id.Company, passType id.PassType) pg.Query {
	return pg.Query{SQL: onOfferSQL, Args: []any{company, passType}, Scan: func(rows pgx.Rows) error {
		status, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		if err == nil && status == typeArchived {
			err = archivedType()
		}
		return err
	}}
}
