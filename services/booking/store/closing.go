package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	closingOfEventSQL = `select d.id from event_dates d where d.company_id = $1 and d.event_id = $2 and d.closing order by d.id`

	// In random order, so that a date that cannot be finished does not delay the others.
	closingsSQL = `select company_id, id from event_dates where closing order by random() limit 1000`

	openedSQL = `update event_dates set closing = false, closing_reason = null
		where company_id = $1 and id = $2 and closing and booked = 0`

	setClosingReasonSQL = `update event_dates set closing_reason = $3
		where company_id = $1 and id = any($2) and closing and closing_reason is null`

	closingReasonSQL = `select coalesce(closing_reason, '') from event_dates where company_id = $1 and id = $2`
)

// OwnedDate is a date with its company.
type OwnedDate struct {
	Company id.Company
	Date    id.EventDate
}

func scanDatesOf(into *[]OwnedDate) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var d OwnedDate
		err := rows.Scan(&d.Company, &d.Date)
		*into = append(*into, d)
		return err
	})
}

// ClosingOf returns the dates of an event that must still be emptied.
func (s *Store) ClosingOf(ctx context.Context, company id.Company, e id.Event) (dates []id.EventDate, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: closingOfEventSQL, Args: []any{company, e}, Scan: pg.Collect(&dates)})
	return dates, err
}

// Closings returns the closed dates of all companies that must still be emptied.
func (s *Store) Closings(ctx context.Context) (all []OwnedDate, err error) {
	err = s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: closingsSQL, Scan: scanDatesOf(&all)})
	return all, s.Fault(err)
}

// EmptyingLock says what to do with a date that another process is emptying.
type EmptyingLock string

const (
	WaitForOthers EmptyingLock = `select pg_advisory_xact_lock(hashtextextended('empty ' || $1::uuid::text, 0)) is not null`
	LeaveToOthers EmptyingLock = `select pg_try_advisory_xact_lock(hashtextextended('empty ' || $1::uuid::text, 0))`
)

// LockEmptying locks a date for emptying until the end of tx. It reports whether tx has the lock.
func (s *Store) LockEmptying(ctx context.Context, tx *pg.Tx, date id.EventDate, l EmptyingLock) (locked bool, err error) {
	err = tx.QueryRow(ctx, string(l), date).Scan(&locked)
	return locked, err
}

// SetClosingReason stores why dates are cancelled that tx has closed.
func (s *Store) SetClosingReason(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate, reason string) error {
	if reason == "" || len(dates) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, setClosingReasonSQL, company, dates, reason)
	return err
}

// ClosingReason returns why a closed date is cancelled; "" if no reason was given.
func (s *Store) ClosingReason(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) (reason string, err error) {
	err = tx.QueryRow(ctx, closingReasonSQL, company, date).Scan(&reason)
	return reason, err
}

// FinishClosing removes the mark of a date that is empty.
func (s *Store) FinishClosing(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) error {
	_, err := tx.Exec(ctx, openedSQL, company, date)
	return err
}
