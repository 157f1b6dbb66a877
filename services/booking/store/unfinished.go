package store

import (
	"context"
	"time"

	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// unfinishedMost limits the rows that a sample counts.
const unfinishedMost = 20000

// unfinishedSQL walks the index of unconfirmed transactions that have spaces, which contains no
// other rows.
const unfinishedSQL = `select count(*) filter (where status = 'held') as holds,
		coalesce(extract(epoch from $1 - min(expires_at) filter (where status = 'held')), 0)::float8 as overdue,
		count(*) filter (where status <> 'held') as pending,
		coalesce(extract(epoch from $1 - min(purchased_at) filter (where status <> 'held')), 0)::float8 as age,
		(select count(*) from (select from credit_returns order by due_at limit $2) r) as owed,
		(select count(*) from (select state, due_at from credit_changes order by due_at limit $2) c
			where state <> 'taking' or due_at <= $1) as changes
	from (select status, expires_at, purchased_at from transactions
		where status in ('held', 'pending', 'undoing') order by expires_at limit $2) t`

// UnfinishedWork is the number and age of unconfirmed transactions, and the number of returns of credits that are owed.
type UnfinishedWork struct {
	Holds   int64
	Overdue float64 // seconds since the earliest expiry of a hold that is not released
	Pending int64   // purchases by pass
	Age     float64 // of the oldest pending purchase, in seconds
	Owed    int64   // bookings whose credits must be returned to a pass
	Changes int64   // moves that must return credits to a pass
}

// Unfinished counts unfinished work at now, up to a limit for each number.
func (s *Store) Unfinished(ctx context.Context, now time.Time) (UnfinishedWork, error) {
	return pg.One[UnfinishedWork](ctx, s.DB, pg.AllCompanies(), unfinishedSQL, now, unfinishedMost)
}

// DueSQL looks at the first entry of an index for each kind of work. An exists with a bound might read the
// whole table, if the planner expects that many rows are due.
const DueSQL = `select
	coalesce((select expires_at from transactions where status = 'held' order by expires_at limit 1) <= $1, false)
		or exists (select` + clocks + ` cross join lateral (select` + heldByClock + ` limit 1) t) as holds,
	exists (select from transactions where status in ('pending', 'undoing') and expires_at <= $1) as undoing,
	exists (select from credit_returns where due_at <= $1) as returns,
	exists (select from event_dates where promoting) or exists (select from waitlist_entries
		where state = 'waiting' and passed_over_reason = '` + model.PassedOverPassAway + `' and passed_over_at <= $2)
		or exists (select` + awayByClock + `) as promotions,
	coalesce((select closes_at from waitlist_entries where state = 'waiting' order by closes_at limit 1) <= $1, false)
		or exists (select` + clocks + ` cross join lateral (select` + waitingByClock + ` limit 1) w) as closings,
	coalesce((select due_at from credit_changes order by due_at limit 1) <= $1, false) as changes`

// DueWork reports which kinds of background work there are.
type DueWork struct {
	Holds      bool // that have expired
	Undoing    bool // purchases by pass that have timed out
	Returns    bool // credits that are owed
	Promotions bool // dates and entries of the waitlist that are tried again
	Closings   bool // waitlist entries whose dates have started
	Changes    bool // of credits, which moves left unfinished
}

// Due looks for work that is due at now. retry is when the passes of entries to try again could not be
// checked.
func (s *Store) Due(ctx context.Context, now, retry time.Time) (DueWork, error) {
	d, err := pg.One[DueWork](ctx, s.DB, pg.AllCompanies(), DueSQL, now, retry)
	return d, s.Fault(err)
}
