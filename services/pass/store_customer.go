package pass

import (
	"context"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const onOfferSQL = `select status from pass_types where company_id = $1 and id = $2 for share`

// requirePresent refuses a customer who was erased or deleted, or a pass type that was archived,
// after the request read them. It locks both, so that they do not change until the end of tx.
func (s *store) requirePresent(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, passType id.PassType) error {
	status := ""
	err := customers.RequirePresent(ctx, tx, company, customer, pg.Query{SQL: onOfferSQL, Args: []any{company, passType}, Scan: pg.First(&status)})
	if err == nil && status == typeArchived {
		err = archivedType()
	}
	return err
}
