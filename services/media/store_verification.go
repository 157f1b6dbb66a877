package media

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	verifyTotalsSQL = `select coalesce((select items from media_totals where company_id = $1), 0), (select count(*) from media_items where company_id = $1),
		coalesce((select collections from media_totals where company_id = $1), 0), (select count(*) from collections where company_id = $1),
		coalesce((select entitlements from media_totals where company_id = $1), 0), (select count(*) from entitlements where company_id = $1)`

	// Every file is that of an item, as its file or its cover.
	verifyFilesSQL = `select f.id, 1::bigint, count(i.id) from media_files f
		left join media_items i on i.company_id = f.company_id and i.id = f.item_id and (i.file_id = f.id or i.cover_id = f.id)
		where f.company_id = $1 group by f.id`

	verifyObjectsSQL = `select item_id, id as object_id, size from media_files where company_id = $1
		union all select u.item_id, p.object_id, p.size from upload_parts p
			join uploads u on u.company_id = p.company_id and u.id = p.upload_id where p.company_id = $1 and u.status = 'open'`
)

// comparison is a stored number and the number computed from the rows.
type comparison struct {
	what, id         string
	stored, computed int64
}

// verify recomputes the numbers of a company and calls each with every comparison.
func (s *store) verify(ctx context.Context, company id.Company, each func(comparison) error) error {
	err := s.stream(ctx, company, verifyTotalsSQL, func(rows pgx.Rows) error {
		c := []comparison{{what: "media_items.total"}, {what: "collections.total"}, {what: "entitlements.total"}}
		if err := rows.Scan(&c[0].stored, &c[0].computed, &c[1].stored, &c[1].computed, &c[2].stored, &c[2].computed); err != nil {
			return err
		}
		for _, total := range c {
			if err := each(total); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.stream(ctx, company, verifyFilesSQL, func(rows pgx.Rows) error {
		var file id.UUID
		c := comparison{what: "file.item"}
		if err := rows.Scan(&file, &c.stored, &c.computed); err != nil {
			return err
		}
		c.id = file.String()
		return each(c)
	})
}

// namedObject is an object that a row names.
type namedObject struct {
	item   id.MediaItem
	object id.UUID
	size   int64
}

// objects calls each with the objects of a company that must be in the bucket.
func (s *store) objects(ctx context.Context, company id.Company, each func(namedObject) error) error {
	return s.stream(ctx, company, verifyObjectsSQL, func(rows pgx.Rows) error {
		var o namedObject
		if err := rows.Scan(&o.item, &o.object, &o.size); err != nil {
			return err
		}
		return each(o)
	})
}

func (s *store) stream(ctx context.Context, company id.Company, sql string, each func(pgx.Rows) error) error {
	return s.Fault(s.Stream(ctx, pg.For(company), sql, []any{company}, each))
}
