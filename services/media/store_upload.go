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
	uploadsSQL = `select u.id, u.item_id, u.purpose, u.status, u.file_name, u.content_type, u.size, u.sha256, u.part_size, u.reason, u.error,
			u.expires_at, i.kind, coalesce((select array_agg(p.number order by p.number) from upload_parts p
				where p.company_id = u.company_id and p.upload_id = u.id), '{}') as parts
		from uploads u join media_items i on i.company_id = u.company_id and i.id = u.item_id`

	uploadSQL = uploadsSQL + ` where u.company_id = $1 and u.id = $2`

	// A statement after the lock sees the parts that were added while it waited.
	lockUploadSQL = `select id from uploads where company_id = $1 and id = $2 for no key update`

	// The item is locked before the totals, as in the deletion of an item.
	keepItemSQL = `select id from media_items where company_id = $1 and id = $2 for key share`

	// A new upload changes nothing in the row, but waits for the others of the company.
	lockTotalsSQL = `insert into media_totals as t (company_id) values ($1) on conflict (company_id) do update set items = t.items`

	countOpenSQL = `select count(*)::integer from uploads where company_id = $1 and status = 'open' and expires_at > $2`

	addUploadSQL = `insert into uploads (company_id, id, item_id, purpose, status, file_name, content_type, size, sha256, part_size, expires_at, updated_at)
		values (@company, @id, @item, @purpose, 'open', @name, @type, @size, @sha256, @part_size, @expires_at, @now)`

	savePartSQL = `insert into upload_parts (company_id, upload_id, number, object_id, size, sha256) values ($1, $2, $3, $4, $5, $6)
		on conflict (company_id, upload_id, number) do update set object_id = excluded.object_id, size = excluded.size, sha256 = excluded.sha256`

	partsSQL = `select number, object_id, size, sha256 from upload_parts where company_id = $1 and upload_id = $2 order by number`

	// The removal of parts adds their objects to those to remove. A null $3 means every part.
	removePartsSQL = `with gone as (delete from upload_parts p where p.company_id = $1 and p.upload_id = $2
				and ($3::integer[] is null or p.number = any($3)) returning p.object_id)
		insert into removed_objects (company_id, key, object_id, due_at)
		select $1, concat($1::uuid, '/', u.item_id, '/', g.object_id), g.object_id, $4 from gone g, uploads u
		where u.company_id = $1 and u.id = $2 on conflict do nothing`

	// The same for the object into which the parts were being joined.
	removeJoinedSQL = `insert into removed_objects (company_id, key, object_id, due_at)
		select company_id, concat(company_id, '/', item_id, '/', object_id), object_id, $3 from uploads
		where company_id = $1 and id = $2 and object_id is not null on conflict do nothing`

	setUploadSQL = `update uploads set status = $3, reason = $4, error = $5, updated_at = $6, lease = null, leased_until = null, object_id = null
		where company_id = $1 and id = $2`

	deleteUploadSQL = `delete from uploads where company_id = $1 and id = $2`

	expiredSQL = `select company_id, id from uploads where status = 'open' and expires_at <= $1 order by expires_at limit $2`

	pruneUploadsSQL = `delete from uploads where ctid = any(array(
		select ctid from uploads where status in ('complete', 'failed') and updated_at < $1 order by updated_at limit $2 for update skip locked))`
)

// upload returns one upload of an item.
func (s *store) upload(ctx context.Context, company id.Company, item id.MediaItem, upload id.Upload) (Upload, error) {
	u, err := pg.Get[Upload](ctx, s.Store, company, "upload", uploadSQL, company, upload)
	if err == nil && u.Item != item {
		err = fault.Missing("upload")
	}
	return u, err
}

// uploadOf returns one upload of any item.
func (s *store) uploadOf(ctx context.Context, company id.Company, upload id.Upload) (Upload, error) {
	return pg.Get[Upload](ctx, s.Store, company, "upload", uploadSQL, company, upload)
}

// lockUpload locks an upload until the end of tx, and reads it.
func (s *store) lockUpload(ctx context.Context, tx *pg.Tx, company id.Company, upload id.Upload) (Upload, error) {
	if _, err := pg.GetInTx[id.Upload](ctx, tx, "upload", lockUploadSQL, company, upload); err != nil {
		return Upload{}, err
	}
	return pg.GetInTx[Upload](ctx, tx, "upload", uploadSQL, company, upload)
}

