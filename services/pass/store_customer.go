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

	meetCustomersSQL = `insert into customers (company_id, id) select $1, n.id from unnest($2::uuid[]) n(id) order by n.id
		on conflict (company_id, id) do nothing`

	// Rows of deleted customers are not locked, so that refused requests do not hold up a fence. The
	// subselects are those of saveCustomerPassesSQL.
	lockCustomersSQL = `with present as (select id from customers
			where company_id = $1 and id = any((select $2::uuid[])::uuid[]) and deleted_at is null order by id for key share)
		select id, false from present
		union all select id, true from customers where company_id = $1 and id = any((select $2::uuid[])::uuid[]) and deleted_at is not null`

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
	customers, deleted, status := []id.Customer{customer}, map[id.Customer]bool{}, ""
	err = tx.Pipeline(ctx, meetCustomers(company, customers), lockCustomers(company, customers, deleted),
		pg.Query{SQL: onOfferSQL, Args: []any{company, passType}, Scan: pg.First(&status)})
	gone, known := deleted[customer]
	switch {
	case err != nil:
		return err
	case gone || !known:
		return fault.Missing("customer")
	case status == typeArchived:
		return archivedType()
	}
	return nil
}

// meetCustomers returns the statement that adds the rows of customers who have none, in order of
// their ids.
func meetCustomers(company id.Company, customers []id.Customer) pg.Query {
	return pg.Query{SQL: meetCustomersSQL, Args: []any{company, customers}}
}

// lockCustomers returns the query that locks the rows of customers who are not deleted, in order of
// their ids, so that a deletion is confirmed only after the transaction. It adds to deleted whether
// each is deleted. A customer whose deletion is committed while the query waits is not in deleted.
func lockCustomers(company id.Company, customers []id.Customer, deleted map[id.Customer]bool) pg.Query {
	return pg.Query{SQL: lockCustomersSQL, Args: []any{company, customers}, Scan: pg.Each(func(rows pgx.Rows) error {
		var customer id.Customer
		var gone bool
		err := rows.Scan(&customer, &gone)
		deleted[customer] = gone
		return err
	})}
}
