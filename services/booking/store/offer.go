package store

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	readDatesSQL = `select d.id, d.starts_at, d.timezone, d.duration_minutes, d.status, d.capacity, d.booked, d.event_id,
			d.appointment_id is not null
		from event_dates d where d.company_id = $1 and d.id` + pg.AmongIDs + ` order by d.id`

	LockDatesSQL = readDatesSQL + ` for no key update of d`

	lockFreeDatesSQL = LockDatesSQL + ` skip locked`

	existingDatesSQL = `select d.id from event_dates d join events e on e.company_id = d.company_id and e.id = d.event_id and e.deleted_at is null
		where d.company_id = $1 and d.id` + pg.AmongIDs

	existingCodesSQL = `select lower(code) from discount_codes where company_id = $1 and lower(code) = any($2)`

	// OfferedEventsSQL reads the events of dates with their pricing options. Each lateral join is
	// evaluated once per event, even if the planner has no statistics of the tables.
	OfferedEventsSQL = `select e.*, o.*
		from (select distinct d.event_id from event_dates d where d.company_id = $1 and d.id` + pg.AmongIDs + `) n
		cross join lateral (select e.id, e.title, e.type, e.status, ` + rulesColumns + `
			from events e where e.company_id = $1 and e.id = n.event_id and e.deleted_at is null offset 0) e
		left join lateral (select o.id, o.name, o.price, o.currency, o.credits, o.tax_rate_basis_points, o.whole_course,
				coalesce(o.length_minutes, 0), o.ended_at is not null
			from pricing_options o where o.company_id = $1 and o.event_id = n.event_id offset 0) o on true`

	courseDatesSQL = `select d.event_id, d.id, d.starts_at from event_dates d
		where d.company_id = $1 and d.event_id` + pg.AmongIDs + ` and d.status = 'scheduled'`

	KnownCustomersSQL = `select id, first_name, last_name, email, deleted_at is not null as deleted
		from customers where company_id = $1 and id` + pg.AmongIDs + ` order by id for key share`
)

// LockOffer reads the offer for orders, after it has run first. It locks the dates until the end of
// tx, and no deletion of the customers is confirmed before then.
//
// The events are read after the dates are locked. A change of the status, the time zone or the booking
// rules of an event locks the event's dates, so the change is committed before the events are read, or
// it waits until tx ends. Pricing options, and dates that are added to a course, need no lock.
func (s *Store) LockOffer(ctx context.Context, tx *pg.Tx, company id.Company, d model.Demand, first ...pg.Query) (*model.Offer, error) {
	d.Distinct()
	of := newOffer()
	if err := tx.Pipeline(ctx, append(first, offered(company, d, of, LockDatesSQL, lockCodesSQL)...)...); err != nil {
		return of, err
	}
	return of, s.readAttendees(ctx, tx, company, of, d)
}

// Locked is what another process has locked.
type Locked struct {
	Dates []id.EventDate
	Codes []string // in lower case
}

// LockFreeOffer is LockOffer, except that it does not wait for codes that are locked, and for dates
// only if waitForDates is set. It leaves them out of the offer and returns them.
func (s *Store) LockFreeOffer(ctx context.Context, tx *pg.Tx, company id.Company, d model.Demand, waitForDates bool, first ...pg.Query) (of *model.Offer, locked Locked, err error) {
	d.Distinct()
	of = newOffer()
	lockDates := lockFreeDatesSQL
	if waitForDates {
		lockDates = LockDatesSQL
	}
	err = tx.Pipeline(ctx, append(first, offered(company, d, of, lockDates, lockCodesSQL+` skip locked`)...)...)
	if err != nil {
		return of, locked, err
	}
	var existing []pg.Query
	if dates := slices.DeleteFunc(d.Dates, func(date id.EventDate) bool { return of.Dates[date] != nil }); len(dates) > 0 && !waitForDates {
		existing = append(existing, pg.Query{SQL: existingDatesSQL, Args: []any{company, dates}, Scan: pg.Collect(&locked.Dates)})
	}
	if codes := slices.DeleteFunc(d.Codes, func(code string) bool { return of.Codes[code] != nil }); len(codes) > 0 {
		existing = append(existing, pg.Query{SQL: existingCodesSQL, Args: []any{company, codes}, Scan: pg.Collect(&locked.Codes)})
	}
	if len(existing) > 0 {
		err = tx.Pipeline(ctx, existing...)
	}
	if err == nil {
		err = s.readAttendees(ctx, tx, company, of, d)
	}
	return of, locked, err
}

func newOffer() *model.Offer {
	return &model.Offer{
		Dates: map[id.EventDate]*model.OfferedDate{}, Options: map[id.Event][]model.PricingOption{}, Ended: map[id.Event][]model.PricingOption{},
		Customers: map[id.Customer]model.KnownCustomer{}, Codes: map[string]*model.DiscountCode{},
		Courses: map[id.Event][]model.CourseDate{},
	}
}

// offered returns the queries that read an offer and lock its dates and codes.
func offered(company id.Company, d model.Demand, of *model.Offer, lockDates, lockCodes string) []pg.Query {
	queries := []pg.Query{{SQL: KnownCustomersSQL, Args: []any{company, d.Customers}, Scan: pg.Each(func(rows pgx.Rows) error {
		var c model.KnownCustomer
		if err := scanCustomer(rows, &c); err != nil {
			return err
		}
		of.Customers[c.ID] = c
		return nil
	})}}
	if len(d.Dates) > 0 {
		queries = append(queries, datedOffer(company, d, of, lockDates)...)
	}
	if len(d.Courses) > 0 {
		queries = append(queries, pg.Query{SQL: courseDatesSQL, Args: []any{company, d.Courses}, Scan: scanCourseDates(of)})
	}
	if len(d.Codes) > 0 {
		queries = append(queries, pg.Query{SQL: lockCodes, Args: []any{company, d.Codes}, Scan: scanOfferedCodes(of)})
	}
	return queries
}

