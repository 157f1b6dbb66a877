package booking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// TestEventsHaveEveryChangeOfDates changes events and their dates at random. A consumer that follows the events knows
// the same as a snapshot.
func TestEventsHaveEveryChangeOfDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := rand.New(rand.NewPCG(7, 1))
	ann := w.customer(w.company, "Ann")
	var events []*bookingv1.Event
	hour := 1000
	date := func() *bookingv1.NewEventDate {
		hour++
		return newDate(time.Duration(hour)*time.Hour, new(int32(5+r.IntN(5))))
	}
	change := func(n int) error {
		if len(events) < 3 {
			e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
				Title: fmt.Sprint("Event ", n), Dates: []*bookingv1.NewEventDate{date(), date(), date()},
				PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000}},
			})
			events = append(events, e)
			return nil
		}
		i := r.IntN(len(events))
		e := events[i]
		d := e.GetDates()[r.IntN(len(e.GetDates()))]
		switch r.IntN(10) {
		case 0, 1:
			resp, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{date(), date()}})
			e.Dates = append(e.Dates, resp.GetDates()...)
			return err
		case 2, 3:
			hour++
			_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
				Id: d.GetId(), StartsAt: timestamppb.New(time.Now().Add(time.Duration(hour) * time.Hour).Truncate(time.Second)), Capacity: new(int32(20)),
			}})
			return err
		case 4:
			_, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: d.GetId()})
			return err
		case 5:
			zones := []string{"Europe/London", "Europe/Berlin", "America/New_York"}
			_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{
				Id: e.GetId(), Timezone: &zones[r.IntN(3)], Title: new(fmt.Sprint("Renamed ", n)),
				Dates: []*bookingv1.EventDateChange{{Id: d.GetId(), DurationMinutes: new(int32(30 + r.IntN(60)))}},
			})
			return err
		case 6:
			_, err := w.book(w.ctx, ann, &bookingv1.Event{Dates: []*bookingv1.EventDate{d}}, 1)
			return err
		case 7:
			events = slices.Delete(events, i, i+1)
			if r.IntN(2) == 0 {
				_, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()})
				return err
			}
			_, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()})
			return err
		case 8:
			cancelled := bookingv1.EventStatus_EVENT_STATUS_CANCELLED
			if r.IntN(3) > 0 {
				return nil
			}
			events = slices.Delete(events, i, i+1)
			_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Status: cancelled})
			return err
		default:
			line := past(fmt.Sprint("r", n), ann.String(), fmt.Sprint("event ", r.IntN(3)), 1)
			line.GetBookings()[0].GetImportedDate().StartsAt = timestamppb.New(time.Date(2025, 3, 1+r.IntN(9), 9, 30, 0, 0, time.UTC))
			known := past(fmt.Sprint("s", n), ann.String(), "", 1)
			known.GetBookings()[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: d.GetId()}
			_, err := w.send(w.ctx, line, known)
			return err
		}
	}
	refused := 0
	for n := range 150 {
		if err := change(n); err != nil {
			if k := fault.From(err).Kind; k != fault.Refused && k != fault.Invalid && k != fault.Conflict {
				t.Fatal(n, err)
			}
			refused++
		}
	}
	if refused > 75 {
		t.Errorf("%d changes were refused", refused)
	}
	f := w.followed(t, newFollower(), w.company, nil)
	f.wantMovements(t)
	w.wantFollowed(t, f)
}

func TestImportedHistoryIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "Ann"), w.customer(w.company, "Ben")
	w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1) // the copy has Ann
	var lines []*bookingv1.ImportedTransaction
	for n := range 450 {
		line := past(fmt.Sprint("r", n), ann.String(), fmt.Sprint("event ", n%5), 1)
		line.GetBookings()[0].GetImportedDate().StartsAt = timestamppb.New(time.Date(2024, 1, 1, n, 0, 0, 0, time.UTC))
		line.GetBookings()[0].BoughtFor = ben.String()
		line.GetBookings()[0].IsRefunded = n%7 == 0
		line.GetBookings()[0].IsCancelled = n%7 == 0
		lines = append(lines, line)
	}
	w.mustSend(lines...)
	f := w.followed(t, newFollower(), w.company, nil)
	f.wantMovements(t)
	w.wantFollowed(t, f)
	if len(f.bookings) != 451 || len(f.dates) != 451 || len(f.events) != 6 {
		t.Errorf("followed %d bookings of %d dates of %d events", len(f.bookings), len(f.dates), len(f.events))
	}
	if n := one[int64](w, `select count(*) from outbox where subject = $1`, subjectTransactionsImported); n != 3 {
		t.Errorf("%d events for 450 bookings", n)
	}
	t.Run("not again if the import is repeated", func(t *testing.T) {
		before := one[int64](w, `select count(*) from outbox`)
		w.mustSend(lines[:10]...)
		if after := one[int64](w, `select count(*) from outbox`); after != before {
			t.Errorf("%d more events", after-before)
		}
	})
}

func TestPartsOfAnImportFitInAMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	var all []*bookingv1.BookingSnapshot
	for range 450 {
		all = append(all, &bookingv1.BookingSnapshot{TransactionId: long})
	}
	total := 0
	for part := range parts(all) {
		total += len(part)
		if size := proto.Size(&bookingv1.TransactionsImported{Bookings: part}); size > 600<<10 || len(part) > 200 {
			t.Errorf("%d bookings of %d bytes", len(part), size)
		}
	}
	if total != len(all) {
		t.Errorf("%d of %d", total, len(all))
	}
}

func TestAppointmentsAreFollowed(t *testing.T) {
	t.Parallel()
	s := newSalon(t)
	refunded := s.line("a2", 1)
	refunded.IsCancelled, refunded.IsRefunded = true, true
	ids := s.mustImport(s.line("a1", 0), refunded)
	f := s.followed(t, newFollower(), s.company, nil)
	s.wantFollowed(t, f)
	if len(f.bookings) != 2 || len(f.events) != 1 || len(f.dates) != 0 {
		t.Errorf("followed %v of %v", f.bookings, f.events)
	}
	_, err := s.appointments.MoveAppointment(s.ctx, &bookingv1.MoveAppointmentRequest{Id: ids[0], StartsAt: timestamppb.New(s.tomorrow.Add(8 * time.Hour)), WaiveHours: true})
	if err != nil {
		t.Fatal(err)
	}
	s.wantFollowed(t, s.followed(t, newFollower(), s.company, nil))
}

// TestSnapshotWhileWriting takes snapshots while bookings change. Each, with the events since it began, leads to
// the final state.
func TestSnapshotWhileWriting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	e := w.event(w.ctx, nil)
	var before []string
	for range 60 {
		before = append(before, w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId())
	}
	type taken struct {
		*follower
		known map[id.UUID]bool // events from before the snapshot
	}
	var snapshots []taken
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for writer := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(writer), 2))
			mine := slices.Clone(before[20*writer : 20*writer+20])
			for {
				select {
				case <-stop:
					return
				default:
				}
				which := mine[r.IntN(len(mine))]
				var err error
				switch r.IntN(4) {
				case 0:
					var t *bookingv1.Transaction
					if t, err = w.book(w.ctx, ann, e, 1); err == nil {
						mine = append(mine, t.GetBookings()[0].GetId())
					}
				case 1:
					_, err = w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: which, Amount: new(int64(1 + r.IntN(300)))})
				case 2:
					_, err = w.changes.MoveBooking(w.ctx, &bookingv1.MoveBookingRequest{BookingId: which, Spaces: int32(1 + r.IntN(3))})
				default:
					_, err = w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: which})
				}
				if f := fault.From(err); err != nil && f.Kind != fault.Refused && f.Kind != fault.Invalid && f.Kind != fault.Conflict {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 6 {
		known, err := pg.Rows[id.UUID](t.Context(), w.db, pg.AllCompanies(), `select id from outbox`)
		if err != nil {
			t.Fatal(err)
		}
		s := taken{newFollower(), map[id.UUID]bool{}}
		for _, event := range known {
			s.known[event] = true
		}
		w.snapshot(t, s.follower, w.company)
		snapshots = append(snapshots, s)
	}
	close(stop)
	wg.Wait()
	for _, s := range snapshots {
		s.wantMovements(t)
		w.wantFollowed(t, w.followed(t, s.follower, w.company, s.known))
	}
}

