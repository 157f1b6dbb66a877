package store

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// The waiting entries of a date end when it starts or is cancelled. closes_at is the start of the date;
// an earlier release does not set it, so it can be too early.

const (
	ToCloseSQL = `(select distinct w.company_id, w.event_date_id from (select company_id, event_date_id from waitlist_entries
			where state = 'waiting' and closes_at <= $1 order by closes_at limit 20 * $2::integer) w limit $2)
		union (select w.company_id, w.event_date_id` + clocks + ` cross join lateral (
			select w.company_id, w.event_date_id` + waitingByClock + ` order by w.closes_at limit 20 * $2::integer) w
			group by 1, 2 order by random() limit $2)`

	lockClosingDateSQL = `select d.starts_at, d.status = 'cancelled' or e.deleted_at is not null
		from event_dates d join events e on e.company_id = d.company_id and e.id = d.event_id
		where d.company_id = $1 and d.id = $2 for no key update of d`

	setClosingSQL = `update waitlist_entries set closes_at = $3 where company_id = $1 and event_date_id = $2
		and state in ('waiting', 'booking') and closes_at <> $3`

	lockWaitingSQL = datedWaiters + ` and w.event_date_id = $2 and w.state = 'waiting' order by w.seq limit $3 for no key update of w`

	// Dates that change their start.
	MoveClosingSQL = `update waitlist_entries w set closes_at = n.starts_at from unnest($2::uuid[], $3::timestamptz[]) n(id, starts_at)
		where w.company_id = $1 and w.event_date_id = n.id and w.state in ('waiting', 'booking') and w.closes_at <> n.starts_at`
)

// ToClose returns dates whose waiting entries may have to be closed at now: up to limit by the real time,
// and up to limit by test clocks.
func (s *Store) ToClose(ctx context.Context, now time.Time, limit int) ([]OwnedDate, error) {
	var due []OwnedDate
	err := s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: ToCloseSQL, Args: []any{now, limit}, Scan: scanDatesOf(&due)})
	return due, s.Fault(err)
}

// LockToClose locks a date and the waiting entries to close, up to limit, in waitlist order. If the
// date takes place after now, it returns none, and corrects when they close.
func (s *Store) LockToClose(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate, now time.Time, limit int) (waiting []*model.WaitlistEntry, err error) {
	var startsAt time.Time
	gone := true
	err = tx.Pipeline(ctx, pg.Query{SQL: lockClosingDateSQL, Args: []any{company, date}, Scan: pg.First(&startsAt, &gone)})
	if err != nil {
		return nil, err
	}
	if !gone && now.Before(startsAt) {
		_, err = tx.Exec(ctx, setClosingSQL, company, date, startsAt)
		return nil, err
	}
	err = tx.Pipeline(ctx, pg.Query{SQL: lockWaitingSQL, Args: []any{company, date, limit}, Scan: scanWaiters(&waiting)})
	return waiting, err
}
