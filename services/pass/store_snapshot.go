package pass

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Reads of snapshots, each of which is a page in a transaction of its own.

const (
	snapshotTypesSQL = `select ` + passTypeColumns + ` from pass_types where company_id = $1 and id > $2 order by id limit $3`

	snapshotPassesSQL = `select ` + customerPassColumns + ` from customer_passes p where p.company_id = $1 and p.id > $2 order by p.id limit $3`

	snapshotLedgersSQL = `select n.id, l.* from unnest($2::uuid[]) n(id)
		cross join lateral (select ` + ledgerColumns + ` from ledger_entries
			where company_id = $1 and customer_pass_id = n.id and sequence > $3 order by sequence limit $4 offset 0) l
		order by n.id, l.sequence`
)

func (s *store) snapshotTypes(ctx context.Context, company id.Company, after id.PassType, limit int) (page []PassType, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: snapshotTypesSQL, Args: []any{company, [16]byte(after), limit}, Scan: pg.Collect(&page)})
	return page, err
}

func (s *store) snapshotPasses(ctx context.Context, company id.Company, after id.CustomerPass, limit int) (page []CustomerPass, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: snapshotPassesSQL, Args: []any{company, [16]byte(after), limit}, Scan: pg.Collect(&page)})
	return page, err
}

// snapshotLedgers reads up to limit entries of each pass after a sequence number, oldest first.
func (s *store) snapshotLedgers(ctx context.Context, company id.Company, passes []id.CustomerPass, after int64, limit int) (map[id.CustomerPass][]LedgerEntry, error) {
	found := map[id.CustomerPass][]LedgerEntry{}
	err := s.ReadOf(ctx, company, pg.Query{SQL: snapshotLedgersSQL, Args: []any{company, passes, after, limit}, Scan: pg.Each(func(rows pgx.Rows) error {
		e, err := pgx.RowToStructByName[snapshotEntry](rows)
		found[e.Pass] = append(found[e.Pass], e.LedgerEntry)
		return err
	})})
	return found, err
}

// snapshotEntry is a ledger entry with its pass.
type snapshotEntry struct {
	Pass id.CustomerPass `db:"id"`
	LedgerEntry
}
