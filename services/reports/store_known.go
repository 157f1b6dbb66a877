package reports

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Each statement reads facts by an array of identifiers, $3. The sub-select keeps the plan of an array of any
// length.
const (
	amongIDs = ` = any((select $3::uuid[])::uuid[])`
	ofMine   = ` where company_id = $1 and generation = $2 and `

	knownEventsSQL = `select id, version, title, status from events` + ofMine + `id` + amongIDs

	// $4 are bookings, whose dates are read too.
	knownDatesSQL = `select id, version, event_id, day, capacity, is_cancelled from dates` + ofMine + `(id` + amongIDs + `
			or id in (select b.date_id from bookings b where b.company_id = $1 and b.generation = $2 and b.id = any((select $4::uuid[])::uuid[])))`

	knownBookingsSQL = `select id, version, event_id, date_id, customer_id, spaces, status, late, day from bookings` + ofMine + `id` + amongIDs

	knownMovementsSQL = `select booking_id, sequence, day, gross, net, currency, method, tax_rate from movements` + ofMine + `booking_id` + amongIDs

	knownPassesSQL = `select id, version, pass_type_id, customer_id, expires, remaining, assigned, is_unlimited, is_cancelled, of_subscription,
			paid, currency, method, created_on
		from customer_passes` + ofMine + `id` + amongIDs

	knownEntriesSQL = `select pass_id, sequence, kind, credits, day from ledger_entries` + ofMine + `pass_id` + amongIDs

	knownPassTypesSQL = `select id, version from pass_types` + ofMine + `id` + amongIDs

	knownPlansSQL = `select id, version from plans` + ofMine + `id` + amongIDs

	knownSubscribedSQL = `select subscription_id, period, account_entry from subscription_movements` + ofMine + `subscription_id` + amongIDs

	knownAttendanceSQL = `select date_id, booked, attended, no_shows, cancelled, cancelled_late from attendance` + ofMine + `date_id` + amongIDs

	// $4 are dates, whose customers are read too.
	amongChangedPeople = ` = any(array(select unnest($3::uuid[]) union select b.customer_id from bookings b
			where b.company_id = $1 and b.generation = $2 and b.date_id = any((select $4::uuid[])::uuid[])))`

	knownCustomersSQL = `select id, version, created_on, is_deleted from customers` + ofMine + `id` + amongChangedPeople

	activeDaysSQL = `select customer_id, day, bookings from active_days` + ofMine + `customer_id` + amongChangedPeople

	attendingSQL = `select id, customer_id, date_id from bookings` + ofMine + `date_id` + amongIDs + ` and day is null and status in ('confirmed', 'attended')`
)

// known reads what is known of the facts c.
func (s *store) known(ctx context.Context, tx *pg.Tx, company id.Company, generation int64, c *facts) (*known, error) {
	k := &known{facts: *newFacts(), attendance: map[id.EventDate]spaces{}, active: map[id.Customer]map[Day]int32{}}
	r := knownReader{company: company, generation: generation}
	bookings := slices.Collect(maps.Keys(c.bookings))
	dates := map[id.EventDate]bool{}
	for d := range c.dates {
		dates[d] = true
	}
	for _, b := range c.bookings {
		dates[b.date] = true
	}
	passes := slices.Collect(maps.Keys(c.passes))
	ask(&r, knownEventsSQL, slices.Collect(maps.Keys(c.events)), k.scanEvent)
	ask(&r, knownDatesSQL, slices.Collect(maps.Keys(dates)), k.scanDate, bookings)
	ask(&r, knownAttendanceSQL, slices.Collect(maps.Keys(c.dates)), k.scanAttendance)
	ask(&r, knownBookingsSQL, bookings, k.scanBooking)
	ask(&r, knownMovementsSQL, bookings, k.scanMovement)
	ask(&r, knownPassesSQL, passes, k.scanPass)
	ask(&r, knownEntriesSQL, passes, k.scanEntry)
	ask(&r, knownPassTypesSQL, slices.Collect(maps.Keys(c.passTypes)), k.scanPassType)
	ask(&r, knownPlansSQL, slices.Collect(maps.Keys(c.plans)), k.scanPlan)
	ask(&r, knownSubscribedSQL, subscriptionsOf(c), k.scanSubscribed)
	if err := tx.Pipeline(ctx, r.queries...); err != nil {
		return nil, err
	}
	r.queries = nil
	moved := k.moved(c)
	people := k.people(c)
	if len(moved) > 0 || len(people) > 0 {
		r.add(knownCustomersSQL, k.scanCustomer, people, moved)
		r.add(activeDaysSQL, k.scanActiveDay, people, moved)
	}
	ask(&r, attendingSQL, moved, k.scanAttending)
	if len(r.queries) == 0 {
		return k, nil
	}
	return k, tx.Pipeline(ctx, r.queries...)
}

