package media

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const (
	entitlementsSQL = `select e.id, e.collection_id, e.item_id, e.pass_type_id, e.plan_id, e.event_id, e.customer_id, e.last_day, e.created_at
		from entitlements e`

	entitlementSQL = entitlementsSQL + ` where e.company_id = $1 and e.id = $2`

	lockEntitlementSQL = entitlementSQL + ` for update`

	sameEntitlementSQL = entitlementsSQL + ` where e.company_id = @company
		and (e.collection_id, e.item_id, e.pass_type_id, e.plan_id, e.event_id, e.customer_id, e.last_day)
			is not distinct from (@collection::uuid, @item::uuid, @pass_type::uuid, @plan::uuid, @event::uuid, @customer::uuid, @last_day::date)`

	addEntitlementSQL = `insert into entitlements (company_id, id, collection_id, item_id, pass_type_id, plan_id, event_id, customer_id, last_day, created_at)
		values (@company, @id, @collection, @item, @pass_type, @plan, @event, @customer, @last_day, @created_at)`

	entitlementTotalSQL = `select entitlements from media_totals where company_id = $1`

	deleteEntitlementSQL = `delete from entitlements where company_id = $1 and id = $2`

	entitlementsOfItemSQL = entitlementsSQL + ` where e.company_id = $1 and e.item_id = $2 order by e.id for update`

	entitlementsOfCollectionSQL = entitlementsSQL + ` where e.company_id = $1 and e.collection_id = $2 order by e.id for update`

	deleteEntitlementsOfItemSQL = `delete from entitlements where company_id = $1 and item_id = $2`

	deleteEntitlementsOfCollectionSQL = `delete from entitlements where company_id = $1 and collection_id = $2`
)

// entitlement returns one entitlement.
func (s *store) entitlement(ctx context.Context, company id.Company, entitlement id.Entitlement) (Entitlement, error) {
	return pg.Get[Entitlement](ctx, s.Store, company, "entitlement", entitlementSQL, company, entitlement)
}

// lockEntitlement reads an entitlement and locks it until the end of tx.
func (s *store) lockEntitlement(ctx context.Context, tx *pg.Tx, company id.Company, entitlement id.Entitlement) (Entitlement, error) {
	return pg.GetInTx[Entitlement](ctx, tx, "entitlement", lockEntitlementSQL, company, entitlement)
}

// sameEntitlement returns the entitlement that is the same as e except for its identifier, if there is
// one.
func (s *store) sameEntitlement(ctx context.Context, tx *pg.Tx, company id.Company, e Entitlement) (Entitlement, bool, error) {
	same, err := pg.GetInTx[Entitlement](ctx, tx, "entitlement", sameEntitlementSQL, rowOfEntitlement(company, e)...)
	if fault.Is(err, fault.NotFound) {
		return same, false, nil
	}
	return same, err == nil, err
}

// addEntitlement stores a new entitlement when tx commits.
func addEntitlement(tx *pg.Tx, company id.Company, e Entitlement) {
	tx.Queue(pg.Query{SQL: addEntitlementSQL, Args: rowOfEntitlement(company, e)}, addTotals(company, totals{entitlements: 1}))
}

// deleteEntitlement deletes a locked entitlement when tx commits.
func deleteEntitlement(tx *pg.Tx, company id.Company, entitlement id.Entitlement) {
	tx.Queue(pg.Query{SQL: deleteEntitlementSQL, Args: []any{company, entitlement}}, addTotals(company, totals{entitlements: -1}))
}

func rowOfEntitlement(company id.Company, e Entitlement) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": e.ID, "collection": e.Collection, "item": e.Item, "pass_type": e.PassType, "plan": e.Plan,
		"event": e.Event, "customer": e.Customer, "last_day": e.LastDay, "created_at": e.CreatedAt,
	}}
}

// entitlementFilter filters a list of entitlements; nil means no filter.
type entitlementFilter struct {
	collection *id.Collection
	item       *id.MediaItem
	customer   *id.Customer
}

// entitlements returns a page of entitlements and the number of matches.
func (s *store) entitlements(ctx context.Context, company id.Company, f entitlementFilter, p page.Page) (found []Entitlement, total int64, err error) {
	where := page.NewFilter("e.company_id = $1", company)
	if f.collection != nil {
		where.And("e.collection_id = %s", *f.collection)
	}
	if f.item != nil {
		where.And("e.item_id = %s", *f.item)
	}
	if f.customer != nil {
		where.And("e.customer_id = %s", *f.customer)
	}
	err = s.ReadOf(ctx, company, where.Page(entitlementsSQL, p).Query(pg.Collect(&found)),
		where.Count("entitlements e", entitlementTotalSQL, &total))
	return found, total, err
}

// entitlementsOfItem reads the entitlements of a locked item alone, and locks them.
func entitlementsOfItem(ctx context.Context, tx *pg.Tx, company id.Company, item id.MediaItem) (found []Entitlement, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: entitlementsOfItemSQL, Args: []any{company, item}, Scan: pg.Collect(&found)})
	return found, err
}

// entitlementsOfCollection reads the entitlements of a locked collection, and locks them.
func entitlementsOfCollection(ctx context.Context, tx *pg.Tx, company id.Company, collection id.Collection) (found []Entitlement, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: entitlementsOfCollectionSQL, Args: []any{company, collection}, Scan: pg.Collect(&found)})
	return found, err
}
