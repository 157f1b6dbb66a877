package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// An import uses few statements, each for the whole batch: it reads and locks existing rows, plans
// in memory, and writes the new rows.

const (
	// Only one import of a company runs at a time, so that two imports with the same references
	// cannot both find them missing.
	lockImportsSQL = `select pg_advisory_xact_lock(hashtextextended('import ' || $1::uuid::text, 0))`

	existingSQL = `select reference, id from transactions where company_id = $1 and reference = any($2)`

	// Transactions whose identifiers are the references of lines: those of an exported file.
	identifiedSQL = `select id from transactions where company_id = $1 and id = any($2) and status = 'confirmed'`

	// ImportNamesSQL finds the dates of events with a title and a start, up to two for each.
	ImportNamesSQL = `select n.nth, d.id from unnest($2::text[], $3::timestamptz[]) with ordinality n(title, starts_at, nth)
		cross join lateral (select d.id from event_dates d join events e on e.company_id = d.company_id and e.id = d.event_id
			where d.company_id = $1 and d.starts_at = n.starts_at and e.deleted_at is null and lower(e.title) = lower(n.title)
			order by d.id limit 2) d`

	// Events by reference, and the events of identified dates. The lock prevents others from adding
	// dates to them during the import.
	lockEventsSQL = `select e.id, coalesce(e.reference, ''), e.title, e.type, e.timezone, e.version from events e
		where e.company_id = $1 and e.deleted_at is null and e.id in (
			select id from events where company_id = $1 and reference = any($2)
			union select event_id from event_dates where company_id = $1 and id = any($3))
		order by e.id for no key update of e`

	// Identified dates, and the dates that events have at the given starts.
	lockImportDatesSQL = `select d.id, d.event_id, d.starts_at, d.duration_minutes, d.timezone, d.capacity, d.booked, d.appointment_id is not null from event_dates d
		where d.company_id = $1 and d.id in (
			select n.id from event_dates n where n.company_id = $1 and n.id = any($2)
				and (select e.deleted_at from events e where e.company_id = $1 and e.id = n.event_id) is null
			union select k.id from unnest($3::uuid[], $4::timestamptz[]) n(event_id, starts_at)
				cross join lateral (select id from event_dates
					where company_id = $1 and event_id = n.event_id and starts_at = n.starts_at offset 0) k)
		order by d.id for no key update of d`

	// The deletion of a customer is not confirmed before the import has committed.
	importCustomersSQL = `select id, first_name, last_name, email, deleted_at is not null from customers
		where company_id = $1 and id = any($2) order by id for key share`

	ImportOptionsSQL = `select event_id, id, name, position, tax_rate_basis_points, ended_at is not null from pricing_options
		where company_id = $1 and event_id = any($2) order by ended_at is null` // options on sale come last and replace ended ones of the same name
)

