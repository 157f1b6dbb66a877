package booking

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// An import runs through few statements, each over the whole batch: what is
// there is read and locked, the plan is made in memory, and the rows are written.

const (
	// One import of a company at a time, so that two that carry the same
	// references cannot both find them missing.
	lockImportsSQL = `select pg_advisory_xact_lock(hashtextextended('import ' || $1::uuid::text, 0))`

	existingSQL = `select reference, id from transactions where company_id = $1 and reference = any($2)`

	// Events by reference, and those of the dates that are named. The lock keeps
	// others from adding dates to them meanwhile.
	lockEventsSQL = `select e.id, coalesce(e.reference, '') from events e
		where e.company_id = $1 and e.deleted_at is null and e.id in (
			select id from events where company_id = $1 and reference = any($2)
			union select event_id from event_dates where company_id = $1 and id = any($3))
		order by e.id for no key update of e`

	// The dates that are named, and those that events have at the given starts.
	lockImportDatesSQL = `select d.id, d.event_id, d.starts_at, d.capacity, d.booked from event_dates d
		where d.company_id = $1 and d.id in (
			select n.id from event_dates n where n.company_id = $1 and n.id = any($2)
				and (select e.deleted_at from events e where e.company_id = $1 and e.id = n.event_id) is null
			union select k.id from unnest($3::uuid[], $4::timestamptz[]) n(event_id, starts_at)
				cross join lateral (select id from event_dates
					where company_id = $1 and event_id = n.event_id and starts_at = n.starts_at offset 0) k)
		order by d.id for no key update of d`

	// Nobody confirms the deletion of a customer before the import has committed.
	importCustomersSQL = `select id, deleted_at is not null from customers
		where company_id = $1 and id = any($2) order by id for key share`

	importOptionsSQL = `select event_id, id, name, position from pricing_options
		where company_id = $1 and event_id = any($2) order by ended_at is null` // of one name, what is sold counts
)

// openLedger fills l with what is in place of all that lines refer to, locked
// until the end of tx.
func (s *store) openLedger(ctx context.Context, tx *pg.Tx, l *ledger, lines []*imported) error {
	var references, eventReferences []string
	var dates []id.EventDate
	for _, t := range lines {
		references = append(references, t.reference)
		for i := range t.bookings {
			if b := &t.bookings[i]; b.described != nil {
				eventReferences = append(eventReferences, b.described.eventReference)
			} else {
				dates = append(dates, b.date)
			}
		}
	}
	slices.Sort(eventReferences)
	eventReferences, dates = slices.Compact(eventReferences), distinct(dates)

	var events []id.Event
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockImportsSQL, Args: []any{l.company}},
		pg.Query{SQL: existingSQL, Args: []any{l.company, references}, Scan: pg.Each(func(rows pgx.Rows) error {
			var reference string
			var t id.Transaction
			err := rows.Scan(&reference, &t)
			l.existing[reference] = t
			return err
		})},
		pg.Query{SQL: lockEventsSQL, Args: []any{l.company, eventReferences, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
			var e importEvent
			if err := rows.Scan(&e.id, &e.reference); err != nil {
				return err
			}
			events = append(events, e.id)
			if e.reference != "" {
				l.events[e.reference] = &e
			}
			return nil
		})},
		pg.Query{SQL: importCustomersSQL, Args: []any{l.company, slices.Collect(maps.Values(l.customers))}, Scan: scanDeleted(l)},
	)
	if err != nil {
		return err
	}
	keyEvents, keyStarts := l.starting(lines)
	return tx.Pipeline(ctx,
		pg.Query{SQL: importOptionsSQL, Args: []any{l.company, events}, Scan: pg.Each(func(rows pgx.Rows) error {
			var o importOption
			err := rows.Scan(&o.event, &o.ID, &o.Name, &o.position)
			l.addOption(&o)
			return err
		})},
		pg.Query{SQL: lockImportDatesSQL, Args: []any{l.company, dates, keyEvents, keyStarts}, Scan: pg.Each(func(rows pgx.Rows) error {
			var d importDate
			err := rows.Scan(&d.ID, &d.eventID, &d.StartsAt, &d.Capacity, &d.Booked)
			l.addDate(&d)
			return err
		})},
	)
}

// scanDeleted removes customers of the lines that were deleted since the lines were
// read.
func scanDeleted(l *ledger) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var customer id.Customer
		var deleted bool
		err := rows.Scan(&customer, &deleted)
		if deleted {
			maps.DeleteFunc(l.customers, func(_ string, c id.Customer) bool { return c == customer })
		}
		return err
	})
}

// closeLedger writes what was planned, and the transactions of the plan.
func (s *store) closeLedger(ctx context.Context, tx *pg.Tx, l *ledger) error {
	var p purchases
	for i := range l.recorded {
		p.add(&l.recorded[i].Transaction, l.recorded[i].reference)
	}
	var o offerings
	for _, e := range l.events {
		if e.origin == wanted {
			o.addEvent(&Event{
				ID: e.id, Title: e.title, Type: e.eventType, Status: Published, Timezone: e.timezone,
			}, e.reference)
		}
	}
	spaces := takes{}
	for _, d := range l.dates {
		switch {
		case d.origin == wanted:
			d.Booked = d.takes
			o.addDate(d.eventID, &d.EventDate)
		case d.takes > 0:
			spaces[d.ID] = d.takes
		}
	}
	for _, op := range l.options {
		if op.origin == wanted {
			o.addOption(op.event, op.position, &op.PricingOption)
		}
	}
	queries := o.insert(l.company, l.now)
	if len(spaces) > 0 {
		queries = append(queries, spaces.update(l.company))
	}
	return tx.Pipeline(ctx, append(queries, p.insert(l.company, history)...)...)
}
