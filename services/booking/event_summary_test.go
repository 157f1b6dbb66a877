package booking

import (
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/eventdates"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// summaryOf summarizes the dates of an event, which are sorted by start.
func summaryOf(dates []*bookingv1.EventDate, now time.Time) eventdates.Summary {
	all := make([]eventdates.Date, len(dates))
	for i, d := range dates {
		all[i] = eventdates.Date{
			StartsAt: d.GetStartsAt().AsTime(), Minutes: d.GetDurationMinutes(), Capacity: d.Capacity, Booked: d.GetBooked(),
			Cancelled: d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED,
		}
	}
	return eventdates.Of(all, now)
}

// wantSummary compares the summary of an event with the one computed from all its dates.
func wantSummary(t *testing.T, all []*bookingv1.EventDate, got *bookingv1.DatesSummary, now time.Time) {
	t.Helper()
	s := summaryOf(all, now)
	want := &bookingv1.DatesSummary{
		Dates: int32(len(all)), StartsAt: timestamppb.New(s.StartsAt), DurationMinutes: s.Minutes, EndsAt: timestamppb.New(s.EndsAt),
		Capacity: s.Capacity, Booked: s.Taken,
	}
	for _, d := range toCome(all, now) {
		if want.Upcoming++; want.Next == nil {
			want.Next = d
		}
	}
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v\nof %v", got, want, all)
	}
}

func toCome(all []*bookingv1.EventDate, now time.Time) (dates []*bookingv1.EventDate) {
	for _, d := range all {
		if d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED && d.GetStartsAt().AsTime().After(now) {
			dates = append(dates, d)
		}
	}
	return dates
}

// shown returns the dates that a reader with a limit sees.
func shown(all []*bookingv1.EventDate, most int, now time.Time) []*bookingv1.EventDate {
	if dates := toCome(all, now); len(dates) > 0 {
		return dates[:min(most, len(dates))]
	}
	return all[max(0, len(all)-most):]
}

func wantDates(t *testing.T, got, want []*bookingv1.EventDate) {
	t.Helper()
	if !proto.Equal(&bookingv1.Event{Dates: got}, &bookingv1.Event{Dates: want}) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestDatesSummary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().Truncate(time.Second)
	w.server.now = func() time.Time { return now }
	random := rand.New(rand.NewPCG(3, 1))
	for range 60 {
		var dates []*bookingv1.NewEventDate
		for i := range 1 + random.IntN(6) {
			d := newDate(0, nil)
			d.StartsAt = timestamppb.New(now.Add(time.Duration(random.IntN(7)-3) * time.Hour).Add(time.Duration(i) * time.Second))
			d.DurationMinutes = int32(1 + random.IntN(300))
			if random.IntN(4) > 0 {
				d.Capacity = new(int32(20 + random.IntN(5)))
			}
			dates = append(dates, d)
		}
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: dates})
		wantSummary(t, e.GetDates(), e.GetSummary(), now)
	}
	w.exec(`update event_dates set booked = (random() * 20)::integer where booked = 0 and status = 'scheduled'`)
	w.exec(`update event_dates set status = 'cancelled', booked = 0 where starts_at <> $1 and extract(epoch from starts_at)::bigint % 3 = 0`, now)
	full, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 200, WithDates: true})
	if err != nil || len(full.GetEvents()) != 60 {
		t.Fatalf("%d events, %v", len(full.GetEvents()), err)
	}
	t.Run("lists have the summary of all dates, and at most max_dates of them", func(t *testing.T) {
		for _, most := range []int32{1, 3, 100} {
			limited, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 200, WithDates: true, MaxDates: most})
			undated, _ := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 200})
			if err != nil || len(limited.GetEvents()) != 60 || limited.GetTotal() != 60 {
				t.Fatalf("%d events, %v", len(limited.GetEvents()), err)
			}
			for i, e := range full.GetEvents() {
				wantSummary(t, e.GetDates(), e.GetSummary(), now)
				wantSummary(t, e.GetDates(), limited.GetEvents()[i].GetSummary(), now)
				wantSummary(t, e.GetDates(), undated.GetEvents()[i].GetSummary(), now)
				wantDates(t, limited.GetEvents()[i].GetDates(), shown(e.GetDates(), int(most), now))
			}
		}
	})
	t.Run("so has a single event", func(t *testing.T) {
		for _, e := range full.GetEvents()[:20] {
			for most, want := range map[int32][]*bookingv1.EventDate{0: e.GetDates(), 2: shown(e.GetDates(), 2, now)} {
				resp, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId(), MaxDates: most})
				if err != nil {
					t.Fatal(err)
				}
				wantSummary(t, e.GetDates(), resp.GetEvent().GetSummary(), now)
				wantDates(t, resp.GetEvent().GetDates(), want)
			}
		}
	})
	t.Run("so have the responses of changes", func(t *testing.T) {
		for _, e := range full.GetEvents()[:10] {
			updated, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Pilates")})
			if err != nil {
				t.Fatal(err)
			}
			wantSummary(t, e.GetDates(), updated.GetEvent().GetSummary(), now)
			cancelled, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()})
			if err != nil {
				t.Fatal(err)
			}
			wantSummary(t, cancelled.GetEvent().GetDates(), cancelled.GetEvent().GetSummary(), now)
		}
	})
	t.Run("refuses a number of dates that is out of range", func(t *testing.T) {
		for _, most := range []int32{-1, 101} {
			_, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: full.GetEvents()[0].GetId(), MaxDates: most})
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
			_, err = w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{MaxDates: most})
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
	t.Run("a page with few dates of each event is complete, however many dates the events have", func(t *testing.T) {
		w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
			select company_id, gen_random_uuid(), id, now() + n * interval '1 hour', 60, 'UTC' from events cross join generate_series(24, 323) n where status = 'published'`)
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 60, WithDates: true, MaxDates: 3})
		if err != nil || len(resp.GetEvents()) != 60 || resp.GetNextPageToken() != "" {
			t.Errorf("%d events, %q, %v", len(resp.GetEvents()), resp.GetNextPageToken(), err)
		}
		for _, e := range resp.GetEvents() {
			if len(e.GetDates()) > 3 || e.GetStatus() == bookingv1.EventStatus_EVENT_STATUS_PUBLISHED && e.GetSummary().GetDates() < 301 {
				t.Errorf("got %d dates of %d", len(e.GetDates()), e.GetSummary().GetDates())
			}
		}
	})
}