// datedOffer returns the queries that read dates and their events.
func datedOffer(company id.Company, d model.Demand, of *model.Offer, dates string) []pg.Query {
	return []pg.Query{
		{SQL: dates, Args: []any{company, d.Dates}, Scan: scanOfferedDates(of)},
		{SQL: OfferedEventsSQL, Args: []any{company, d.Dates}, Scan: scanOfferedEvents(of)},
	}
}

// Offer reads the dates of an offer, and who cannot book them again, without locks.
func (s *Store) Offer(ctx context.Context, company id.Company, d model.Demand) (*model.Offer, error) {
	d.Distinct()
	of := newOffer()
	err := s.ReadOf(ctx, company, datedOffer(company, d, of, readDatesSQL)...)
	if dates := of.OncePerCustomer(); err == nil && len(dates) > 0 {
		err = s.ReadOf(ctx, company, attendeesOf(company, of, dates, d))
	}
	return of, err
}

func scanOfferedDates(of *model.Offer) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var d model.OfferedDate
		err := rows.Scan(&d.ID, &d.StartsAt, &d.Timezone, &d.Minutes, &d.Status, &d.Capacity, &d.Booked, &d.Event, &d.OfAppointment)
		of.Dates[d.ID] = &d
		return err
	})
}

// scanOfferedEvents completes the dates with their events, and removes those of deleted events.
func scanOfferedEvents(of *model.Offer) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		events := map[id.Event]*model.OfferedDate{} // with the members of the event only
		err := pg.Each(func(rows pgx.Rows) error { return scanOfferedEvent(rows, of, events) })(rows)
		for which, d := range of.Dates {
			e := events[d.Event]
			if e == nil {
				delete(of.Dates, which)
				continue
			}
			d.EventTitle, d.EventType, d.EventStatus, d.Rules = e.EventTitle, e.EventType, e.EventStatus, e.Rules
		}
		return err
	}
}

// scanOfferedEvent scans an event with one of its options, and separates options on sale from ended
// options.
func scanOfferedEvent(rows pgx.Rows, of *model.Offer, events map[id.Event]*model.OfferedDate) error {
	var e model.OfferedDate
	var o struct {
		ID         id.PricingOption
		Name       *string
		Price      *int64
		Currency   *string
		Credits    *int32
		TaxRate    *int32
		Length     *int32
		Whole, End *bool
	}
	fields := append([]any{&e.Event, &e.EventTitle, &e.EventType, &e.EventStatus}, rulesFields(&e.Rules)...)
	err := rows.Scan(append(fields, &o.ID, &o.Name, &o.Price, &o.Currency, &o.Credits, &o.TaxRate, &o.Whole, &o.Length, &o.End)...)
	events[e.Event] = &e
	if err != nil || o.ID.IsZero() {
		return err
	}
	into := of.Options
	if *o.End {
		into = of.Ended
	}
	into[e.Event] = append(into[e.Event], model.PricingOption{
		ID: o.ID, Name: *o.Name, Price: *o.Price, Currency: *o.Currency, Credits: o.Credits, TaxRate: *o.TaxRate, WholeCourse: *o.Whole,
		Length: *o.Length,
	})
	return nil
}

func scanCourseDates(of *model.Offer) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var course id.Event
		var d model.CourseDate
		err := rows.Scan(&course, &d.ID, &d.StartsAt)
		of.Courses[course] = append(of.Courses[course], d)
		return err
	})
}

func scanOfferedCodes(of *model.Offer) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var c model.DiscountCode
		if err := scanDiscount(rows, &c); err != nil {
			return err
		}
		of.Codes[strings.ToLower(c.Code)] = &c
		return nil
	})
}

const onlyDatesSQL = `select e.id, d.id, e.of_appointments, e.type = 'course' and exists (select from pricing_options o
			where o.company_id = $1 and o.event_id = e.id and o.ended_at is null and o.whole_course)
		from unnest($2::uuid[]) n(id)
		join events e on e.company_id = $1 and e.id = n.id and e.deleted_at is null
		left join lateral (select d.id from event_dates d where d.company_id = $1 and d.event_id = e.id and d.status = 'scheduled'
			limit 2) d on true`

// OnlyDates returns the dates of events that lines without a date name. Concurrent requests for one
// event share round trips.
func (s *Store) OnlyDates(ctx context.Context, company id.Company, events []id.Event) (map[id.Event]model.UndatedEvent, error) {
	switch len(events) {
	case 0:
		return nil, nil
	case 1:
		found, _, err := s.dates.Get(ctx, company, events[0])
		return map[id.Event]model.UndatedEvent{events[0]: found}, err
	default:
		return s.readOnlyDates(ctx, company, events)
	}
}

func (s *Store) readOnlyDates(ctx context.Context, company id.Company, events []id.Event) (map[id.Event]model.UndatedEvent, error) {
	found := map[id.Event]model.UndatedEvent{}
	err := s.ReadOf(ctx, company, pg.Query{SQL: onlyDatesSQL, Args: []any{company, events}, Scan: pg.Each(func(rows pgx.Rows) error {
		var event id.Event
		var date id.EventDate
		var e model.UndatedEvent
		if err := rows.Scan(&event, &date, &e.OfAppointments, &e.IsCourse); err != nil {
			return err
		}
		e.Dates = append(found[event].Dates, date)
		found[event] = e
		return nil
	})})
	return found, err
}
