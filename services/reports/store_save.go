package reports

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// table is a table whose rows are written in batches: one statement for each batch, with an array for each
// column.
type table struct {
	name    string
	key     []column // after company_id and generation
	columns []column
	// adds is whether the statement adds to the columns of a row that exists, or replaces them.
	adds bool
}

// column is a column of a table.
type column struct{ name, kind string }

// statement returns the text of the statement.
func (t table) statement() string {
	var names, kinds, keys, updates []string
	for _, c := range append(append([]column{}, t.key...), t.columns...) {
		names = append(names, c.name)
		kinds = append(kinds, "$"+strconv.Itoa(len(names)+2)+"::"+c.kind+"[]")
	}
	for _, c := range t.key {
		keys = append(keys, c.name)
	}
	for _, c := range t.columns {
		value := "excluded." + c.name
		if t.adds {
			value = "t." + c.name + " + " + value
		}
		updates = append(updates, c.name+" = "+value)
	}
	return "insert into " + t.name + " as t (company_id, generation, " + strings.Join(names, ", ") + ") select $1::uuid, $2::bigint, * from unnest(" +
		strings.Join(kinds, ", ") + ") on conflict (company_id, generation, " + strings.Join(keys, ", ") + ") do update set " + strings.Join(updates, ", ")
}

// columns parses "name kind, name kind".
func columns(text string) []column {
	var all []column
	for _, c := range strings.Split(text, ", ") {
		name, kind, _ := strings.Cut(c, " ")
		all = append(all, column{name, kind})
	}
	return all
}

func factTable(name, key, cols string) string {
	return table{name: name, key: columns(key), columns: columns(cols)}.statement()
}

func sumTable(name, key, cols string) string {
	return table{name: name, key: columns(key), columns: columns(cols), adds: true}.statement()
}

// The statements that store facts.
var (
	saveEventsSQL   = factTable("events", "id uuid", "version bigint, title text, status text")
	saveDatesSQL    = factTable("dates", "id uuid", "version bigint, event_id uuid, day date, capacity integer, is_cancelled boolean")
	saveBookingsSQL = factTable("bookings", "id uuid",
		"version bigint, event_id uuid, date_id uuid, customer_id uuid, spaces integer, status text, late boolean, day date")
	saveMovementsSQL = factTable("movements", "booking_id uuid, sequence integer",
		"day date, gross bigint, net bigint, currency text, method text, tax_rate integer")
	savePassesSQL = factTable("customer_passes", "id uuid", "version bigint, pass_type_id uuid, customer_id uuid, expires date, remaining integer, "+
		"assigned integer, is_unlimited boolean, is_cancelled boolean, of_subscription boolean, paid bigint, currency text, method text, created_on date")
	saveEntriesSQL    = factTable("ledger_entries", "pass_id uuid, sequence bigint", "kind text, credits integer, day date")
	savePassTypesSQL  = factTable("pass_types", "id uuid", "version bigint, title text")
	savePlansSQL      = factTable("plans", "id uuid", "version bigint, title text, price bigint, currency text, credits integer")
	saveSubscribedSQL = factTable("subscription_movements", "subscription_id uuid, period integer, account_entry bigint",
		"day date, amount bigint, currency text, method text, plan_id uuid")
	saveCustomersSQL = factTable("customers", "id uuid", "version bigint, created_on date, is_deleted boolean")
)

// batch collects statements.
type batch struct {
	company    id.Company
	generation int64
	queries    []pg.Query
}

// add adds a statement unless it has no rows.
func (b *batch) add(sql string, count int, arrays ...any) {
	if count > 0 {
		b.queries = append(b.queries, pg.Query{SQL: sql, Args: append([]any{b.company, b.generation}, arrays...)})
	}
}

// values returns the values of a map, whose order does not matter.
func values[K comparable, V any](all map[K]V) []V { return slices.Collect(maps.Values(all)) }

// field returns a column: a field of every row.
func field[V, T any](all []V, get func(*V) T) []T {
	out := make([]T, len(all))
	for i := range all {
		out[i] = get(&all[i])
	}
	return out
}

