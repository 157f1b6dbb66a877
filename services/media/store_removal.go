package media

import (
	"context"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// The statements of the deletion of an item, in their order. $3 is when its objects are removed.
	removeFilesOfItemSQL = `insert into removed_objects (company_id, key, object_id, due_at)
		select company_id, concat(company_id, '/', item_id, '/', id), id, $3 from media_files where company_id = $1 and item_id = $2
		on conflict do nothing`

	// No part is added to a locked upload.
	lockUploadsOfItemSQL = `select id from uploads where company_id = $1 and item_id = $2 order by id for update`

	removePartsOfItemSQL = `with gone as (delete from upload_parts p using uploads u where u.company_id = $1 and u.item_id = $2
				and p.company_id = $1 and p.upload_id = u.id returning p.object_id)
		insert into removed_objects (company_id, key, object_id, due_at)
		select $1, concat($1::uuid, '/', $2::uuid, '/', object_id), object_id, $3 from gone on conflict do nothing`

	removeJoinedOfItemSQL = `insert into removed_objects (company_id, key, object_id, due_at)
		select company_id, concat(company_id, '/', item_id, '/', object_id), object_id, $3 from uploads
		where company_id = $1 and item_id = $2 and object_id is not null on conflict do nothing`

	deleteUploadsOfItemSQL     = `delete from uploads where company_id = $1 and item_id = $2`
	deleteProgressOfItemSQL    = `delete from progress where company_id = $1 and item_id = $2`
	deleteCollectionsOfItemSQL = `delete from collection_items where company_id = $1 and item_id = $2`
	deleteFilesOfItemSQL       = `delete from media_files where company_id = $1 and item_id = $2`

	// named is the condition that a row names the object r: then it is not removed.
	named = `(exists (select from media_files f where f.company_id = r.company_id and f.id = r.object_id)
		or exists (select from upload_parts p where p.company_id = r.company_id and p.object_id = r.object_id)
		or exists (select from uploads u where u.company_id = r.company_id and u.object_id = r.object_id))`

	// The row of an object that has a name again is deleted, because the database was restored.
	claimRemovalsSQL = `with r as (select company_id, key, object_id from removed_objects
				where due_at <= $1 and (leased_until is null or leased_until <= $1)
				order by due_at limit $4 for no key update skip locked),
			judged as (select r.company_id, r.key, ` + named + ` as named from r),
			kept as (delete from removed_objects d using judged j
				where j.named and d.company_id = j.company_id and d.key = j.key returning d.company_id, d.key),
			claimed as (update removed_objects d set lease = $2, leased_until = $3 from judged j
				where not j.named and d.company_id = j.company_id and d.key = j.key returning d.company_id, d.key)
		select company_id, key, true as named from kept union all select company_id, key, false from claimed`

	finishRemovalsSQL = `delete from removed_objects d using unnest($2::uuid[], $3::text[]) n(company_id, key)
		where d.company_id = n.company_id and d.key = n.key and d.lease = $1`

	knownCompaniesSQL = `select company_id from companies where company_id = any($1)
		union select company_id from media_totals where company_id = any($1)`

	// unnamedSQL finds the objects that no row names and that are not among those to remove.
	unnamedSQL = `select r.key from unnest($1::text[], $2::uuid[], $3::uuid[]) r(key, company_id, object_id)
		where not ` + named + ` and not exists (select from removed_objects d where d.company_id = r.company_id and d.key = r.key)`

	addRemovalsSQL = `insert into removed_objects (company_id, key, object_id, due_at)
		select n.company_id, n.key, n.object_id, $4 from unnest($1::text[], $2::uuid[], $3::uuid[]) n(key, company_id, object_id)
		on conflict do nothing`

	gaugesSQL = `select (select count(*) from uploads where status = 'open'), (select count(*) from removed_objects where due_at <= $1)`
)

// deleteItem deletes a locked item and all that belongs to it when tx commits. Its file and its cover are
// removed at files, and parts of uploads now. // invariant 8
func deleteItem(tx *pg.Tx, company id.Company, i Item, entitlements int, now, files time.Time) {
	of := func(sql string, more ...any) pg.Query {
		return pg.Query{SQL: sql, Args: append([]any{company, i.ID}, more...)}
	}
	tx.Queue(
		of(lockUploadsOfItemSQL), of(removeFilesOfItemSQL, files), of(removePartsOfItemSQL, now), of(removeJoinedOfItemSQL, now), of(deleteUploadsOfItemSQL),
		of(deleteProgressOfItemSQL), of(deleteCollectionsOfItemSQL), of(deleteEntitlementsOfItemSQL), of(deleteItemSQL), of(deleteFilesOfItemSQL),
		addTotals(company, totals{items: -1, entitlements: -int64(entitlements)}))
}

// removal is an object that is due to be removed.
type removal struct {
	Company id.Company `db:"company_id"`
	Key     string     `db:"key"`
	Named   bool       `db:"named"` // a row names the object again, so it stays
}

// claimRemovals leases objects of all companies that are due to be removed. It leases none that a row names.
func (s *store) claimRemovals(ctx context.Context, lease id.UUID, now, until time.Time, most int) (due []removal, err error) {
	err = s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: claimRemovalsSQL, Args: []any{now, lease, until, most}, Scan: pg.Collect(&due)})
	})
	return due, err
}

// finishRemovals deletes the rows of objects that were removed, unless the lease was lost.
func (s *store) finishRemovals(ctx context.Context, lease id.UUID, removed []removal) error {
	companies, keys := make([]id.Company, len(removed)), make([]string, len(removed))
	for n, r := range removed {
		companies[n], keys[n] = r.Company, r.Key
	}
	return s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: finishRemovalsSQL, Args: []any{lease, companies, keys}})
	})
}

// knownCompanies returns which companies the database has.
func (s *store) knownCompanies(ctx context.Context, companies []id.Company) (map[id.Company]bool, error) {
	found, err := pg.Rows[id.Company](ctx, s.DB, pg.AllCompanies(), knownCompaniesSQL, companies)
	known := make(map[id.Company]bool, len(found))
	for _, company := range found {
		known[company] = true
	}
	return known, err
}

// candidates are objects of the bucket, as columns.
type candidates struct {
	keys      []string
	companies []id.Company
	objects   []id.UUID // zero if the name has none
}

// candidate is an object of the bucket.
type candidate struct {
	key     string
	company id.Company
	object  id.UUID
}

func (c *candidates) add(o candidate) {
	c.keys, c.companies, c.objects = append(c.keys, o.key), append(c.companies, o.company), append(c.objects, o.object)
}

// addOnly adds those of from that have one of the keys.
func (c *candidates) addOnly(from candidates, keys []string) {
	for n, key := range from.keys {
		if slices.Contains(keys, key) {
			c.add(candidate{key, from.companies[n], from.objects[n]})
		}
	}
}

// unnamed returns the objects among c that no row names.
func (s *store) unnamed(ctx context.Context, c candidates) (found []string, err error) {
	return pg.Rows[string](ctx, s.DB, pg.AllCompanies(), unnamedSQL, c.keys, c.companies, c.objects)
}

// addRemovals has objects removed at a time.
func (s *store) addRemovals(ctx context.Context, c candidates, due time.Time) error {
	return s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: addRemovalsSQL, Args: []any{c.keys, c.companies, c.objects, due}})
	})
}

// gauges returns the number of open uploads, and of objects that should have been removed before a time.
func (s *store) gauges(ctx context.Context, overdue time.Time) (open, late int64, err error) {
	err = s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: gaugesSQL, Args: []any{overdue}, Scan: pg.First(&open, &late)})
	return open, late, err
}
