package media

import (
	"context"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	eraseProgressSQL = `delete from progress where company_id = $1 and customer_id = $2`

	eraseEntitlementsSQL = `with gone as (delete from entitlements where company_id = $1 and customer_id = $2 returning 1)
		update media_totals set entitlements = entitlements - (select count(*) from gone) where company_id = $1`

	exportProgressSQL = `select p.item_id, to_jsonb(p) || jsonb_build_object('title', i.title)
		from progress p join media_items i on i.company_id = p.company_id and i.id = p.item_id
		where p.company_id = $1 and p.customer_id = $2 order by p.item_id`

	exportEntitlementsSQL = `select e.id, to_jsonb(e) from entitlements e where e.company_id = $1 and e.customer_id = $2 order by e.id`
)

// erase deletes the progress of a customer and what was given to the customer. No event says so, because it
// would name the customer.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.Write(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: eraseProgressSQL, Args: []any{e.Company, e.Customer}},
			pg.Query{SQL: eraseEntitlementsSQL, Args: []any{e.Company, e.Customer}})
	})
}
