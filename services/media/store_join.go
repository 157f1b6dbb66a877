package media

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// claimJoinSQL leases an upload whose parts are to be joined. $4 is the companies whose joins are at
	// their limit. The object of an interrupted join is removed.
	claimJoinSQL = `with due as (select company_id, id, item_id, object_id from uploads
				where status = 'completing' and (leased_until is null or leased_until <= $1) and company_id <> all ($4::uuid[])
				order by leased_until nulls first limit 1 for no key update skip locked),
			gone as (insert into removed_objects (company_id, key, object_id, due_at)
				select company_id, concat(company_id, '/', item_id, '/', object_id), object_id, $1 from due
				where object_id is not null on conflict do nothing)
		update uploads u set lease = $2, leased_until = $3, object_id = $5 from due
		where u.company_id = due.company_id and u.id = due.id returning u.company_id, u.id`

	renewJoinSQL = `update uploads set leased_until = $4 where company_id = $1 and id = $2 and lease = $3 returning id`

	// Both join conditions hold: a join that has lost its lease finds nothing.
	leasedSQL = `select id from uploads where company_id = $1 and id = $2 and lease = $3 for no key update`

	releaseJoinSQL = `update uploads set leased_until = $4 where company_id = $1 and id = $2 and lease = $3`

	addFileSQL = `insert into media_files (company_id, id, item_id, name, content_type, size, sha256, uploaded_at)
		values (@company, @id, @item, @name, @type, @size, @sha256, @at)`

	removeFileSQL = `with gone as (delete from media_files where company_id = $1 and id = $2 returning company_id, item_id, id)
		insert into removed_objects (company_id, key, object_id, due_at)
		select company_id, concat(company_id, '/', item_id, '/', id), id, $3 from gone on conflict do nothing`
)

// join is a claimed join of the parts of an upload.
type join struct {
	company id.Company
	upload  id.Upload
	lease   id.UUID
	object  id.UUID // the name of the joined object
}

// claimJoin leases the upload that has waited longest, of a company that is not busy. It returns false if
// there is none.
func (s *store) claimJoin(ctx context.Context, j join, now time.Time, until time.Time, busy []id.Company) (join, bool, error) {
	if busy == nil {
		busy = []id.Company{}
	}
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		j.company, j.upload = id.Company{}, id.Upload{}
		return tx.Pipeline(ctx, pg.Query{SQL: claimJoinSQL, Args: []any{now, j.lease, until, busy, j.object}, Scan: pg.First(&j.company, &j.upload)})
	})
	return j, err == nil && !j.upload.IsZero(), err
}

// errLeaseLost says that another process joins the parts, or that the upload was cancelled.
var errLeaseLost = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "the upload is being completed by another process")

// renewJoin keeps the lease of a join until a time.
func (s *store) renewJoin(ctx context.Context, j join, until time.Time) error {
	return s.Write(ctx, j.company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := pg.GetInTx[id.Upload](ctx, tx, "upload", renewJoinSQL, j.company, j.upload, j.lease, until)
		return lost(err)
	})
}

// releaseJoin ends the lease of a join early, so that another process can begin at once.
func (s *store) releaseJoin(ctx context.Context, j join, now time.Time) error {
	return s.Write(ctx, j.company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: releaseJoinSQL, Args: []any{j.company, j.upload, j.lease, now}})
	})
}

func lost(err error) error {
	if fault.Is(err, fault.NotFound) {
		return errLeaseLost
	}
	return err
}

// lockJoin locks the upload of a join and reads it. It returns errLeaseLost if the join has lost its lease.
func (s *store) lockJoin(ctx context.Context, tx *pg.Tx, j join) (Upload, error) {
	if _, err := pg.GetInTx[id.Upload](ctx, tx, "upload", leasedSQL, j.company, j.upload, j.lease); err != nil {
		return Upload{}, lost(err)
	}
	return pg.GetInTx[Upload](ctx, tx, "upload", uploadSQL, j.company, j.upload)
}

// replaceFile stores a changed item whose file or cover is new, when tx commits. The file before is
// removed later.
func replaceFile(tx *pg.Tx, company id.Company, i Item, f File, before id.UUID, removeAt time.Time) {
	tx.Queue(pg.Query{SQL: addFileSQL, Args: []any{pgx.NamedArgs{
		"company": company, "id": f.ID, "item": i.ID, "name": f.Name, "type": f.Type, "size": f.Size, "sha256": f.SHA256, "at": f.UploadedAt,
	}}})
	saveItem(tx, company, i)
	tx.Queue(pg.Query{SQL: removeFileSQL, Args: []any{company, before, removeAt}})
}

// endJoin removes the parts of an upload whose object is now the file of an item, when tx commits.
func endJoin(tx *pg.Tx, company id.Company, u Upload, now time.Time) {
	tx.Queue(removeParts(company, u.ID, nil, now),
		pg.Query{SQL: setUploadSQL, Args: []any{company, u.ID, uploadComplete, "", "", now}})
}
