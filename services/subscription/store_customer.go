package subscription

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const openOfCustomerSQL = `select id from subscriptions where company_id = $1 and customer_id = $2 and status <> 'ended' order by id limit $3`

// openOfCustomer returns subscriptions of a customer that have not ended, up to limit.
func (s *store) openOfCustomer(ctx context.Context, company id.Company, customer id.Customer, limit int) (open []id.Subscription, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: openOfCustomerSQL, Args: []any{company, customer, limit}, Scan: pg.Collect(&open)})
	return open, err
}
