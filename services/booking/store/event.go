package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/recurrence"
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
			(company_id, id, event_id, position, name, price, currency, credits, tax_rate_basis_points, whole_course, length_minutes)
		select $1, n.id, n.event_id, n.position, n.name, n.price, n.currency, n.credits, n.tax_rate, n.whole_course, nullif(n.length, 0)
		from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::text[], $6::bigint[], $7::text[], $8::integer[], $9::integer[], $10::boolean[],
			$11::integer[]) n(id, event_id, position, name, price, currency, credits, tax_rate, whole_course, length)`
)

// offerings are the column values of events, dates and options to insert.
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
		whole      []bool
		lengths    []int32
	}
}

func (o *offerings) addEvent(e *model.Event, reference string) {
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

func (o *offerings) addDate(event id.Event, d *model.EventDate) {
	to := &o.dates
	to.ids = append(to.ids, d.ID)
	to.events = append(to.events, event)
	to.starts = append(to.starts, d.StartsAt)
	to.minutes = append(to.minutes, d.Minutes)
	to.timezones = append(to.timezones, d.Timezone)
	to.capacity = append(to.capacity, d.Capacity)
	to.booked = append(to.booked, d.Booked)
}

func (o *offerings) addOption(event id.Event, position int32, p *model.PricingOption) {
	to := &o.options
	to.ids = append(to.ids, p.ID)
	to.events = append(to.events, event)
	to.positions = append(to.positions, position)
	to.names = append(to.names, p.Name)
	to.prices = append(to.prices, p.Price)
	to.currencies = append(to.currencies, p.Currency)
	to.credits = append(to.credits, p.Credits)
	to.taxRates = append(to.taxRates, p.TaxRate)
	to.whole = append(to.whole, p.WholeCourse)
	to.lengths = append(to.lengths, p.Length)
}

// insert returns the statements that insert o. It omits tables without rows.
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
			p.ids, p.events, p.positions, p.names, p.prices, p.currencies, p.credits, p.taxRates, p.whole, p.lengths}})
	}
	return queries
}

const (
	// Columns that imported events do not have.
	completeEventSQL = `update events set recurrence_rule = $3, recurrence_start = $4, recurrence_exceptions = $5, staff_ids = $6, room_ids = $7`

	draftDatesSQL = `update event_dates set draft = $3 where company_id = $1 and event_id = $2 and draft <> $3`
)

// InsertEvent stores an event with its dates and options, and the staffing of its dates; nil if nobody is
// assigned.
func (s *Store) InsertEvent(ctx context.Context, tx *pg.Tx, company id.Company, e *model.Event, f *model.Staffing) error {
	var o offerings
	o.addEvent(e, "")
	for i := range e.Dates {
		o.addDate(e.ID, &e.Dates[i])
	}
	for i := range e.Options {
		o.addOption(e.ID, int32(i), &e.Options[i])
	}
	queries := o.insert(company, e.CreatedAt)
	if r := e.Recurrence; r != nil || e.Policy != (model.CancellationPolicy{}) || e.Rules != (model.BookingRules{}) ||
		len(e.StaffAndRooms.Staff)+len(e.StaffAndRooms.Rooms) > 0 {
		complete := pg.Statement{SQL: completeEventSQL, Args: []any{company, e.ID, nil, nil, nil, orEmpty(e.StaffAndRooms.Staff), orEmpty(e.StaffAndRooms.Rooms)}}
		if r != nil {
			complete.Args[2], complete.Args[3], complete.Args[4] = r.Rule, r.Start, append([]string{}, r.Exceptions...)
		}
		setPolicy(&complete, e.Policy)
		setRules(&complete, &e.Rules)
		complete.SQL += ` where company_id = $1 and id = $2`
		queries = append(queries, pg.Query{SQL: complete.SQL, Args: complete.Args})
	}
	if e.Status == model.Draft {
		queries = append(queries, pg.Query{SQL: draftDatesSQL, Args: []any{company, e.ID, true}})
	}
	return tx.Pipeline(ctx, append(queries, assign(company, f)...)...)
}

const (
	eventColumns = `e.id, e.title, e.description, e.type, e.status, e.timezone, e.location, e.version,
		e.created_at, e.updated_at,
		coalesce(e.recurrence_rule, ''), coalesce(e.recurrence_start, ''), e.recurrence_exceptions,
		e.staff_ids, e.room_ids, e.of_appointments, ` + policyColumns + `, ` + rulesColumns

	eventSQL = `select ` + eventColumns + ` from events e where e.company_id = $1 and e.id = $2 and e.deleted_at is null`

	// An event of appointments without dates is not shown, because it has no start.
	listedEventSQL = eventSQL + ` and e.listed`

	publishedEventSQL = listedEventSQL + ` and e.status = 'published' and not e.of_appointments`

	lockEventSQL = eventSQL + ` for no key update`

	dateColumns = `d.event_id, d.id, d.starts_at, d.duration_minutes, d.timezone, d.capacity, d.booked, d.status`

	// Events of appointments have any number of dates, so nothing reads them all. The last condition does not
	// depend on the date, so PostgreSQL checks it once, before it reads any.
	ofOneEvent = ` from event_dates d where d.company_id = $1 and d.event_id` + pg.AmongIDs + ` and d.appointment_id is null
		and not exists (select from events e where e.company_id = $1 and e.id` + pg.AmongIDs + ` and e.of_appointments)`

	DatesSQL = `select ` + dateColumns + ofOneEvent + ` order by d.event_id, d.starts_at, d.id`

	LockEventDatesSQL = `select ` + dateColumns + ofOneEvent + ` order by d.id for no key update`

	lockEventDateSQL = `select ` + dateColumns + ` from event_dates d
		where d.company_id = $1 and d.id = $2 for no key update`

	eventOfDateSQL = `select d.event_id from event_dates d where d.company_id = $1 and d.id = $2`

	optionsSQL = `select event_id, id, name, price, currency, credits, tax_rate_basis_points, whole_course, coalesce(length_minutes, 0)
		from pricing_options where company_id = $1 and event_id` + pg.AmongIDs + ` and ended_at is null order by event_id, position, id`
)

// EventView is the part of an event to read, and the present, which divides its dates.
type EventView struct {
	MaxDates  int  // 0: all dates
	Published bool // only an event that is published, and not of appointments
	Now       time.Time
}

// Event reads one event with its dates, their summary, and its options in one round trip.
func (s *Store) Event(ctx context.Context, company id.Company, e id.Event, v EventView) (*model.Event, error) {
	event, dates := listedEventSQL, DatesSQL
	if v.Published {
		event = publishedEventSQL
	}
	if v.MaxDates > 0 {
		dates = ""
	}
	var found foundEvents
	queries := append(found.queries(company, e, event, dates), found.summarize(company, []id.Event{e}, v.Now))
	if v.MaxDates > 0 {
		queries = append(queries, found.shownDates(company, []id.Event{e}, v.Now, v.MaxDates))
	} else {
		queries = append(queries, found.shownAppointments(company, []id.Event{e}, v.Now))
	}
	if err := s.ReadOf(ctx, company, queries...); err != nil {
		return nil, err
	}
	return found.only()
}

// EventInTx is Event with at most model.ShownDates dates, within tx.
func (s *Store) EventInTx(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event, now time.Time) (*model.Event, error) {
	var found foundEvents
	queries := append(found.queries(company, e, eventSQL, ""), found.summarize(company, []id.Event{e}, now),
		found.shownDates(company, []id.Event{e}, now, model.ShownDates))
	if err := tx.Pipeline(ctx, queries...); err != nil {
		return nil, err
	}
	return found.only()
}

// LockEvent reads an event with its dates and options, and locks it until the end of tx. An event of
// appointments is returned without dates.
func (s *Store) LockEvent(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event) (*model.Event, error) {
	return s.lockedEvent(ctx, tx, company, e, DatesSQL)
}

// LockEventAndDates does what LockEvent does and also locks the dates, so that their booked spaces do not
// change. It neither reads nor locks the dates of an event of appointments.
func (s *Store) LockEventAndDates(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event) (*model.Event, error) {
	return s.lockedEvent(ctx, tx, company, e, LockEventDatesSQL)
}

func (s *Store) lockedEvent(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event, dates string) (*model.Event, error) {
	var found foundEvents
	if err := tx.Pipeline(ctx, found.queries(company, e, lockEventSQL, dates)...); err != nil {
		return nil, err
	}
	return found.only()
}

// foundEvents are events with their options and dates.
type foundEvents struct {
	events  []model.Event
	dates   map[id.Event][]model.EventDate
	options map[id.Event][]model.PricingOption
	summary map[id.Event]*model.Summary
}

func (f *foundEvents) queries(company id.Company, e id.Event, event, dates string) []pg.Query {
	return append([]pg.Query{{SQL: event, Args: []any{company, e}, Scan: scanEvents(&f.events)}},
		f.parts(company, []id.Event{e}, dates)...)
}

// parts returns the queries for the options of events and, unless dates is "", for their dates.
func (f *foundEvents) parts(company id.Company, events []id.Event, dates string) []pg.Query {
	f.dates, f.options = map[id.Event][]model.EventDate{}, map[id.Event][]model.PricingOption{}
	queries := []pg.Query{{SQL: optionsSQL, Args: []any{company, events}, Scan: scanOptions(f.options)}}
	if dates != "" {
		queries = append(queries, pg.Query{SQL: dates, Args: []any{company, events}, Scan: scanDates(f.dates)})
	}
	return queries
}

// summarize returns the query for the summaries of events.
func (f *foundEvents) summarize(company id.Company, events []id.Event, now time.Time) pg.Query {
	f.summary = map[id.Event]*model.Summary{}
	return summaries(company, events, now, f.summary)
}

// shownDates returns the query for the dates of events that are to come, or the last ones.
func (f *foundEvents) shownDates(company id.Company, events []id.Event, now time.Time, most int) pg.Query {
	return pg.Query{SQL: ShownDatesSQL, Args: []any{company, events, now, most}, Scan: scanDates(f.dates)}
}

// shownAppointments returns the query for the dates that events of appointments show where other events show
// all of theirs.
func (f *foundEvents) shownAppointments(company id.Company, events []id.Event, now time.Time) pg.Query {
	return pg.Query{SQL: shownAppointmentsSQL, Args: []any{company, events, now, model.ShownDates}, Scan: scanDates(f.dates)}
}

// join sets the options, dates and summary of every event, dates by start.
func (f *foundEvents) join() []model.Event {
	for i := range f.events {
		e := &f.events[i]
		e.Dates, e.Options, e.Summary = f.dates[e.ID], f.options[e.ID], f.summary[e.ID]
		model.SortDates(e.Dates)
	}
	return f.events
}

func (f *foundEvents) only() (*model.Event, error) {
	if len(f.events) == 0 {
		return nil, fault.Missing("event")
	}
	return &f.join()[0], nil
}

// eventOfDate returns the event of a date.
func (s *Store) eventOfDate(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) (e id.Event, err error) {
	err = tx.QueryRow(ctx, eventOfDateSQL, company, date).Scan(&e)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fault.Missing("event date")
	}
	return e, err
}

// LockDate reads a date and its event with its options, without its other dates, and locks the date and
// the event until the end of tx. Like every other statement, it locks the event first.
func (s *Store) LockDate(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate) (*model.Event, error) {
	event, err := s.eventOfDate(ctx, tx, company, date)
	if err != nil {
		return nil, err
	}
	var found foundEvents
	found.dates, found.options = map[id.Event][]model.EventDate{}, map[id.Event][]model.PricingOption{}
	err = tx.Pipeline(ctx,
		pg.Query{SQL: lockEventSQL, Args: []any{company, event}, Scan: scanEvents(&found.events)},
		pg.Query{SQL: lockEventDateSQL, Args: []any{company, date}, Scan: scanDates(found.dates)},
		pg.Query{SQL: optionsSQL, Args: []any{company, []id.Event{event}}, Scan: scanOptions(found.options)},
	)
	if err != nil {
		return nil, err
	}
	if len(found.events) == 0 {
		return nil, fault.Missing("event date")
	}
	return found.only()
}

func scanEvents(into *[]model.Event) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var e model.Event
		var r recurrence.Recurrence
		err := rows.Scan(append([]any{&e.ID, &e.Title, &e.Description, &e.Type, &e.Status, &e.Timezone, &e.Location,
			&e.Version, &e.CreatedAt, &e.UpdatedAt, &r.Rule, &r.Start, &r.Exceptions,
			&e.StaffAndRooms.Staff, &e.StaffAndRooms.Rooms, &e.OfAppointments},
			append(policyFields(&e.Policy), rulesFields(&e.Rules)...)...)...)
		if r.Rule != "" {
			e.Recurrence = &r
		}
		*into = append(*into, e)
		return err
	})
}

func scanOptions(into map[id.Event][]model.PricingOption) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var event id.Event
		var o model.PricingOption
		err := rows.Scan(&event, &o.ID, &o.Name, &o.Price, &o.Currency, &o.Credits, &o.TaxRate, &o.WholeCourse, &o.Length)
		into[event] = append(into[event], o)
		return err
	})
}

func scanDates(into map[id.Event][]model.EventDate) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var event id.Event
		var d model.EventDate
		err := rows.Scan(&event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status)
		into[event] = append(into[event], d)
		return err
	})
}
