package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	movedCompaniesSQL = `select company_id, timezone from companies where planned_zone is distinct from timezone order by company_id limit 100`

	// A step that has failed is tried again soon anyway.
	makeDueSQL = `with batch as (select id from subscriptions where company_id = $1 and id > $2 order by id limit $4),
		due as (update subscriptions s set advance_at = $3 from batch
			where s.company_id = $1 and s.id = batch.id and s.next_at is not null and s.advance_at > $3 and s.advance_attempts = 0)
		select id, (select count(*) from batch) from batch order by id desc limit 1`

	plannedSQL = `update companies set planned_zone = $2 where company_id = $1`
)

// movedCompany is a company whose zone is not the one in which its next steps were planned.
type movedCompany struct {
	Company id.Company
	Zone    string
}

// movedCompanies returns companies that have changed their zone, and new ones.
func (s *store) movedCompanies(ctx context.Context) (moved []movedCompany, err error) {
	err = s.readAll(ctx, pg.Query{SQL: movedCompaniesSQL, Scan: pg.Each(func(rows pgx.Rows) error {
		var m movedCompany
		err := rows.Scan(&m.Company, &m.Zone)
		moved = append(moved, m)
		return err
	})})
	return moved, err
}

// makeDue makes a batch of subscriptions after one due now. It returns the last of the batch and its size.
func (s *store) makeDue(ctx context.Context, company id.Company, after id.Subscription, now time.Time) (last id.Subscription, n int, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		n = 0
		return tx.Pipeline(ctx, pg.Query{SQL: makeDueSQL, Args: []any{company, [16]byte(after), now, movedBatch}, Scan: pg.First(&last, &n)})
	})
	return last, n, err
}

// planned stores the zone in which the next steps of a company are planned.
func (s *store) planned(ctx context.Context, m movedCompany) error {
	return s.Write(ctx, m.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, plannedSQL, m.Company, m.Zone)
		return err
	})
}
