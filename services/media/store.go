package media

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// store runs the SQL statements of the service. Methods with a tx run in the caller's transaction; the
// others make one round trip of their own.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store {
	return &store{pg.Store{DB: db, Constraints: map[string]*fault.Error{
		"media_items_reference":       errMeanwhile(),
		"entitlements_same":           errMeanwhile(),
		"collection_items_collection": fault.Missing("collection"),
		"entitlements_collection":     fault.Missing("collection"),
		"entitlements_item":           fault.Missing("media item"),
		"uploads_item":                fault.Missing("media item"),
		"progress_item":               fault.Missing("media item"),
	}}}
}

// errMeanwhile refuses a request that lost to a concurrent one, which added the same row. A retry finds
// the row.
func errMeanwhile() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "the same is being added").After(time.Second)
}

const (
	itemColumns = `i.id, i.title, i.description, i.kind, i.duration_seconds, i.tags, i.status, i.reference, i.version, i.created_at, i.updated_at,
	coalesce((select array_agg(c.collection_id order by c.collection_id) from collection_items c
		where c.company_id = i.company_id and c.item_id = i.id), '{}') as collection_ids,
	i.file_id, coalesce(f.name, '') as file_name, coalesce(f.content_type, '') as file_type, coalesce(f.size, 0) as file_size,
	coalesce(f.sha256, '') as file_sha256, coalesce(f.uploaded_at, 'epoch'::timestamptz) as file_at,
	i.cover_id, coalesce(c.name, '') as cover_name, coalesce(c.content_type, '') as cover_type, coalesce(c.size, 0) as cover_size,
	coalesce(c.sha256, '') as cover_sha256, coalesce(c.uploaded_at, 'epoch'::timestamptz) as cover_at`

	itemTables = `media_items i left join media_files f on f.company_id = i.company_id and f.id = i.file_id
	left join media_files c on c.company_id = i.company_id and c.id = i.cover_id`

	itemsSQL = `select ` + itemColumns + ` from ` + itemTables

	itemSQL = itemsSQL + ` where i.company_id = $1 and i.id = $2`

	// Items are locked first, and read by another statement: one that waits for a lock would then see the
	// item as it is, and its file and collections as they were before.
	lockItemSQL = `select id from media_items where company_id = $1 and id = $2 for no key update`

	// Rows that refer to the item cannot be added while it is locked so.
	lockItemToDeleteSQL = `select id from media_items where company_id = $1 and id = $2 for update`

	lockItemsSQL = `select id from media_items where company_id = $1 and id` + pg.AmongIDs + ` order by id for no key update`

	itemsByIDSQL = itemsSQL + ` where i.company_id = $1 and i.id` + pg.AmongIDs + ` order by i.id`

	itemByReferenceSQL = itemsSQL + ` where i.company_id = $1 and i.reference = $2`

	addItemSQL = `insert into media_items (company_id, id, title, description, kind, duration_seconds, tags, status, reference, version,
			created_at, updated_at)
		values (@company, @id, @title, @description, @kind, @duration, @tags, @status, @reference, @version, @created_at, @updated_at)`

	saveItemSQL = `update media_items set title = @title, description = @description, duration_seconds = @duration, tags = @tags,
			status = @status, file_id = @file, cover_id = @cover, version = @version, updated_at = @updated_at
		where company_id = @company and id = @id`

	deleteItemSQL = `delete from media_items where company_id = $1 and id = $2`

	addTotalsSQL = `insert into media_totals as t (company_id, items, collections, entitlements)
		values ($1, greatest($2::bigint, 0), greatest($3::bigint, 0), greatest($4::bigint, 0))
		on conflict (company_id) do update set items = t.items + $2, collections = t.collections + $3, entitlements = t.entitlements + $4`

	itemTotalSQL = `select items from media_totals where company_id = $1`
)

// totals are the numbers of rows of a company.
type totals struct{ items, collections, entitlements int64 }

// addTotals adds to the numbers of rows of a company when tx commits.
func addTotals(company id.Company, n totals) pg.Query {
	return pg.Query{SQL: addTotalsSQL, Args: []any{company, n.items, n.collections, n.entitlements}}
}

