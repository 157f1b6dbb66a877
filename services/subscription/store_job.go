package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

// Jobs look for work of all companies. Companies take turns: the second piece of work of a company comes after
// the first one of each other company. To find the companies that have work, a statement jumps through an
// index from company to company.

const (
	// The work of a company in test mode is due by its test clock, which is ahead of the real time.
	dueSQL = `select
		coalesce((select advance_at from subscriptions where advance_at is not null order by advance_at limit 1) <= $1, false)
			or exists (select from (select company_id, $1::timestamptz + make_interval(secs => clock_offset_seconds) as now
					from companies where clock_offset_seconds > 0 offset 0) c
				cross join lateral (select from subscriptions s where s.company_id = c.company_id and s.advance_at <= c.now limit 1) s) as steps,
		coalesce((select pass_sync_due from subscriptions where pass_sync_due is not null order by pass_sync_due limit 1) <= $1, false) as passes,
		coalesce((select pass_sync_due from plans where pass_sync_due is not null order by pass_sync_due limit 1) <= $1, false) as plans,
		exists (select from companies where planned_zone is distinct from timezone) as moved`

	dueSubscriptionsSQL = `with recursive company(id) as (
			(select company_id from subscriptions where advance_at is not null order by company_id limit 1)
			union all select (select s.company_id from subscriptions s where s.advance_at is not null and s.company_id > company.id
				order by s.company_id limit 1) from company where company.id is not null)
		select d.company_id, d.id from company
		cross join lateral (select $1::timestamptz + make_interval(secs =>
				coalesce((select k.clock_offset_seconds from companies k where k.company_id = company.id), 0)) as now offset 0) clock
		cross join lateral (select s.company_id, s.id, row_number() over (order by s.advance_at) as turn from subscriptions s
			where s.company_id = company.id and s.advance_at <= clock.now order by s.advance_at limit $2) d
		order by d.turn, random() limit $2`

	// The time is that of the company, or the real time if there is no copy of the company.
	delayAdvanceSQL = `with clock as (select $3::timestamptz + make_interval(secs =>
			coalesce((select clock_offset_seconds from companies where company_id = $1), 0)) as now)
		update subscriptions set advance_attempts = advance_attempts + 1,
			advance_at = clock.now + make_interval(secs => least(3600, 10 * 2 ^ least(advance_attempts, 9)))
		from clock where company_id = $1 and id = any($2) and advance_at <= clock.now`

	planAdvanceSQL = `update subscriptions set next_at = $3, advance_at = $3, advance_attempts = 0 where company_id = $1 and id = $2`

	overdueSQL = `select n.renewals, n.renewal_age, s.syncs + l.syncs as syncs, greatest(s.sync_age, l.sync_age) as sync_age
		from (select count(*) as renewals, coalesce(extract(epoch from $1 - min(next_at)), 0)::float8 as renewal_age
				from (select next_at from subscriptions where next_at <= $1 order by next_at limit $2) n) n,
			(select count(*) as syncs, coalesce(extract(epoch from $1 - min(pass_sync_since)), 0)::float8 as sync_age
				from (select pass_sync_since from subscriptions where pass_sync_since <= $1 order by pass_sync_since limit $2) s) s,
			(select count(*) as syncs, coalesce(extract(epoch from $1 - min(pass_sync_since)), 0)::float8 as sync_age
				from (select pass_sync_since from plans where pass_sync_due is not null and pass_sync_since <= $1 limit $2) l) l`

	// overdueMost limits the rows that a sample counts.
	overdueMost = 20000
)

// dueWork reports which kinds of work there are.
type dueWork struct {
	Steps, Passes, Plans bool
	Moved                bool // companies with another zone
}

// due looks for work that is due at the real time now.
func (s *store) due(ctx context.Context, now time.Time) (d dueWork, err error) {
	err = s.readAll(ctx, pg.Query{SQL: dueSQL, Args: []any{now}, Scan: pg.First(&d.Steps, &d.Passes, &d.Plans, &d.Moved)})
	return d, err
}

// owned is a row of a company.
type owned[T any] struct {
	Company id.Company
	ID      T
}

func scanOwned[T any](out *[]owned[T]) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var o owned[T]
		err := rows.Scan(&o.Company, &o.ID)
		*out = append(*out, o)
		return err
	})
}

// dueSubscriptions returns subscriptions whose next step is due, up to limit.
func (s *store) dueSubscriptions(ctx context.Context, now time.Time, limit int) (due []owned[id.Subscription], err error) {
	err = s.readAll(ctx, pg.Query{SQL: dueSubscriptionsSQL, Args: []any{now, limit}, Scan: scanOwned(&due)})
	return due, err
}

// delayAdvance lets a job wait before it tries the next steps of subscriptions again: ten seconds, and twice as long
// after each further failure, up to an hour. now is the real time.
func (s *store) delayAdvance(ctx context.Context, company id.Company, subscriptions []id.Subscription, now time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, delayAdvanceSQL, company, subscriptions, now)
		return err
	})
}

// planAdvance stores when the next step of a locked subscription is due, when tx commits.
func (s *store) planAdvance(tx *pg.Tx, company id.Company, r *model.Record) {
	tx.Queue(pg.Query{SQL: planAdvanceSQL, Args: []any{company, r.ID, r.NextAt}})
}

// overdueWork is the number and age of steps and states that are late. Ages are in seconds.
type overdueWork struct {
	Renewals   int64   `db:"renewals"`
	RenewalAge float64 `db:"renewal_age"`
	Syncs      int64   `db:"syncs"`
	SyncAge    float64 `db:"sync_age"`
}

// overdue counts overdue work at now, up to a limit for each number.
func (s *store) overdue(ctx context.Context, now time.Time) (overdueWork, error) {
	o, err := pg.One[overdueWork](ctx, s.DB, pg.AllCompanies(), overdueSQL, now, overdueMost)
	return o, s.Fault(err)
}
