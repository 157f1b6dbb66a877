package booking

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store is every SQL statement of the service. Its methods with a tx run in the
// caller's transaction; the others make one round trip of their own.
type store struct {
	db *pg.DB
	// constraints are the faults of requests that only the database can see.
	constraints map[string]*fault.Error
	// dates reads of events which dates they have alone.
	dates *combine.Reads[id.Event, []id.EventDate]
}

func newStore(db *pg.DB) *store {
	s := &store{db: db, constraints: map[string]*fault.Error{
		"event_dates_start":      startTaken(),
		"discount_codes_by_code": codeTaken(),
		"waitlist_entries_once":  alreadyWaiting(),
		"event_dates_capacity":   fault.Refuse(ReasonEventFull, "the event does not have that many spaces left"),
	}}
	s.dates = combine.New(s.readOnlyDates)
	return s
}

// fault gives an error of the database its meaning for callers.
func (s *store) fault(err error) error { return pg.Fault(err, s.constraints) }

// inTx runs fn in one transaction of the company; fn must be repeatable.
func (s *store) inTx(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return s.fault(s.db.InTx(ctx, pg.For(company), fn))
}

// read runs queries of the company in one round trip.
func (s *store) read(ctx context.Context, company id.Company, queries ...pg.Query) error {
	return s.fault(s.db.Read(ctx, pg.For(company), queries...))
}

// each calls scan for every row.
func each(scan func(pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return nil
	}
}
