package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// n bookings of other customers: twenty per event, by 100000 customers.
const fillBookingsSQL = `with made as (
	insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status, updated_at)
	select $1, gen_random_uuid(), md5((n % 100000)::text)::uuid, timestamptz '2026-01-01 00:00:00Z' + n * interval '1 second', 'UTC', 'import', 'confirmed', null
	from generate_series(1, $2::integer) n returning id, purchased_at)
	insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id, pricing_option_id, spaces, method, credits_used)
	select $1, gen_random_uuid(), made.id, 0, e.id, e.id, e.id, 1, 'PASS', 1
	from made cross join lateral (select md5((extract(epoch from made.purchased_at)::bigint / 20)::text)::uuid as id) e`

// n events of others, with one date each.
const fillEventsSQL = `with made as (
	insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at)
	select $1, gen_random_uuid(), 'x', repeat('Bring a mat. ', 40), case when n % 500 = 0 then 'workshop' else 'class' end, 'published', 'UTC', '', t.at, t.at
	from generate_series(1, $2::integer) n cross join lateral (select timestamptz '2026-02-01 00:00:00Z' + n * interval '1 second' as at) t
	returning id, created_at)
	insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
	select $1, gen_random_uuid(), id, created_at, 60, 'UTC' from made`

func TestSlowEventListPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	event, date := idOf[id.Event](t, e.GetId()), idOf[id.EventDate](t, e.GetDates()[0].GetId())
	var some []id.Booking
	for range 300 {
		booked := idOf[id.Booking](t, w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId())
		if len(some) < 50 {
			some = append(some, booked)
		}
	}
	at := time.Date(2026, 2, 1, 0, 30, 0, 0, time.UTC)
	p := page.Page{Order: store.RegistrationsByCreation(), Size: 30}
	p2 := page.Page{Order: store.TransactionsByCreation(), Size: 30}
	byPurchase := page.Page{Order: store.TransactionsByPurchase(), Size: 30}
	in := func(order page.Order, after id.UUID) page.Page {
		cursor := page.At(at, after)
		return page.Page{Order: order, Size: 30, After: &cursor}
	}
	type named struct {
		name, index string
		pg.Statement
	}
	list := []named{
		{"a page of events by creation", "events_by_creation", (&store.EventQuery{Page: in(store.EventsByCreation(), id.UUID{})}).List(w.company)},
		{"a page of events by creation, backwards", "events_by_creation", (&store.EventQuery{Page: in(store.EventsByCreationDesc(), id.UUID{})}).List(w.company)},
		{"a page of events by change", "events_by_change", (&store.EventQuery{Page: in(store.EventsByChange(), id.UUID{})}).List(w.company)},
		{"a page of events by id", "events_pkey", (&store.EventQuery{Page: in(store.EventsByID(), id.UUID{0x80})}).List(w.company)},
		{"a page of registrations", "bookings_by_event", (&store.RegistrationQuery{Page: in(store.RegistrationsByCreation(), some[20].UUID()), Event: event}).List(w.company)},
		{"a page of registrations, backwards", "bookings_by_event", (&store.RegistrationQuery{Page: in(store.RegistrationsByCreationDesc(), some[20].UUID()), Event: event}).List(w.company)},
		{"a page of a date's registrations", "", (&store.RegistrationQuery{Page: p, Event: event, Date: date}).List(w.company)},
		{"a page of a customer's registrations", "transactions_by_purchaser", (&store.RegistrationQuery{Page: p, Event: event, Customer: &ann}).List(w.company)},
		{"a page of what others bought for a customer", "bookings_by_recipient", (&store.RegistrationQuery{Page: p, Customer: &ann, BoughtByOthers: true}).List(w.company)},
		{"changed registrations", "", (&store.RegistrationQuery{Page: p, Event: event, Since: time.Now().Add(-time.Hour)}).List(w.company)},
		{"the number of registrations", "bookings_by_event", (&store.RegistrationQuery{Event: event}).Total(w.company)},
		{"the number of cancelled registrations", "bookings_by_event", (&store.RegistrationQuery{Event: event, Cancelled: new(true)}).Total(w.company)},
		{"the number of a customer's registrations", "transactions_by_purchaser", (&store.RegistrationQuery{Event: event, Customer: &ann}).Total(w.company)},
		{"a page of all registrations", "bookings_pkey", (&store.RegistrationQuery{Page: in(store.RegistrationsByCreation(), id.UUID{0x80})}).List(w.company)},
		{"a page of all registrations, backwards", "bookings_pkey", (&store.RegistrationQuery{Page: in(store.RegistrationsByCreationDesc(), id.UUID{0x80})}).List(w.company)},
		{"a page of all registrations by change", "transactions_by_change", (&store.RegistrationQuery{Page: page.Page{Order: store.RegistrationsByChange(), Size: 30}}).List(w.company)},
		{"a page of all registrations by change, backwards", "transactions_by_change", (&store.RegistrationQuery{Page: in(store.RegistrationsByChangeDesc(), id.UUID{0x80})}).List(w.company)},
		{"a page of all changed registrations", "transactions_by_change", (&store.RegistrationQuery{Page: p, Since: time.Now().Add(-time.Hour)}).List(w.company)},
		{"the number of all changed registrations", "transactions_by_change", (&store.RegistrationQuery{Since: time.Now().Add(-time.Hour)}).Total(w.company)},
		{"a page of all cancelled registrations", "bookings_cancelled_by_id", (&store.RegistrationQuery{Page: p, Cancelled: new(true)}).List(w.company)},
		{"the number of all no-shows", "bookings_by_attendance", (&store.RegistrationQuery{Attendance: new(model.NoShow)}).Total(w.company)},
		{"a page of all no-shows", "bookings_by_attendance", (&store.RegistrationQuery{Page: p, Attendance: new(model.NoShow)}).List(w.company)},
		{"a page of the registrations of a period", "event_dates_by_start", (&store.RegistrationQuery{Page: p, StartsFrom: time.Now(), StartsBefore: time.Now().Add(2 * time.Hour)}).List(w.company)},
		{"the number of the registrations of a period", "event_dates_by_start", (&store.RegistrationQuery{StartsFrom: time.Now(), StartsBefore: time.Now().Add(2 * time.Hour)}).Total(w.company)},
		{"a page of a purchaser's registrations", "transactions_by_purchaser", (&store.RegistrationQuery{Page: p, Purchaser: &ann}).List(w.company)},
		{"the number of all registrations", "bookings_pkey", (&store.RegistrationQuery{MostCounted: 30}).Total(w.company)},
		{"the number of all transactions", "transactions_pkey", (&store.CompanyQuery{MostCounted: 30}).Total(w.company)},
		{"a page of all transactions", "transactions_pkey", (&store.CompanyQuery{Page: in(store.TransactionsByCreation(), id.UUID{0x80})}).List(w.company)},
		{"a page of all transactions by change", "transactions_by_change", (&store.CompanyQuery{Page: page.Page{Order: store.TransactionsByChange(), Size: 30}}).List(w.company)},
		{"a page of all changed transactions", "transactions_by_change", (&store.CompanyQuery{Page: p2, Since: time.Now().Add(-time.Hour)}).List(w.company)},
		{"a page of the purchases of a period", "transactions_by_purchase", (&store.CompanyQuery{Page: byPurchase, PurchasedFrom: time.Now().Add(-time.Hour), PurchasedBefore: time.Now()}).List(w.company)},
		{"a later page of the purchases of a period", "transactions_by_purchase", (&store.CompanyQuery{Page: in(store.TransactionsByPurchase(), id.UUID{0x80}), PurchasedBefore: time.Now()}).List(w.company)},
		{"a page of all purchases by time", "transactions_by_purchase", (&store.CompanyQuery{Page: byPurchase}).List(w.company)},
		{"the number of the purchases of a period", "transactions_by_purchase", (&store.CompanyQuery{MostCounted: 30, PurchasedFrom: time.Now().Add(-time.Hour), PurchasedBefore: time.Now()}).Total(w.company)},
		{"a page of a purchaser's transactions", "transactions_by_purchaser", (&store.CompanyQuery{Page: p2, Purchaser: &ann}).List(w.company)},
		{"registrations by id", "bookings_pkey", pg.Statement{SQL: store.RegistrationsSQL, Args: []any{w.company, some}}},
		{"registrants by id", "bookings_pkey", pg.Statement{SQL: store.RegistrantsSQL, Args: []any{w.company, some}}},
		{"what is left of a date", "bookings_by_date", pg.Statement{SQL: store.LockBookedSQL, Args: []any{w.company, date, int32(cancelBatch)}}},
	}
	small := map[string]float64{}
	for _, size := range []int{10_000, 60_000} {
		for sql, n := range map[string]int{fillBookingsSQL: size, fillEventsSQL: size / 5} {
			if _, err := owner.Exec(t.Context(), sql, w.company, n); err != nil {
				t.Fatal(err)
			}
		}
		vacuum(t, owner)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, s := range list {
				t.Run(fmt.Sprintf("%s with a %s after %d rows depends only on the event (invariant 14)", s.name, mode, size), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
					index, lookups := s.index == "", 0.
					p.walk(func(n plan) {
						index = index || n.Index == s.index
						switch n.Table {
						case "transactions", "bookings", "events", "event_dates":
							if n.Type == "Seq Scan" {
								t.Errorf("reads all of %s", n.Table)
							}
						}
						if n.Table == "bookings" {
							lookups += n.Loops
						}
						if n.Rows*n.Loops > 1000 {
							t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, n.Rows*n.Loops)
						}
					})
					if !index {
						t.Errorf("does not use %s", s.index)
					}
					// The customer has 300 bookings.
					if lookups > 310 {
						t.Errorf("looks bookings up %.0f times", lookups)
					}
					key := s.name + mode
					if small[key] == 0 {
						small[key] = p.Hit + p.Read
					}
					// A page has up to 31 rows, each of which can be in a different block.
					if most := 1.5*small[key] + 40; p.Hit+p.Read > most {
						t.Errorf("touches %.0f blocks, in the small table %.0f", p.Hit+p.Read, small[key])
					}
					if t.Failed() {
						t.Log(p)
					}
				})
			}
			t.Run(fmt.Sprintf("filtered events are counted in an index, with a %s after %d rows", mode, size), func(t *testing.T) {
				q := store.EventQuery{EventType: model.Workshop, Status: model.Published}
				s := q.Total(w.company)
				p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
				indexOnly := false
				p.walk(func(n plan) { indexOnly = indexOnly || n.Type == "Index Only Scan" && n.Index == "events_by_creation" })
				if !indexOnly && size > 10_000 {
					t.Errorf("the count reads the table\n%s", p)
				}
			})
			t.Run(fmt.Sprintf("events of a window are found without reading all dates, with a %s after %d rows", mode, size), func(t *testing.T) {
				q := store.EventQuery{Page: page.Page{Order: store.EventsByCreation(), Size: 30}, StartsFrom: at, StartsBefore: at.Add(time.Minute)}
				for _, s := range []pg.Statement{q.List(w.company), q.Total(w.company)} {
					p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
					p.walk(func(n plan) {
						if n.Type == "Seq Scan" && n.Table == "event_dates" {
							t.Errorf("reads all dates\n%s", p)
						}
					})
				}
			})
		}
	}
}
