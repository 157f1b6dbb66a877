package booking

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestCalendarWindow(t *testing.T) {
	t.Parallel()
	w := newCalendarWorld(t)
	_, secret := w.subscribe(ofCompany, "")
	const day = 24 * time.Hour
	e := w.event(w.ctx, nil)
	now := time.Now()
	starts := func() (all []time.Time) {
		resp, err := w.read(secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetEntries() {
			all = append(all, e.GetStartsAt().AsTime())
		}
		if !slices.IsSortedFunc(all, time.Time.Compare) {
			t.Error("the entries are not in the order of their starts")
		}
		return all
	}
	event, _ := id.Parse[id.Event](e.GetId())
	add := func(first time.Duration, every time.Duration, count int) {
		w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
			select $1, gen_random_uuid(), $2, $3::timestamptz + n * make_interval(secs => $4), 5, 'UTC' from generate_series(0, $5::int - 1) n`,
			w.company, event, pg.Instant(now.Add(first)), every.Seconds(), count)
	}
	t.Run("has 30 days of the past, and a year to come", func(t *testing.T) {
		for _, at := range []time.Duration{-31 * day, -29 * day, 364 * day, 367 * day} {
			add(at, day, 1)
		}
		if got := starts(); len(got) != 3 || got[0].Sub(now) > -28*day || got[2].Sub(now) < 363*day {
			t.Errorf("%v", got)
		}
	})
	t.Run("leaves out past dates first, those longest ago", func(t *testing.T) {
		add(-20*day, time.Minute, 4000)
		add(2*day, time.Minute, 4000)
		got := starts()
		if len(got) != model.MaxCalendarEntries || got[0].Before(now.Add(-20*day)) || !got[len(got)-1].After(now.Add(363*day)) {
			t.Errorf("%d from %v to %v", len(got), got[0], got[len(got)-1])
		}
	})
	t.Run("then leaves out the latest ones to come", func(t *testing.T) {
		add(3*day+30*time.Second, time.Minute, 2000)
		got := starts()
		if len(got) != model.MaxCalendarEntries || got[0].Before(now) || got[len(got)-1].After(now.Add(363*day)) {
			t.Errorf("%d from %v to %v", len(got), got[0], got[len(got)-1])
		}
	})
}

// TestFullCalendars reads calendars that have more entries than they show. A plan that compares all dates with
// all bookings would take longer than a statement can.
func TestFullCalendars(t *testing.T) {
	t.Parallel()
	w := newCalendarWorld(t)
	sam, ann := w.staff("Sam"), w.customer(w.company, "Ann")
	booking, date := w.appointment(ann, sam)
	which, _ := id.Parse[id.EventDate](date)
	w.exec(`with n as (select gen_random_uuid() date, gen_random_uuid() booking, k from generate_series(1, 8000) k),
		dates as (insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, appointment_id)
			select d.company_id, n.date, d.event_id, d.starts_at - interval '20 days' + n.k * interval '5 minutes', 5, 'UTC', 1, 1, n.date
			from event_dates d, n where d.id = $1),
		assigned as (insert into assignments (company_id, event_date_id, booking_id, resource_id, kind, unit, position, taken_from, taken_until)
			select d.company_id, n.date, n.booking, $2, 'staff', 0, 0, s.at, s.at + interval '5 minutes'
			from event_dates d, n, lateral (select d.starts_at - interval '20 days' + n.k * interval '5 minutes' as at) s
			where d.id = $1 and tstzrange(s.at, s.at + interval '5 minutes') && tstzrange(d.starts_at, d.starts_at + interval '1 hour') is false)
		insert into bookings select (jsonb_populate_record(b, jsonb_build_object('id', n.booking, 'event_date_id', n.date, 'position', n.k))).*
			from n, bookings b where b.id = $3`, which, sam, w.bookingID(booking))
	for _, c := range []struct {
		kind    bookingv1.CalendarKind
		subject string
	}{{ofStaff, sam.String()}, {ofCustomer, ann.String()}, {ofCompany, ""}} {
		_, secret := w.subscribe(c.kind, c.subject)
		if got := w.entries(secret); len(got) != model.MaxCalendarEntries {
			t.Errorf("%v: %d entries", c.kind, len(got))
		}
	}
}
