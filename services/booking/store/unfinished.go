package store

import (
	"context"
	"time"

	"reservation.dev/platform/pg"
)

// unfinishedMost bounds what a sample counts.
const unfinishedMost = 20000

// unfinishedSQL walks the index of transactions that have places and are not
// confirmed, which is as long as there are such, and no longer.
const unfinishedSQL = `select count(*) filter (where status = 'held') as holds,
		coalesce(extract(epoch from $1 - min(expires_at) filter (where status = 'held')), 0)::float8 as overdue,
		count(*) filter (where status <> 'held') as pending,
		coalesce(extract(epoch from $1 - min(purchased_at) filter (where status <> 'held')), 0)::float8 as age,
		(select count(*) from (select from credit_returns order by due_at limit $2) r) as owed
	from (select status, expires_at, purchased_at from transactions
		where status in ('held', 'pending', 'undoing') order by expires_at limit $2) t`

// UnfinishedWork is what has places and is not confirmed, and what is owed.
type UnfinishedWork struct {
	Holds   int64
	Overdue float64 // seconds since the first hold should have been released
	Pending int64   // purchases by pass
	Age     float64 // of the oldest of them, seconds
	Owed    int64   // bookings whose credits are owed to a pass
}

// Unfinished counts what is unfinished at now, up to a limit each.
func (s *Store) Unfinished(ctx context.Context, now time.Time) (UnfinishedWork, error) {
	return pg.One[UnfinishedWork](ctx, s.DB, pg.AllCompanies(), unfinishedSQL, now, unfinishedMost)
}