// saveFacts returns the statements that store facts of a generation.
func saveFacts(company id.Company, generation int64, f *facts) []pg.Query {
	b := &batch{company: company, generation: generation}
	events := values(f.events)
	b.add(saveEventsSQL, len(events),
		field(events, func(x *eventFact) id.Event { return x.id }),
		field(events, func(x *eventFact) int64 { return x.version }),
		field(events, func(x *eventFact) string { return x.title }),
		field(events, func(x *eventFact) string { return x.status }),
	)
	dates := values(f.dates)
	b.add(saveDatesSQL, len(dates),
		field(dates, func(x *dateFact) id.EventDate { return x.id }),
		field(dates, func(x *dateFact) int64 { return x.version }),
		field(dates, func(x *dateFact) id.Event { return x.event }),
		field(dates, func(x *dateFact) Day { return x.day }),
		field(dates, func(x *dateFact) *int32 { return x.capacity }),
		field(dates, func(x *dateFact) bool { return x.isCancelled }),
	)
	bookings := values(f.bookings)
	b.add(saveBookingsSQL, len(bookings),
		field(bookings, func(x *bookingFact) id.Booking { return x.id }),
		field(bookings, func(x *bookingFact) int64 { return x.version }),
		field(bookings, func(x *bookingFact) id.Event { return x.event }),
		field(bookings, func(x *bookingFact) id.EventDate { return x.date }),
		field(bookings, func(x *bookingFact) id.Customer { return x.customer }),
		field(bookings, func(x *bookingFact) int32 { return x.spaces }),
		field(bookings, func(x *bookingFact) string { return x.status }),
		field(bookings, func(x *bookingFact) bool { return x.late }),
		field(bookings, func(x *bookingFact) Day { return x.day }),
	)
	movements := values(f.movements)
	b.add(saveMovementsSQL, len(movements),
		field(movements, func(x *movement) id.Booking { return x.booking }),
		field(movements, func(x *movement) int32 { return x.sequence }),
		field(movements, func(x *movement) Day { return x.day }),
		field(movements, func(x *movement) int64 { return x.gross }),
		field(movements, func(x *movement) int64 { return x.net }),
		field(movements, func(x *movement) string { return x.currency }),
		field(movements, func(x *movement) string { return x.method }),
		field(movements, func(x *movement) int32 { return x.taxRate }),
	)
	passes := values(f.passes)
	b.add(savePassesSQL, len(passes),
		field(passes, func(x *passFact) id.CustomerPass { return x.id }),
		field(passes, func(x *passFact) int64 { return x.version }),
		field(passes, func(x *passFact) id.PassType { return x.passType }),
		field(passes, func(x *passFact) id.Customer { return x.customer }),
		field(passes, func(x *passFact) Day { return x.expires }),
		field(passes, func(x *passFact) int32 { return x.remaining }),
		field(passes, func(x *passFact) int32 { return x.assigned }),
		field(passes, func(x *passFact) bool { return x.isUnlimited }),
		field(passes, func(x *passFact) bool { return x.isCancelled }),
		field(passes, func(x *passFact) bool { return x.ofSubscription }),
		field(passes, func(x *passFact) int64 { return x.paid }),
		field(passes, func(x *passFact) string { return x.currency }),
		field(passes, func(x *passFact) string { return x.method }),
		field(passes, func(x *passFact) Day { return x.createdOn }),
	)
	entries := values(f.entries)
	b.add(saveEntriesSQL, len(entries),
		field(entries, func(x *entryFact) id.CustomerPass { return x.pass }),
		field(entries, func(x *entryFact) int64 { return x.sequence }),
		field(entries, func(x *entryFact) string { return x.kind }),
		field(entries, func(x *entryFact) int32 { return x.credits }),
		field(entries, func(x *entryFact) Day { return x.day }),
	)
	passTypes := values(f.passTypes)
	b.add(savePassTypesSQL, len(passTypes),
		field(passTypes, func(x *passTypeFact) id.PassType { return x.id }),
		field(passTypes, func(x *passTypeFact) int64 { return x.version }),
		field(passTypes, func(x *passTypeFact) string { return x.title }),
	)
	plans := values(f.plans)
	b.add(savePlansSQL, len(plans),
		field(plans, func(x *planFact) id.Plan { return x.id }),
		field(plans, func(x *planFact) int64 { return x.version }),
		field(plans, func(x *planFact) string { return x.title }),
		field(plans, func(x *planFact) int64 { return x.price }),
		field(plans, func(x *planFact) string { return x.currency }),
		field(plans, func(x *planFact) int32 { return x.credits }),
	)
	subscribed := values(f.subscribed)
	b.add(saveSubscribedSQL, len(subscribed),
		field(subscribed, func(x *subscriptionMovement) id.Subscription { return x.subscription }),
		field(subscribed, func(x *subscriptionMovement) int32 { return x.period }),
		field(subscribed, func(x *subscriptionMovement) int64 { return x.entry }),
		field(subscribed, func(x *subscriptionMovement) Day { return x.day }),
		field(subscribed, func(x *subscriptionMovement) int64 { return x.amount }),
		field(subscribed, func(x *subscriptionMovement) string { return x.currency }),
		field(subscribed, func(x *subscriptionMovement) string { return x.method }),
		field(subscribed, func(x *subscriptionMovement) id.Plan { return x.plan }),
	)
	customers := values(f.customers)
	b.add(saveCustomersSQL, len(customers),
		field(customers, func(x *customerFact) id.Customer { return x.id }),
		field(customers, func(x *customerFact) int64 { return x.version }),
		field(customers, func(x *customerFact) Day { return x.createdOn }),
		field(customers, func(x *customerFact) bool { return x.isDeleted }),
	)
	return b.queries
}