// countOpen returns the number of open uploads of a company before one for an item is added, and holds up
// further ones until the end of tx.
func countOpen(ctx context.Context, tx *pg.Tx, company id.Company, item id.MediaItem, now time.Time) (open int, err error) {
	if _, err := pg.GetInTx[id.MediaItem](ctx, tx, "media item", keepItemSQL, company, item); err != nil {
		return 0, err
	}
	err = tx.Pipeline(ctx, pg.Query{SQL: lockTotalsSQL, Args: []any{company}},
		pg.Query{SQL: countOpenSQL, Args: []any{company, now}, Scan: pg.First(&open)})
	return open, err
}

// addUpload stores a new upload when tx commits.
func addUpload(tx *pg.Tx, company id.Company, u Upload, now time.Time) {
	tx.Queue(pg.Query{SQL: addUploadSQL, Args: []any{pgx.NamedArgs{
		"company": company, "id": u.ID, "item": u.Item, "purpose": u.Purpose, "name": u.FileName, "type": u.Type, "size": u.Size,
		"sha256": u.SHA256, "part_size": u.PartSize, "expires_at": u.ExpiresAt, "now": now,
	}}})
}

// savePart stores a part of an open upload, whose object is in the bucket. An earlier object of the part
// is removed.
func (s *store) savePart(ctx context.Context, company id.Company, upload id.Upload, p storedPart, now func() time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		u, err := s.lockUpload(ctx, tx, company, upload)
		if err != nil {
			return err
		}
		if err := u.requireOpen(now()); err != nil {
			return err
		}
		tx.Queue(removeParts(company, upload, []int32{p.Number}, now()),
			pg.Query{SQL: savePartSQL, Args: []any{company, upload, p.Number, p.Object, p.Size, p.SHA256}})
		return nil
	})
}

// removeParts deletes parts and adds their objects to those to remove; nil means every part.
func removeParts(company id.Company, upload id.Upload, numbers []int32, now time.Time) pg.Query {
	return pg.Query{SQL: removePartsSQL, Args: []any{company, upload, numbers, now}}
}

// parts returns the parts of an upload.
func (s *store) parts(ctx context.Context, company id.Company, upload id.Upload) (parts []storedPart, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: partsSQL, Args: []any{company, upload}, Scan: pg.Collect(&parts)})
	return parts, err
}

// setUpload stores the status of a locked upload when tx commits. It ends a join, and adds the object of
// an interrupted one to those to remove.
func setUpload(tx *pg.Tx, company id.Company, u Upload, now time.Time) {
	tx.Queue(
		pg.Query{SQL: removeJoinedSQL, Args: []any{company, u.ID, now}},
		pg.Query{SQL: setUploadSQL, Args: []any{company, u.ID, u.Status, u.Reason, u.Error, now}})
}

// deleteUpload deletes a locked upload and its parts when tx commits.
func deleteUpload(tx *pg.Tx, company id.Company, upload id.Upload, now time.Time) {
	tx.Queue(removeParts(company, upload, nil, now),
		pg.Query{SQL: removeJoinedSQL, Args: []any{company, upload, now}},
		pg.Query{SQL: deleteUploadSQL, Args: []any{company, upload}})
}

// ownedUpload is an upload and its company.
type ownedUpload struct {
	Company id.Company `db:"company_id"`
	ID      id.Upload  `db:"id"`
}

// expired returns uploads of all companies that have expired.
func (s *store) expired(ctx context.Context, now time.Time, most int) ([]ownedUpload, error) {
	return pg.Rows[ownedUpload](ctx, s.DB, pg.AllCompanies(), expiredSQL, now, most)
}

// expire ends an upload that has expired, and removes its parts.
func (s *store) expire(ctx context.Context, o ownedUpload, now time.Time) error {
	return s.Write(ctx, o.Company, func(ctx context.Context, tx *pg.Tx) error {
		u, err := s.lockUpload(ctx, tx, o.Company, o.ID)
		if fault.Is(err, fault.NotFound) || err == nil && (u.Status != uploadOpen || now.Before(u.ExpiresAt)) {
			return nil
		}
		if err != nil {
			return err
		}
		failUpload(tx, o.Company, u, ReasonUploadExpired, "the upload has expired; create another one", now)
		return nil
	})
}

// failUpload ends a locked upload with a reason, and removes its parts, when tx commits.
func failUpload(tx *pg.Tx, company id.Company, u Upload, reason, message string, now time.Time) {
	u.Status, u.Reason, u.Error = uploadFailed, reason, message
	tx.Queue(removeParts(company, u.ID, nil, now))
	setUpload(tx, company, u, now)
}

// pruneUploads deletes uploads that ended before a time, and returns their number.
func (s *store) pruneUploads(ctx context.Context, before time.Time, most int) (n int64, err error) {
	err = s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, pruneUploadsSQL, before, most)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