// item returns one item.
func (s *store) item(ctx context.Context, company id.Company, item id.MediaItem) (Item, error) {
	return pg.Get[Item](ctx, s.Store, company, "media item", itemSQL, company, item)
}

// lockItem locks an item until the end of tx, and reads it.
func (s *store) lockItem(ctx context.Context, tx *pg.Tx, company id.Company, item id.MediaItem) (Item, error) {
	return readLocked(ctx, tx, lockItemSQL, company, item)
}

// lockItemToDelete locks an item, so that no row that refers to it is added, and reads it.
func (s *store) lockItemToDelete(ctx context.Context, tx *pg.Tx, company id.Company, item id.MediaItem) (Item, error) {
	return readLocked(ctx, tx, lockItemToDeleteSQL, company, item)
}

func readLocked(ctx context.Context, tx *pg.Tx, lock string, company id.Company, item id.MediaItem) (Item, error) {
	if _, err := pg.GetInTx[id.MediaItem](ctx, tx, "media item", lock, company, item); err != nil {
		return Item{}, err
	}
	return pg.GetInTx[Item](ctx, tx, "media item", itemSQL, company, item)
}

// lockItems locks items in the order of their identifiers, and reads them.
func (s *store) lockItems(ctx context.Context, tx *pg.Tx, company id.Company, items []id.MediaItem) (found []Item, err error) {
	err = tx.Pipeline(ctx, pg.Query{SQL: lockItemsSQL, Args: []any{company, items}},
		pg.Query{SQL: itemsByIDSQL, Args: []any{company, items}, Scan: pg.Collect(&found)})
	return found, err
}

// itemByReference returns the item with a reference, if there is one.
func (s *store) itemByReference(ctx context.Context, tx *pg.Tx, company id.Company, reference *string) (Item, bool, error) {
	if reference == nil {
		return Item{}, false, nil
	}
	i, err := pg.GetInTx[Item](ctx, tx, "media item", itemByReferenceSQL, company, *reference)
	if fault.Is(err, fault.NotFound) {
		return i, false, nil
	}
	return i, err == nil, err
}

// addItem stores a new item when tx commits.
func addItem(tx *pg.Tx, company id.Company, i Item) {
	tx.Queue(pg.Query{SQL: addItemSQL, Args: rowOfItem(company, i)}, addTotals(company, totals{items: 1}))
}

// saveItem stores a locked item when tx commits.
func saveItem(tx *pg.Tx, company id.Company, i Item) {
	tx.Queue(pg.Query{SQL: saveItemSQL, Args: rowOfItem(company, i)})
}

// rowOfItem returns the column values of an item.
func rowOfItem(company id.Company, i Item) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": i.ID, "title": i.Title, "description": i.Description, "kind": i.Kind, "duration": i.Duration,
		"tags": i.Tags, "status": i.Status, "reference": i.Reference, "file": i.FileID, "cover": i.CoverID,
		"version": i.Version, "created_at": i.CreatedAt, "updated_at": i.UpdatedAt,
	}}
}

// itemFilter filters a list of items; zero means no filter.
type itemFilter struct {
	status, kind, tag string
	collection        *id.Collection
	updatedSince      time.Time
}

// items returns a page of items and the number of matches.
func (s *store) items(ctx context.Context, company id.Company, f itemFilter, p page.Page) (items []Item, total int64, err error) {
	where := page.NewFilter("i.company_id = $1", company)
	if f.status != "" {
		where.And("i.status = %s", f.status)
	}
	if f.kind != "" {
		where.And("i.kind = %s", f.kind)
	}
	if f.tag != "" {
		where.And("%s = any(i.tags)", f.tag)
	}
	if f.collection != nil {
		where.And("i.id in (select m.item_id from collection_items m where m.company_id = i.company_id and m.collection_id = %s)", *f.collection)
	}
	where.Since("i.updated_at", f.updatedSince)
	err = s.ReadOf(ctx, company, where.Page(itemsSQL, p).Query(pg.Collect(&items)), where.Count("media_items i", itemTotalSQL, &total))
	return items, total, err
}
