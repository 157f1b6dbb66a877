package booking

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	insertEventsSQL = `insert into events
			(company_id, id, reference, title, description, type, status, timezone, location, created_at, updated_at)
		select $1, n.id, n.reference, n.title, n.description, n.type, n.status, n.timezone, n.location, $2, $2
		from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
			n(id, reference, title, description, type, status, timezone, location)`

	countEventsSQL = `insert into event_totals (company_id, events) values ($1, $2)
		on conflict (company_id) do update set events = event_totals.events + excluded.events`

	insertDatesSQL = `insert into event_dates
			(company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked)
		select $1, n.id, n.event_id, n.starts_at, n.duration_minutes, n.timezone, n.capacity, n.booked
		from unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::integer[], $6::text[], $7::integer[], $8::integer[])
			n(id, event_id, starts_at, duration_minutes, timezone, capacity, booked)`

	insertOptionsSQL = `insert into pricing_options
			(company_id, id, event_id, position, name, price, currency, credits, tax_rate_basis_points)
		select $1, n.id, n.event_id, n.position, n.name, n.price, n.currency, n.credits, n.tax_rate
		from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::text[], $6::bigint[], $7::text[], $8::integer[], $9::integer[])
			n(id, event_id, position, name, price, currency, credits, tax_rate)`
)

// offerings are the columns of events, dates and options to be inserted.
type offerings struct {
	events struct {
		ids                                                         []id.Event
		references                                                  []*string
		titles, descriptions, types, statuses, timezones, locations []string
	}
	dates struct {
		ids       []id.EventDate
		events    []id.Event
		starts    []time.Time
		minutes   []int32
		timezones []string
		capacity  []*int32
		booked    []int32
	}
	options struct {
		ids        []id.PricingOption
		events     []id.Event
		positions  []int32
		names      []string
		prices     []int64
		currencies []string
		credits    []*int32
		taxRates   []int32
	}
}

func (o *offerings) addEvent(e *Event, reference string) {
	to := &o.events
	to.ids = append(to.ids, e.ID)
	to.references = append(to.references, orNull(reference))
	to.titles = append(to.titles, e.Title)
	to.descriptions = append(to.descriptions, e.Description)
	to.types = append(to.types, string(e.Type))
	to.statuses = append(to.statuses, string(e.Status))
	to.timezones = append(to.timezones, e.Timezone)
	to.locations = append(to.locations, e.Location)
}

func (o *offerings) addDate(event id.Event, d *EventDate) {
	to := &o.dates
	to.ids = append(to.ids, d.ID)
	to.events = append(to.events, event)
	to.starts = append(to.starts, d.StartsAt)
	to.minutes = append(to.minutes, d.Minutes)
	to.timezones = append(to.timezones, d.Timezone)
	to.capacity = append(to.capacity, d.Capacity)
	to.booked = append(to.booked, d.Booked)
}

func (o *offerings) addOption(event id.Event, position int32, p *PricingOption) {
	to := &o.options
	to.ids = append(to.ids, p.ID)
	to.events = append(to.events, event)
	to.positions = append(to.positions, position)
	to.names = append(to.names, p.Name)
	to.prices = append(to.prices, p.Price)
	to.currencies = append(to.currencies, p.Currency)
	to.credits = append(to.credits, p.Credits)
	to.taxRates = append(to.taxRates, p.TaxRate)
}

// insert returns the statements that store o; kinds without rows have none.
func (o *offerings) insert(company id.Company, now time.Time) []pg.Query {
	var queries []pg.Query
	if e := &o.events; len(e.ids) > 0 {
		queries = append(queries,
			pg.Query{SQL: insertEventsSQL, Args: []any{company, now, e.ids, e.references,
				e.titles, e.descriptions, e.types, e.statuses, e.timezones, e.locations}},
			pg.Query{SQL: countEventsSQL, Args: []any{company, len(e.ids)}})
	}
	if d := &o.dates; len(d.ids) > 0 {
		queries = append(queries, pg.Query{SQL: insertDatesSQL, Args: []any{company,
			d.ids, d.events, d.starts, d.minutes, d.timezones, d.capacity, d.booked}})
	}
	if p := &o.options; len(p.ids) > 0 {
		queries = append(queries, pg.Query{SQL: insertOptionsSQL, Args: []any{company,
			p.ids, p.events, p.positions, p.names, p.prices, p.currencies, p.credits, p.taxRates}})
	}
	return queries
}

