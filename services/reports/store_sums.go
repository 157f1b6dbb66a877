package reports

import (
	"maps"
	"slices"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const takingColumns = "paid bigint, refunded bigint, net bigint, payments bigint, refunds bigint"

// The statements that add to sums.
var (
	addTakingsSQL    = sumTable("takings", "day date, currency text, method text, tax_rate integer", takingColumns)
	addProductsSQL   = sumTable("product_takings", "day date, currency text, kind smallint, product_id uuid", takingColumns)
	addAttendanceSQL = sumTable("attendance", "date_id uuid",
		"booked bigint, attended bigint, no_shows bigint, cancelled bigint, cancelled_late bigint")
	addEventsSQL         = sumTable("event_attendance", eventKeys, eventColumns)
	addMonthlyEventsSQL  = sumTable("monthly_attendance", eventKeys, eventColumns)
	addCreditsSQL        = sumTable("credits", creditKeys, creditColumns)
	addMonthlyCreditsSQL = sumTable("monthly_credits", creditKeys, creditColumns)
	addCreatedSQL        = sumTable("created_customers", "day date", "customers bigint")
	addActivitySQL       = sumTable("activity", "day date, next_day date", "customers bigint")
	saveActiveDaysSQL    = factTable("active_days", "customer_id uuid, day date", "bookings integer")
)

const (
	eventKeys    = "day date, event_id uuid, is_appointment boolean"
	eventColumns = "dates bigint, booked bigint, attended bigint, no_shows bigint, cancelled bigint, cancelled_late bigint, " +
		"capacity bigint, booked_of_capacity bigint"

	creditKeys    = "day date, pass_type_id uuid, currency text"
	creditColumns = "added bigint, used bigint, expired bigint, adjusted bigint, worth bigint"

	removeActiveDaysSQL = `delete from active_days a using unnest($3::uuid[], $4::date[]) as gone (customer_id, day)
		where a.company_id = $1 and a.generation = $2 and a.customer_id = gone.customer_id and a.day = gone.day`
)

// entry is a key and a value of a map.
type entry[K comparable, V any] struct {
	k K
	v V
}

func entries[K comparable, V any](all map[K]V) []entry[K, V] {
	out := make([]entry[K, V], 0, len(all))
	for k, v := range all {
		out = append(out, entry[K, V]{k, v})
	}
	return out
}

// saveSums returns the statements that change the sums of a generation.
func saveSums(company id.Company, generation int64, o *outcome) []pg.Query {
	b := &batch{company: company, generation: generation}
	b.addTakings(o.sums)
	b.addSpaces(o.sums)
	b.addEvents(addEventsSQL, o.sums.events)
	b.addEvents(addMonthlyEventsSQL, eventsByMonth(o.sums.events))
	b.addCredits(addCreditsSQL, o.sums.credits)
	b.addCredits(addMonthlyCreditsSQL, creditsByMonth(o.sums.credits))
	b.addActivity(o)
	return b.queries
}

func (b *batch) addTakings(s *sums) {
	type taken = entry[takingKey, taking]
	t := entries(s.takings)
	b.add(addTakingsSQL, len(t), field(t, func(e *taken) Day { return e.k.day }), field(t, func(e *taken) string { return e.k.currency }),
		field(t, func(e *taken) string { return e.k.method }), field(t, func(e *taken) int32 { return e.k.taxRate }),
		field(t, func(e *taken) int64 { return e.v.paid }), field(t, func(e *taken) int64 { return e.v.refunded }),
		field(t, func(e *taken) int64 { return e.v.net }), field(t, func(e *taken) int64 { return e.v.payments }),
		field(t, func(e *taken) int64 { return e.v.refunds }))
	type product = entry[productKey, taking]
	p := entries(s.products)
	b.add(addProductsSQL, len(p), field(p, func(e *product) Day { return e.k.day }), field(p, func(e *product) string { return e.k.currency }),
		field(p, func(e *product) int16 { return int16(e.k.kind) }), field(p, func(e *product) id.UUID { return e.k.product }),
		field(p, func(e *product) int64 { return e.v.paid }), field(p, func(e *product) int64 { return e.v.refunded }),
		field(p, func(e *product) int64 { return e.v.net }), field(p, func(e *product) int64 { return e.v.payments }),
		field(p, func(e *product) int64 { return e.v.refunds }))
}

func (b *batch) addSpaces(s *sums) {
	type date = entry[id.EventDate, spaces]
	d := entries(s.attendance)
	b.add(addAttendanceSQL, len(d), field(d, func(e *date) id.EventDate { return e.k }), field(d, func(e *date) int64 { return e.v.booked }),
		field(d, func(e *date) int64 { return e.v.attended }), field(d, func(e *date) int64 { return e.v.noShows }),
		field(d, func(e *date) int64 { return e.v.cancelled }), field(d, func(e *date) int64 { return e.v.cancelledLate }))
}

// eventsByMonth returns changes of the attendance of events by month.
func eventsByMonth(daily map[eventKey]counted) map[eventKey]counted {
	all := map[eventKey]counted{}
	for k, c := range daily {
		k.day = k.day.month()
		all[k] = all[k].plus(c, 1)
	}
	maps.DeleteFunc(all, func(_ eventKey, c counted) bool { return c == counted{} })
	return all
}

func (b *batch) addEvents(sql string, changes map[eventKey]counted) {
	type event = entry[eventKey, counted]
	e := entries(changes)
	b.add(sql, len(e), field(e, func(e *event) Day { return e.k.day }), field(e, func(e *event) id.Event { return e.k.event }),
		field(e, func(e *event) bool { return e.k.isAppointment }), field(e, func(e *event) int64 { return e.v.dates }),
		field(e, func(e *event) int64 { return e.v.booked }), field(e, func(e *event) int64 { return e.v.attended }),
		field(e, func(e *event) int64 { return e.v.noShows }), field(e, func(e *event) int64 { return e.v.cancelled }),
		field(e, func(e *event) int64 { return e.v.cancelledLate }), field(e, func(e *event) int64 { return e.v.capacity }),
		field(e, func(e *event) int64 { return e.v.bookedOfCapacity }))
}

// creditsByMonth returns changes of credits by month.
func creditsByMonth(daily map[creditKey]creditChange) map[creditKey]creditChange {
	all := map[creditKey]creditChange{}
	for k, c := range daily {
		k.day = k.day.month()
		all[k] = all[k].plus(c, 1)
	}
	maps.DeleteFunc(all, func(_ creditKey, c creditChange) bool { return c == creditChange{} })
	return all
}

func (b *batch) addCredits(sql string, changes map[creditKey]creditChange) {
	type credit = entry[creditKey, creditChange]
	c := entries(changes)
	b.add(sql, len(c), field(c, func(e *credit) Day { return e.k.day }), field(c, func(e *credit) id.PassType { return e.k.passType }),
		field(c, func(e *credit) string { return e.k.currency }), field(c, func(e *credit) int64 { return e.v.added }),
		field(c, func(e *credit) int64 { return e.v.used }), field(c, func(e *credit) int64 { return e.v.expired }),
		field(c, func(e *credit) int64 { return e.v.adjusted }), field(c, func(e *credit) int64 { return e.v.worth }))
}

func (b *batch) addActivity(o *outcome) {
	c := entries(o.sums.created)
	b.add(addCreatedSQL, len(c), field(c, func(e *entry[Day, int64]) Day { return e.k }), field(c, func(e *entry[Day, int64]) int64 { return e.v }))
	p := entries(o.sums.activity)
	b.add(addActivitySQL, len(p), field(p, func(e *entry[pair, int64]) Day { return e.k.day }), field(p, func(e *entry[pair, int64]) Day { return e.k.next }),
		field(p, func(e *entry[pair, int64]) int64 { return e.v }))
	left := slices.DeleteFunc(slices.Clone(o.active), func(a activeDay) bool { return a.bookings <= 0 })
	gone := slices.DeleteFunc(slices.Clone(o.active), func(a activeDay) bool { return a.bookings > 0 })
	b.add(saveActiveDaysSQL, len(left), field(left, func(a *activeDay) id.Customer { return a.customer }), field(left, func(a *activeDay) Day { return a.day }),
		field(left, func(a *activeDay) int32 { return a.bookings }))
	b.add(removeActiveDaysSQL, len(gone), field(gone, func(a *activeDay) id.Customer { return a.customer }), field(gone, func(a *activeDay) Day { return a.day }))
}