// subscriptionsOf returns the subscriptions that have movements in c.
func subscriptionsOf(c *facts) []id.Subscription {
	all := map[id.Subscription]bool{}
	for key := range c.subscribed {
		all[key.subscription] = true
	}
	return slices.Collect(maps.Keys(all))
}

// knownReader collects the queries of one round trip.
type knownReader struct {
	company    id.Company
	generation int64
	queries    []pg.Query
}

func (r *knownReader) add(sql string, scan func(pgx.Rows) error, args ...any) {
	r.queries = append(r.queries, pg.Query{SQL: sql, Args: append([]any{r.company, r.generation}, args...), Scan: pg.Each(scan)})
}

// ask adds a query by identifiers unless there are none.
func ask[T any](r *knownReader, sql string, ids []T, scan func(pgx.Rows) error, more ...any) {
	if len(ids) > 0 {
		r.add(sql, scan, append([]any{ids}, more...)...)
	}
}

func (k *known) scanEvent(rows pgx.Rows) error {
	var e eventFact
	err := rows.Scan(&e.id, &e.version, &e.title, &e.status)
	k.events[e.id] = e
	return err
}

func (k *known) scanDate(rows pgx.Rows) error {
	var d dateFact
	err := rows.Scan(&d.id, &d.version, &d.event, &d.day, &d.capacity, &d.isCancelled)
	k.dates[d.id] = d
	return err
}

func (k *known) scanAttendance(rows pgx.Rows) error {
	var date id.EventDate
	var n spaces
	err := rows.Scan(&date, &n.booked, &n.attended, &n.noShows, &n.cancelled, &n.cancelledLate)
	k.attendance[date] = n
	return err
}

func (k *known) scanBooking(rows pgx.Rows) error {
	var b bookingFact
	err := rows.Scan(&b.id, &b.version, &b.event, &b.date, &b.customer, &b.spaces, &b.status, &b.late, &b.day)
	k.bookings[b.id] = b
	return err
}

func (k *known) scanMovement(rows pgx.Rows) error {
	var m movement
	err := rows.Scan(&m.booking, &m.sequence, &m.day, &m.gross, &m.net, &m.currency, &m.method, &m.taxRate)
	k.movements[m.movementKey] = m
	return err
}

func (k *known) scanPass(rows pgx.Rows) error {
	var p passFact
	err := rows.Scan(&p.id, &p.version, &p.passType, &p.customer, &p.expires, &p.remaining, &p.assigned, &p.isUnlimited, &p.isCancelled,
		&p.ofSubscription, &p.paid, &p.currency, &p.method, &p.createdOn)
	k.passes[p.id] = p
	return err
}

func (k *known) scanEntry(rows pgx.Rows) error {
	var e entryFact
	err := rows.Scan(&e.pass, &e.sequence, &e.kind, &e.credits, &e.day)
	k.entries[e.entryKey] = e
	return err
}

func (k *known) scanPassType(rows pgx.Rows) error {
	var t passTypeFact
	err := rows.Scan(&t.id, &t.version)
	k.passTypes[t.id] = t
	return err
}

func (k *known) scanPlan(rows pgx.Rows) error {
	var p planFact
	err := rows.Scan(&p.id, &p.version)
	k.plans[p.id] = p
	return err
}

func (k *known) scanSubscribed(rows pgx.Rows) error {
	var m subscriptionMovement
	err := rows.Scan(&m.subscription, &m.period, &m.entry)
	k.subscribed[m.subscriptionKey] = m
	return err
}

func (k *known) scanCustomer(rows pgx.Rows) error {
	var c customerFact
	err := rows.Scan(&c.id, &c.version, &c.createdOn, &c.isDeleted)
	k.customers[c.id] = c
	return err
}

func (k *known) scanActiveDay(rows pgx.Rows) error {
	var a activeDay
	err := rows.Scan(&a.customer, &a.day, &a.bookings)
	if k.active[a.customer] == nil {
		k.active[a.customer] = map[Day]int32{}
	}
	k.active[a.customer][a.day] = a.bookings
	return err
}

func (k *known) scanAttending(rows pgx.Rows) error {
	var a attending
	err := rows.Scan(&a.booking, &a.customer, &a.date)
	k.attending = append(k.attending, a)
	return err
}
