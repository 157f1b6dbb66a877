package customers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	addSQL = `insert into customers (company_id, id) select $1, n.id from unnest($2::uuid[]) n(id) order by n.id
		on conflict (company_id, id) do nothing`

	lockSQL = `with present as (select id from customers
			where company_id = $1 and id` + pg.AmongIDs + ` and deleted_at is null order by id for key share)
		select id, false from present
		union all select id, true from customers where company_id = $1 and id` + pg.AmongIDs + ` and deleted_at is not null`
)

// RequirePresent returns fault.NotFound if a customer was erased or deleted after the request looked the
// customer up. It locks the customer's row until the end of tx. The queries in more run after it in the same
// round trip.
func RequirePresent(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, more ...pg.Query) error {
	present, err := Present(ctx, tx, company, customer, more...)
	if err == nil && !present {
		err = fault.Missing("customer")
	}
	return err
}

// Present is like RequirePresent, but reports whether the customer is neither erased nor deleted.
func Present(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, more ...pg.Query) (bool, error) {
	erased, err := privacy.Erased(ctx, tx, company, customer)
	if err != nil || erased {
		return false, err
	}
	customers, deleted := []id.Customer{customer}, map[id.Customer]bool{}
	err = tx.Pipeline(ctx, append([]pg.Query{Add(company, customers), Lock(company, customers, deleted)}, more...)...)
	gone, known := deleted[customer]
	return known && !gone, err
}

// Add returns the statement that adds the rows of customers who have none, in order of their identifiers.
func Add(company id.Company, customers []id.Customer) pg.Query {
	return pg.Query{SQL: addSQL, Args: []any{company, customers}}
}

// Lock returns the query that locks the rows of customers who are not deleted, in order of their identifiers,
// so that a deletion is confirmed only after the transaction. It stores in deleted whether each is deleted. A
// customer without a row is not in deleted, and neither is one whose deletion is committed while the query
// waits.
func Lock(company id.Company, customers []id.Customer, deleted map[id.Customer]bool) pg.Query {
	return pg.Query{SQL: lockSQL, Args: []any{company, customers}, Scan: pg.Each(func(rows pgx.Rows) error {
		var customer id.Customer
		var gone bool
		err := rows.Scan(&customer, &gone)
		deleted[customer] = gone
		return err
	})}
}
