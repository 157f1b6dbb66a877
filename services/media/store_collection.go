package media

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const (
	collectionsSQL = `select c.id, c.title, c.description, c.version, c.created_at, c.updated_at,
			(select count(*)::integer from collection_items m where m.company_id = c.company_id and m.collection_id = c.id) as item_count
		from collections c`

	collectionSQL = collectionsSQL + ` where c.company_id = $1 and c.id = $2`

	lockCollectionSQL = collectionSQL + ` for no key update of c`

	lockCollectionToDeleteSQL = collectionSQL + ` for update of c`

	addCollectionSQL = `insert into collections (company_id, id, title, description, version, created_at, updated_at)
		values (@company, @id, @title, @description, @version, @created_at, @updated_at)`

	collectionTotalSQL = `select collections from media_totals where company_id = $1`

	saveCollectionSQL = `update collections set title = @title, description = @description, version = @version, updated_at = @updated_at
		where company_id = @company and id = @id`

	membersSQL = `select item_id from collection_items where company_id = $1 and collection_id = $2 order by item_id`

	// The rows are locked in the order of their identifiers.
	touchCollectionsSQL = `with locked as (select id from collections where company_id = $1 and id` + pg.AmongIDs + ` order by id for no key update)
		update collections c set version = c.version + 1, updated_at = $3 from locked where c.company_id = $1 and c.id = locked.id returning c.id`

	setCollectionsSQL = `with gone as (delete from collection_items where company_id = $1 and item_id = $2 and collection_id <> all ($3::uuid[]))
		insert into collection_items (company_id, collection_id, item_id) select $1, n.id, $2 from unnest($3::uuid[]) n(id) on conflict do nothing`

	touchItemsSQL = `update media_items set version = version + 1, updated_at = $3 where company_id = $1 and id` + pg.AmongIDs

	deleteMembersSQL = `delete from collection_items where company_id = $1 and collection_id = $2`

	deleteCollectionSQL = `delete from collections where company_id = $1 and id = $2`
)

// collection returns one collection.
func (s *store) collection(ctx context.Context, company id.Company, collection id.Collection) (Collection, error) {
	return pg.Get[Collection](ctx, s.Store, company, "collection", collectionSQL, company, collection)
}

// lockCollection reads a collection and locks it until the end of tx.
func (s *store) lockCollection(ctx context.Context, tx *pg.Tx, company id.Company, collection id.Collection) (Collection, error) {
	return pg.GetInTx[Collection](ctx, tx, "collection", lockCollectionSQL, company, collection)
}

// lockCollectionToDelete reads a collection and its items, and locks all of them. Items are locked before
// collections. If an item is added while it waits, the transaction is
// repeated.
func (s *store) lockCollectionToDelete(ctx context.Context, tx *pg.Tx, company id.Company, collection id.Collection) (c Collection, items []Item, err error) {
	var members, now []id.MediaItem
	err = tx.Pipeline(ctx, pg.Query{SQL: membersSQL, Args: []any{company, collection}, Scan: pg.Collect(&members)})
	if err != nil {
		return c, nil, err
	}
	if items, err = s.lockItems(ctx, tx, company, members); err != nil {
		return c, nil, err
	}
	if c, err = pg.GetInTx[Collection](ctx, tx, "collection", lockCollectionToDeleteSQL, company, collection); err != nil {
		return c, nil, err
	}
	err = tx.Pipeline(ctx, pg.Query{SQL: membersSQL, Args: []any{company, collection}, Scan: pg.Collect(&now)})
	// An item that was moved out of the collection before it was locked does not change.
	items = slices.DeleteFunc(items, func(i Item) bool { return !slices.Contains(now, i.ID) })
	if err == nil && len(items) < len(now) {
		err = pg.ErrLockOrder
	}
	return c, items, err
}

// collectionFilter filters a list of collections; zero means no filter.
type collectionFilter struct {
	updatedSince time.Time
	ids          []id.Collection
}

// collections returns a page of collections and the number of matches.
func (s *store) collections(ctx context.Context, company id.Company, f collectionFilter, p page.Page) (found []Collection, total int64, err error) {
	where := page.NewFilter("c.company_id = $1", company)
	where.Since("c.updated_at", f.updatedSince)
	if len(f.ids) > 0 {
		where.And("c.id = any (%s)", f.ids)
	}
	err = s.ReadOf(ctx, company, where.Page(collectionsSQL, p).Query(pg.Collect(&found)),
		where.Count("collections c", collectionTotalSQL, &total))
	return found, total, err
}

// addCollection stores a new collection when tx commits.
func addCollection(tx *pg.Tx, company id.Company, c Collection) {
	tx.Queue(pg.Query{SQL: addCollectionSQL, Args: rowOfCollection(company, c)}, addTotals(company, totals{collections: 1}))
}

// saveCollection stores a locked collection when tx commits.
func saveCollection(tx *pg.Tx, company id.Company, c Collection) {
	tx.Queue(pg.Query{SQL: saveCollectionSQL, Args: rowOfCollection(company, c)})
}

func rowOfCollection(company id.Company, c Collection) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": c.ID, "title": c.Title, "description": c.Description,
		"version": c.Version, "created_at": c.CreatedAt, "updated_at": c.UpdatedAt,
	}}
}

// touchCollections raises the versions of collections whose items change. It returns NOT_FOUND if one does
// not exist.
func touchCollections(ctx context.Context, tx *pg.Tx, company id.Company, collections []id.Collection, now time.Time) error {
	if len(collections) == 0 {
		return nil
	}
	var touched []id.Collection
	err := tx.Pipeline(ctx, pg.Query{SQL: touchCollectionsSQL, Args: []any{company, collections, now}, Scan: pg.Collect(&touched)})
	if err == nil && len(touched) < len(collections) {
		err = fault.Missing("collection")
	}
	return err
}

// setCollections stores the collections of an item when tx commits.
func setCollections(tx *pg.Tx, company id.Company, i Item) {
	tx.Queue(pg.Query{SQL: setCollectionsSQL, Args: []any{company, i.ID, i.Collections}})
}

// deleteCollection deletes a locked collection, its entitlements and its members when tx commits.
func deleteCollection(tx *pg.Tx, company id.Company, collection id.Collection, items []Item, entitlements int, now time.Time) {
	ids := make([]id.MediaItem, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	tx.Queue(
		pg.Query{SQL: deleteMembersSQL, Args: []any{company, collection}},
		pg.Query{SQL: touchItemsSQL, Args: []any{company, ids, now}},
		pg.Query{SQL: deleteEntitlementsOfCollectionSQL, Args: []any{company, collection}},
		pg.Query{SQL: deleteCollectionSQL, Args: []any{company, collection}},
		addTotals(company, totals{collections: -1, entitlements: -int64(entitlements)}))
}