func TestSnapshotsAreOrderedAndOfOneCompany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := id.New[id.Company]()
	ann := w.customer(w.company, "Ann")
	e := w.event(w.ctx, nil)
	w.hold(ann, e, 1, "")
	var lines []*bookingv1.ImportedTransaction
	for n := range snapshotBookings + 20 {
		line := past(fmt.Sprint("r", n), ann.String(), "yoga", 1)
		line.GetBookings()[0].GetImportedDate().StartsAt = timestamppb.New(time.Date(2010, 1, 1, n, 0, 0, 0, time.UTC))
		lines = append(lines, line)
	}
	w.mustSend(lines...)
	more := lines[:0:0]
	for n := range snapshotDates {
		line := past(fmt.Sprint("s", n), ann.String(), "yoga", 1)
		line.GetBookings()[0].GetImportedDate().StartsAt = timestamppb.New(time.Date(2020, 1, 1, n, 0, 0, 0, time.UTC))
		more = append(more, line)
	}
	w.mustSend(more...)
	t.Run("bookings are ordered by identifier, without holds, and continue after any of them", func(t *testing.T) {
		messages, err := messagesOf(w.snapshots.StreamBookings(w.asPlatform(w.company), &bookingv1.StreamBookingsRequest{}))
		var ids []string
		for _, m := range messages {
			for _, b := range m.GetBookings() {
				ids = append(ids, b.GetBooking().GetId())
			}
		}
		if err != nil || len(messages) != 4 || len(ids) != snapshotBookings+20+snapshotDates || !slices.IsSorted(ids) {
			t.Fatalf("%d bookings in %d messages, %v", len(ids), len(messages), err)
		}
		rest, err := messagesOf(w.snapshots.StreamBookings(w.asPlatform(w.company), &bookingv1.StreamBookingsRequest{AfterId: ids[len(ids)-3]}))
		if err != nil || len(rest) != 1 || len(rest[0].GetBookings()) != 2 || rest[0].GetBookings()[0].GetBooking().GetId() != ids[len(ids)-2] {
			t.Errorf("got %v, %v", rest, err)
		}
	})
	t.Run("an event with many dates is split, and continues after any event", func(t *testing.T) {
		messages, err := messagesOf(w.snapshots.StreamEvents(w.asPlatform(w.company), &bookingv1.StreamEventsRequest{}))
		dates := map[string]int{}
		for _, m := range messages {
			all := 0
			for _, e := range m.GetEvents() {
				dates[e.GetTitle()] += len(e.GetDates())
				all += len(e.GetDates())
			}
			if all > snapshotDates {
				t.Errorf("%d dates in a message", all)
			}
		}
		if err != nil || len(messages) != 2 && len(messages) != 3 || dates["Yoga yoga"] != snapshotBookings+20+snapshotDates || dates["Yoga"] != 1 {
			t.Errorf("%v in %d messages, %v", dates, len(messages), err)
		}
		rest, err := messagesOf(w.snapshots.StreamEvents(w.asPlatform(w.company), &bookingv1.StreamEventsRequest{AfterId: e.GetId()}))
		if err != nil || len(rest) != 2 || rest[0].GetEvents()[0].GetId() == e.GetId() {
			t.Errorf("got %v, %v", rest, err)
		}
	})
	t.Run("another company has neither", func(t *testing.T) {
		f := w.snapshot(t, newFollower(), other)
		if len(f.bookings)+len(f.dates)+len(f.events) != 0 {
			t.Errorf("got %v", f)
		}
	})
	t.Run("callers without platform:admin are refused, and identifiers of something else", func(t *testing.T) {
		if _, err := messagesOf(w.snapshots.StreamBookings(w.ctx, &bookingv1.StreamBookingsRequest{})); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Error(err)
		}
		if _, err := messagesOf(w.snapshots.StreamEvents(w.ctx, &bookingv1.StreamEventsRequest{})); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Error(err)
		}
		if _, err := messagesOf(w.snapshots.StreamEvents(w.asPlatform(w.company), &bookingv1.StreamEventsRequest{AfterId: "x"})); !fault.Is(fault.From(err), fault.Invalid) {
			t.Error(err)
		}
	})
}

