package booking

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// fillAppointmentsSQL adds n appointments of 30 minutes from the start of $5 on, ten minutes apart, of five
// staff members in turn. 1000 customers buy them.
const fillAppointmentsSQL = `with made as (
		select gen_random_uuid() as date, gen_random_uuid() as booking, gen_random_uuid() as transaction, n,
			$5::timestamptz + n * interval '10 minutes' as at from generate_series(1, $2::integer) n),
	dates as (insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, appointment_id)
		select $1, date, $3, at, 30, 'UTC', 1, 1, date from made),
	sold as (insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status, updated_at)
		select $1, transaction, md5((n % 1000)::text)::uuid, date_trunc('second', at), 'UTC', 'import', 'confirmed', at from made),
	booked as (insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id, pricing_option_id, spaces, method, credits_used)
		select $1, booking, transaction, 0, $3, date, $3, 1, 'PASS', 1 from made)
	insert into assignments (company_id, event_date_id, booking_id, resource_id, kind, unit, position, taken_from, taken_until)
	select $1, date, booking, ($4::uuid[])[1 + n % 5], 'staff', 0, 0, at, at + interval '30 minutes' from made`

func TestSlowAppointmentPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	s := salonOn(w)
	staff := []id.StaffMember{s.lea, s.max}
	for _, name := range []string{"kim", "joe", "zoe"} {
		staff = append(staff, s.addStaff(w.company, name))
	}
	lines := s.mustImport(s.line("a", 0), s.line("b", 1), s.line("c", 2))
	s.hold(lines[2], "held", time.Now().Add(time.Hour))
	var bookings []id.Booking
	var dates []id.EventDate
	for _, a := range lines {
		bookings = append(bookings, id.Booking(idOf[id.Appointment](t, a)))
		dates = append(dates, idOf[id.EventDate](t, s.get(a).GetBooking().GetEventDateId()))
	}

	first, far := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2030, 1, 20, 0, 0, 0, 0, time.UTC)
	cursor := page.At(far, id.UUID{1})
	pageOf := func(o page.Order, after *page.Cursor) page.Page { return page.Page{Order: o, Size: 30, After: after} }
	list := func(q store.AppointmentQuery) pg.Statement { return q.List(w.company) }
	total := func(q store.AppointmentQuery) pg.Statement {
		q.MostCounted = 50
		return q.Total(w.company)
	}
	byStart, desc, byChange := store.AppointmentsByStart(), store.AppointmentsByStartDesc(), store.AppointmentsByChange()
	held := []model.AppointmentStatus{model.AppointmentHeld}
	massage, customer := s.massage, s.ann
	statements := []struct {
		name, index string
		pg.Statement
	}{
		{"the first page", "event_dates_of_appointments", list(store.AppointmentQuery{Page: pageOf(byStart, nil)})},
		{"a later page", "event_dates_of_appointments", list(store.AppointmentQuery{Page: pageOf(byStart, &cursor)})},
		{"a later page, descending", "event_dates_of_appointments", list(store.AppointmentQuery{Page: pageOf(desc, &cursor)})},
		{"a page of a staff member", "assignments_by_start", list(store.AppointmentQuery{Page: pageOf(byStart, &cursor), Staff: &s.lea})},
		{"a page of a staff member, descending", "assignments_by_start", list(store.AppointmentQuery{Page: pageOf(desc, &cursor), Staff: &s.lea})},
		{"a page of a type", "", list(store.AppointmentQuery{Page: pageOf(byStart, &cursor), Type: &massage})},
		{"a page of a customer", "transactions_by_purchaser", list(store.AppointmentQuery{Page: pageOf(byStart, &cursor), Customer: &customer})},
		{"held ones", "transactions_unconfirmed or transactions_open_by_purchaser", list(store.AppointmentQuery{Page: pageOf(byStart, nil), Statuses: held})},
		{"a page by change", "transactions_by_change", list(store.AppointmentQuery{Page: pageOf(byChange, &cursor)})},
		{"a page of changes", "transactions_by_change", list(store.AppointmentQuery{Page: pageOf(byChange, nil), Since: far})},
		{"the number, up to a limit", "event_dates_of_appointments", total(store.AppointmentQuery{})},
		{"the number of a span", "event_dates_of_appointments", total(store.AppointmentQuery{StartsFrom: far, StartsBefore: far.Add(24 * time.Hour)})},
		{"the number of a staff member, up to a limit", "", total(store.AppointmentQuery{Staff: &s.lea})},
		{"appointments", "bookings_pkey", pg.Statement{SQL: store.AppointmentsSQL, Args: []any{w.company, bookings}}},
		{"purchases of appointments", "bookings_pkey", pg.Statement{SQL: store.PurchasesOfAppointmentsSQL, Args: []any{w.company, bookings}}},
		{"slots of bookings", "assignments_pkey", pg.Statement{SQL: store.SlotsOfBookingsSQL, Args: []any{w.company, bookings}}},
		{"slots of dates", "assignments_pkey", pg.Statement{SQL: store.AppointmentSlotsSQL, Args: []any{w.company, dates}}},
		{"a day of a calendar", "assignments_by_resource", pg.Statement{SQL: store.TakenTimesSQL, Args: []any{w.company, first, first.Add(24 * time.Hour), int32(10_001)}}},
		{"a day of a staff member", "assignments_by_resource", pg.Statement{SQL: store.TakenTimesOfSQL,
			Args: []any{w.company, first, first.Add(24 * time.Hour), int32(10_001), []id.UUID{s.lea.UUID()}}}},
		{"the dates of the event, which are not read", "", pg.Statement{SQL: store.DatesSQL, Args: []any{w.company, []id.Event{id.Event(massage)}}}},
		{"the dates of the event, which are not locked", "", pg.Statement{SQL: store.LockEventDatesSQL, Args: []any{w.company, []id.Event{id.Event(massage)}}}},
		{"appointments on dates", "bookings_by_date", pg.Statement{SQL: store.AppointmentsOnDatesSQL, Args: []any{w.company, dates}}},
	}
	small := map[string]bool{"staff": true, "rooms": true, "events": true, "customers": true}
	before := map[string]float64{}
	from := first
	for _, size := range []int{5_000, 30_000} {
		if _, err := owner.Exec(t.Context(), fillAppointmentsSQL, w.company, size, massage, staff, from); err != nil {
			t.Fatal(err)
		}
		from = from.Add(time.Duration(size+10) * 10 * time.Minute)
		if _, err := owner.Exec(t.Context(), fillBookingsSQL, w.company, size); err != nil {
			t.Fatal(err)
		}
		vacuum(t, owner)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, s := range statements {
				t.Run(fmt.Sprintf("%s with a %s after %d rows cost the same (invariant 14)", s.name, mode, size), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, s.SQL, s.Args...)
					index := s.index == ""
					p.walk(func(n plan) {
						index = index || slices.Contains(strings.Split(s.index, " or "), n.Index)
						if n.Type == "Seq Scan" && n.Table != "" && !small[n.Table] {
							t.Errorf("reads all of %s", n.Table)
						}
					})
					if !index {
						t.Errorf("does not use %s", s.index)
					}
					key := s.name + mode
					if before[key] == 0 {
						before[key] = p.Hit + p.Read
					}
					if most := 1.5*before[key] + 60; p.Hit+p.Read > most {
						t.Errorf("touches %.0f blocks, in the small table %.0f", p.Hit+p.Read, before[key])
					}
					t.Logf("%.0f blocks", p.Hit+p.Read)
					if t.Failed() {
						t.Log(p)
					}
				})
			}
		}
	}
}
