package customer

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// What is older than the copy changes nothing, in whatever order news comes.
const keepCompaniesSQL = `insert into companies as c (company_id, unique_emails, version)
	select * from unnest($1::uuid[], $2::boolean[], $3::bigint[])
	on conflict (company_id) do update set unique_emails = excluded.unique_emails, version = excluded.version
		where c.version < excluded.version`

// keepCompanies stores news about companies.
func (s *store) keepCompanies(ctx context.Context, tx *pg.Tx, news []Company) error {
	newest := map[id.Company]Company{}
	for _, c := range news {
		if known, ok := newest[c.ID]; !ok || known.Version < c.Version {
			newest[c.ID] = c
		}
	}
	var ids []id.Company
	var unique []bool
	var versions []int64
	for _, c := range newest {
		ids, unique, versions = append(ids, c.ID), append(unique, c.UniqueEmails), append(versions, c.Version)
	}
	_, err := tx.Exec(ctx, keepCompaniesSQL, ids, unique, versions)
	return err
}