func TestBookingsOfEarlierReleasesKeepTheirTaxRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	e := w.event(w.ctx, nil)
	first := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
	w.exec(`update bookings set tax_rate_basis_points = null`)
	w.exec(`update pricing_options set earlier_tax_rate_basis_points = 2000`)
	_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{
		{Id: e.GetPricingOptions()[0].GetId(), TaxRateBasisPoints: new(int32(700))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	second := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
	rates := func() (got []int32) {
		f := w.snapshot(t, newFollower(), w.company)
		for _, which := range []string{first, second} {
			got = append(got, f.bookings[which].GetMovements()[0].GetTaxRateBasisPoints())
		}
		return got
	}
	if got := rates(); !slices.Equal(got, []int32{2000, 700}) {
		t.Errorf("got %v", got)
	}
	if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: first}); err != nil {
		t.Fatal(err)
	}
	if got := rates(); !slices.Equal(got, []int32{2000, 700}) {
		t.Errorf("after a change: %v", got)
	}
}

func TestSnapshotPlans(t *testing.T) {
	w, owner := newPlanWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	event := idOf[id.Event](t, e.GetId())
	which := idOf[id.Booking](t, w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId())
	w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
		select $1, gen_random_uuid(), $2, now() + n * interval '1 hour', 60, 'UTC' from generate_series(2, 3000) n`, w.company, event)
	w.exec(fillSQL, w.company, 1, ann, 500, event)
	w.exec(fillOffersSQL, w.company, 3000)
	w.exec(`insert into booking_history (company_id, booking_id, sequence, action, at, actor, details, amount)
		select $1, md5(n::text)::uuid, 1, 'refunded', now(), '', '{}', 1 from generate_series(1, 5000) n`, w.company)
	vacuum(t, owner)
	for _, s := range []struct {
		name, sql string
		args      []any
	}{
		{"bookings", store.SnapshotBookingsSQL, []any{w.company, id.UUID{0x80}, 100}},
		{"money", store.MoneySQL, []any{w.company, []id.Booking{which}}},
		{"events", store.SnapshotEventsSQL, []any{w.company, id.UUID{0x80}, 100}},
		{"dates", store.SnapshotDatesSQL, []any{w.company, []id.Event{event}, time.Now().Add(200 * time.Hour), 100}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(fmt.Sprintf("a page of %s with a %s: reads only its rows", s.name, mode), func(t *testing.T) {
				p := explain(t, w.db, w.company, mode, s.sql, s.args...)
				p.walk(func(n plan) {
					if n.Type == "Seq Scan" || n.Type == "Sort" && n.Rows > 10 || (n.Rows+n.Removed)*n.Loops > 105 {
						t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, (n.Rows+n.Removed)*n.Loops)
					}
				})
				if t.Failed() {
					t.Log(p)
				}
			})
		}
	}
}

func TestGoldenImportEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serial := byte(0)
	w.server.now = func() time.Time { return time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC) }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	zoe := w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
		ID: id.Customer{0x01, 0x9c, 15: 0xf1}, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
	}})
	line := past("r1", zoe.String(), "yoga", 2)
	line.GetBookings()[0].IsCancelled, line.GetBookings()[0].IsRefunded = true, true
	w.mustSend(line)
	// The first event has the imported event and the second one its date.
	w.exec(`delete from outbox where id = (select id from outbox where subject = $1 order by id offset 1 limit 1)`, subjectEventsImported)
	w.wantGolden("booking.v1.%_imported", map[string]proto.Message{
		subjectEventsImported: &bookingv1.EventsImported{}, subjectTransactionsImported: &bookingv1.TransactionsImported{},
	})
}