// OpenImport fills l with the existing rows that lines refer to, and locks them until the end of
// tx.
func (s *Store) OpenImport(ctx context.Context, tx *pg.Tx, l *model.ImportPlan, lines []*model.ImportedTransaction) error {
	var references, eventReferences []string
	var transactions []id.Transaction
	var dates []id.EventDate
	for _, t := range lines {
		references = append(references, t.Reference)
		if which, err := id.Parse[id.Transaction](t.Reference); err == nil {
			transactions = append(transactions, which)
		}
		for i := range t.Bookings {
			if b := &t.Bookings[i]; b.Described != nil {
				eventReferences = append(eventReferences, b.Described.EventReference)
			} else if !b.Date.IsZero() {
				dates = append(dates, b.Date)
			}
		}
	}
	slices.Sort(eventReferences)
	eventReferences = slices.Compact(eventReferences)
	named, err := s.namedDates(ctx, tx, l, model.Names(lines))
	if err != nil {
		return err
	}
	dates = model.Distinct(append(dates, named...))

	var events []id.Event
	err = tx.Pipeline(ctx,
		pg.Query{SQL: lockImportsSQL, Args: []any{l.Company}},
		pg.Query{SQL: existingSQL, Args: []any{l.Company, references}, Scan: pg.Each(func(rows pgx.Rows) error {
			var reference string
			var t id.Transaction
			err := rows.Scan(&reference, &t)
			l.Existing[reference] = t
			return err
		})},
		pg.Query{SQL: identifiedSQL, Args: []any{l.Company, transactions}, Scan: pg.Each(func(rows pgx.Rows) error {
			var t id.Transaction
			err := rows.Scan(&t)
			l.Existing[t.String()] = t
			return err
		})},
		pg.Query{SQL: lockEventsSQL, Args: []any{l.Company, eventReferences, dates}, Scan: pg.Each(func(rows pgx.Rows) error {
			var e model.ImportEvent
			err := rows.Scan(&e.ID, &e.Reference, &e.Title, &e.EventType, &e.Timezone, &e.Version)
			events = append(events, e.ID)
			l.AddEvent(&e)
			return err
		})},
		pg.Query{SQL: importCustomersSQL, Args: []any{l.Company, slices.Collect(maps.Values(l.Customers))}, Scan: scanNames(l.Customers, l.Names)},
	)
	if err != nil {
		return err
	}
	keyEvents, keyStarts := l.Starting(lines)
	return tx.Pipeline(ctx,
		pg.Query{SQL: ImportOptionsSQL, Args: []any{l.Company, events}, Scan: pg.Each(func(rows pgx.Rows) error {
			var o model.ImportOption
			err := rows.Scan(&o.Event, &o.ID, &o.Name, &o.Position, &o.TaxRate, &o.Ended)
			l.AddOption(&o)
			return err
		})},
		pg.Query{SQL: lockImportDatesSQL, Args: []any{l.Company, dates, keyEvents, keyStarts}, Scan: pg.Each(func(rows pgx.Rows) error {
			var d model.ImportDate
			err := rows.Scan(&d.ID, &d.EventID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.OfAppointment)
			l.AddDate(&d)
			return err
		})},
	)
}

// namedDates fills the dates by name of l, and returns them.
func (s *Store) namedDates(ctx context.Context, tx *pg.Tx, l *model.ImportPlan, names []model.DateName) (dates []id.EventDate, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	titles, starts := make([]string, len(names)), make([]time.Time, len(names))
	for i, n := range names {
		titles[i], starts[i] = n.Title, time.Unix(n.Second, 0)
	}
	err = tx.Pipeline(ctx, pg.Query{SQL: ImportNamesSQL, Args: []any{l.Company, titles, starts}, Scan: pg.Each(func(rows pgx.Rows) error {
		var nth int
		var date id.EventDate
		err := rows.Scan(&nth, &date)
		if err == nil {
			l.DatesByName[names[nth-1]] = append(l.DatesByName[names[nth-1]], date)
			dates = append(dates, date)
		}
		return err
	})})
	return dates, err
}

// scanNames reads the names of customers, and removes those who were deleted after the lines were read.
func scanNames(customers map[string]id.Customer, names map[id.Customer]model.Customer) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var c model.KnownCustomer
		err := scanCustomer(rows, &c)
		if names[c.ID] = c.Customer; c.Deleted {
			maps.DeleteFunc(customers, func(_ string, named id.Customer) bool { return named == c.ID })
		}
		return err
	})
}

// CloseImport writes the rows and the transactions of the plan.
func (s *Store) CloseImport(ctx context.Context, tx *pg.Tx, l *model.ImportPlan) error {
	var p purchases
	for i := range l.Recorded {
		p.add(&l.Recorded[i].Transaction, l.Recorded[i].Reference)
	}
	var o offerings
	for _, e := range l.Events {
		if e.Origin == model.Used {
			o.addEvent(&model.Event{
				ID: e.ID, Title: e.Title, Type: e.EventType, Status: model.Published, Timezone: e.Timezone,
			}, e.Reference)
		}
	}
	spaces := takes{}
	for _, d := range l.Dates {
		switch {
		case d.Origin == model.Used:
			d.Booked = d.NewSpaces
			o.addDate(d.EventID, &d.EventDate)
		case d.NewSpaces > 0:
			spaces[d.ID] = d.NewSpaces
		}
	}
	for _, op := range l.Options {
		if op.Origin == model.Used {
			o.addOption(op.Event, op.Position, &op.PricingOption)
		}
	}
	queries := o.insert(l.Company, l.Now)
	if len(spaces) > 0 {
		queries = append(queries, spaces.update(l.Company))
	}
	return tx.Pipeline(ctx, append(queries, p.insert(l.Company, history)...)...)
}
