package booking

import (
	"context"
	"maps"
	"slices"
	"time"

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
func openLedger(ctx context.Context, tx *pg.Tx, l *ledger, lines []*imported) error {
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
		pg.Query{SQL: lockImportsSQL, Args: []any{l.company.ID}},
		pg.Query{SQL: existingSQL, Args: []any{l.company.ID, references}, Scan: each(func(rows pgx.Rows) error {
			var reference string
			var t id.Transaction
			err := rows.Scan(&reference, &t)
			l.existing[reference] = t
			return err
		})},
		pg.Query{SQL: lockEventsSQL, Args: []any{l.company.ID, eventReferences, dates}, Scan: each(func(rows pgx.Rows) error {
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
		pg.Query{SQL: importCustomersSQL, Args: []any{l.company.ID, slices.Collect(maps.Values(l.customers))}, Scan: l.dropDeleted()},
	)
	if err != nil {
		return err
	}
	keyEvents, keyStarts := l.starting(lines)
	return tx.Pipeline(ctx,
		pg.Query{SQL: importOptionsSQL, Args: []any{l.company.ID, events}, Scan: each(func(rows pgx.Rows) error {
			var o importOption
			err := rows.Scan(&o.event, &o.ID, &o.Name, &o.position)
			l.addOption(&o)
			return err
		})},
		pg.Query{SQL: lockImportDatesSQL, Args: []any{l.company.ID, dates, keyEvents, keyStarts}, Scan: each(func(rows pgx.Rows) error {
			var d importDate
			err := rows.Scan(&d.ID, &d.eventID, &d.StartsAt, &d.Capacity, &d.Booked)
			l.addDate(&d)
			return err
		})},
	)
}

// dropDeleted forgets those customers of the lines who were deleted since the lines
// were read.
func (l *ledger) dropDeleted() func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var customer id.Customer
		var deleted bool
		err := rows.Scan(&customer, &deleted)
		if deleted {
			maps.DeleteFunc(l.customers, func(_ string, c id.Customer) bool { return c == customer })
		}
		return err
	})
}

// starting lists the events in place and the starts at which lines describe a
// date of theirs, each pair once.
func (l *ledger) starting(lines []*imported) (events []id.Event, starts []time.Time) {
	seen := map[dateKey]bool{}
	for _, t := range lines {
		for i := range t.bookings {
			d := t.bookings[i].described
			if d == nil {
				continue
			}
			event := l.events[d.eventReference]
			if event == nil {
				continue
			}
			key := dateKey{event.id, d.startsAt.Unix()}
			if !seen[key] {
				seen[key] = true
				events, starts = append(events, event.id), append(starts, time.Unix(key.second, 0))
			}
		}
	}
	return events, starts
}

// closeLedger writes what was planned.
func closeLedger(ctx context.Context, tx *pg.Tx, l *ledger, p *purchases) error {
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
	queries := o.insert(l.company.ID, l.now)
	if len(spaces) > 0 {
		queries = append(queries, spaces.update(l.company.ID))
	}
	return tx.Pipeline(ctx, append(queries, p.insert(l.company.ID, history)...)...)
}