// insertEvent stores an event with its dates and options.
func (s *store) insertEvent(ctx context.Context, tx *pg.Tx, company id.Company, e *Event) error {
	var o offerings
	o.addEvent(e, "")
	for i := range e.Dates {
		o.addDate(e.ID, &e.Dates[i])
	}
	for i := range e.Options {
		o.addOption(e.ID, int32(i), &e.Options[i])
	}
	return pipeline(ctx, tx, o.insert(company, e.CreatedAt)...)
}

const (
	lockEventSQL = `select ` + eventColumns + ` from events where company_id = $1 and id = $2 for no key update`

	raiseEventSQL = `update events set version = $3, updated_at = $4 where company_id = $1 and id = $2`
)

// lockEvent reads an event, without its dates and options, for a change in tx.
func (s *store) lockEvent(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event) (*Event, error) {
	var events []Event
	err := pipeline(ctx, tx, pg.Query{SQL: lockEventSQL, Args: []any{company, e}, Scan: scanEvents(&events)})
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, fault.Missing("event")
	}
	return &events[0], nil
}

// saveDates stores new dates of a locked event, and the event's new version.
func (s *store) saveDates(ctx context.Context, tx *pg.Tx, company id.Company, e *Event, dates []EventDate) error {
	var o offerings
	for i := range dates {
		o.addDate(e.ID, &dates[i])
	}
	return pipeline(ctx, tx, append(o.insert(company, e.UpdatedAt),
		pg.Query{SQL: raiseEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}})...)
}

const (
	eventColumns = `id, title, description, type, status, timezone, location, version, created_at, updated_at`

	eventSQL = `select ` + eventColumns + ` from events where company_id = $1 and id = $2`

	datesSQL = `select id, starts_at, duration_minutes, timezone, capacity, booked, status
		from event_dates where company_id = $1 and event_id = $2 order by starts_at, id`

	eventsPageSQL = `select ` + eventColumns + ` from events where company_id = $1 and id > $2 order by id limit $3`

	optionsSQL = `select event_id, id, name, price, currency, credits, tax_rate_basis_points
		from pricing_options where company_id = $1 and event_id = any($2) order by event_id, position`

	// The options of the very page that eventsPageSQL reads.
	optionsPageSQL = `select event_id, id, name, price, currency, credits, tax_rate_basis_points
		from pricing_options where company_id = $1 and event_id in (
			select id from events where company_id = $1 and id > $2 order by id limit $3)
		order by event_id, position`

	eventTotalSQL = `select events from event_totals where company_id = $1`
)

// event reads one event with all its dates and options in one round trip.
func (s *store) event(ctx context.Context, company id.Company, e id.Event) (*Event, error) {
	var events []Event
	var dates []EventDate
	options := map[id.Event][]PricingOption{}
	err := s.read(ctx, company,
		pg.Query{SQL: eventSQL, Args: []any{company, e}, Scan: scanEvents(&events)},
		pg.Query{SQL: datesSQL, Args: []any{company, e}, Scan: each(func(rows pgx.Rows) error {
			var d EventDate
			err := rows.Scan(&d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status)
			dates = append(dates, d)
			return err
		})},
		pg.Query{SQL: optionsSQL, Args: []any{company, []id.Event{e}}, Scan: scanOptions(options)},
	)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, fault.Missing("event")
	}
	events[0].Dates, events[0].Options = dates, options[e]
	return &events[0], nil
}

// eventsAfter reads a page of events by id, without their dates, and how many
// events the company has.
func (s *store) eventsAfter(ctx context.Context, company id.Company, after id.Event, limit int) (events []Event, total int64, err error) {
	options := map[id.Event][]PricingOption{}
	// The zero identifier would be NULL, and no id is after that.
	args := []any{company, [16]byte(after), limit}
	err = s.read(ctx, company,
		pg.Query{SQL: eventsPageSQL, Args: args, Scan: scanEvents(&events)},
		pg.Query{SQL: optionsPageSQL, Args: args, Scan: scanOptions(options)},
		pg.Query{SQL: eventTotalSQL, Args: []any{company}, Scan: each(func(rows pgx.Rows) error { return rows.Scan(&total) })},
	)
	for i := range events {
		events[i].Options = options[events[i].ID]
	}
	return events, total, err
}

func scanEvents(into *[]Event) func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var e Event
		err := rows.Scan(&e.ID, &e.Title, &e.Description, &e.Type, &e.Status, &e.Timezone, &e.Location,
			&e.Version, &e.CreatedAt, &e.UpdatedAt)
		*into = append(*into, e)
		return err
	})
}

func scanOptions(into map[id.Event][]PricingOption) func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var event id.Event
		var o PricingOption
		err := rows.Scan(&event, &o.ID, &o.Name, &o.Price, &o.Currency, &o.Credits, &o.TaxRate)
		into[event] = append(into[event], o)
		return err
	})
}
