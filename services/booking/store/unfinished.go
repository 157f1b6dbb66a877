package store

import (
	"context"
	"time"

	"reservation.dev/platform/pg"
)

// unfinishedMost limits the rows that a sample counts.
const unfinishedMost = 20000

// unfinishedSQL walks the index of unconfirmed transactions that have spaces, which contains no
// other rows.
const unfinishedSQL = `select count(*) filter (where status = 'held') as holds,
		coalesce(extract(epoch from $1 - min(expires_at) filter (where status = 'held')), 0)::float8 as overdue,
		count(*) filter (where status <> 'held') as pending,
		coalesce(extract(epoch from $1 - min(purchased_at) filter (where status <> 'held')), 0)::float8 as age,
		(select count(*) from (select from credit_returns order by due_at limit $2) r) as owed
	from (select status, expires_at, purchased_at from transactions
		where status in ('held', 'pending', 'undoing') order by expires_at limit $2) t`

// UnfinishedWork is the number and age of unconfirmed transactions and owed credits.
type UnfinishedWork struct {
	Holds   int64
	Overdue float64 // seconds since the earliest expiry of a hold that is not released
	Pending int64   // purchases by pass
	Age     float64 // of the oldest pending purchase, in seconds
	Owed    int64   // bookings whose credits must be returned to a pass
}

// Unfinished counts unfinished work at now, up to a limit for each number.
func (s *Store) Unfinished(ctx context.Context, now time.Time) (UnfinishedWork, error) {
	return pg.One[UnfinishedWork](ctx, s.DB, pg.AllCompanies(), unfinishedSQL, now, unfinishedMost)
}
