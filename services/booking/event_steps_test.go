package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// announced removes the events in the outbox and returns them in their order.
func (w *world) announced() (all []proto.Message) {
	w.t.Helper()
	payloads := map[string]func() proto.Message{
		subjectEventUpdated:    func() proto.Message { return &bookingv1.EventUpdated{} },
		subjectEventDatesAdded: func() proto.Message { return &bookingv1.EventDatesAdded{} },
		subjectEventCancelled:  func() proto.Message { return &bookingv1.EventCancelled{} },
		subjectDateUpdated:     func() proto.Message { return &bookingv1.EventDateUpdated{} },
		subjectDateCancelled:   func() proto.Message { return &bookingv1.EventDateCancelled{} },
	}
	type stored struct {
		Subject string
		Payload []byte
	}
	rows, err := pg.Rows[stored](w.t.Context(), w.db, pg.AllCompanies(), `select subject, payload from outbox order by id`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		if payloads[row.Subject] == nil {
			continue
		}
		m := payloads[row.Subject]()
		if err := proto.Unmarshal(row.Payload, m); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, m)
	}
	w.exec(`delete from outbox`)
	return all
}

// announcedAs is announced for one event of type M.
func announcedAs[M proto.Message](w *world) M {
	w.t.Helper()
	all := w.announced()
	if len(all) != 1 {
		w.t.Fatalf("announced %v", all)
	}
	m, ok := all[0].(M)
	if !ok {
		w.t.Fatalf("announced %v", all[0])
	}
	return m
}

func wantSame(t *testing.T, what string, got, want proto.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}

func TestEventsOfEventChanges(t *testing.T) { // invariant 29
	t.Parallel()
	w := newWorld(t)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(24*time.Hour, new(int32(5))), newDate(48*time.Hour, nil)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200}},
	})
	w.announced()
	read := func() *bookingv1.Event {
		resp, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId(), MaxDates: 100})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetEvent()
	}
	t.Run("an update has the event before and after the change, with its dates and their summary", func(t *testing.T) {
		before := read()
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Pilates"), BookingRules: &bookingv1.BookingRules{OncePerCustomer: true}})
		got := announcedAs[*bookingv1.EventUpdated](w)
		wantSame(t, "previous", got.GetPrevious(), before)
		wantSame(t, "event", got.GetEvent(), read())
	})
	t.Run("so has the addition of dates", func(t *testing.T) {
		before := read()
		if _, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{newDate(72*time.Hour, nil)}}); err != nil {
			t.Fatal(err)
		}
		got := announcedAs[*bookingv1.EventDatesAdded](w)
		wantSame(t, "previous", got.GetPrevious(), before)
		wantSame(t, "event", got.GetEvent(), read())
	})
	t.Run("a change of a date has the date before and after the change, as GetEventDate returns it", func(t *testing.T) {
		date := func() *bookingv1.ScheduledDate {
			resp, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: e.GetDates()[0].GetId()})
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetDate()
		}
		before := date()
		resp, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), Capacity: new(int32(6))}})
		if err != nil {
			t.Fatal(err)
		}
		updated := announcedAs[*bookingv1.EventDateUpdated](w)
		wantSame(t, "previous", updated.GetPrevious(), before)
		wantSame(t, "scheduled", updated.GetScheduled(), date())
		wantSame(t, "response", resp.GetScheduled(), date())

		before = date()
		cancelled, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId()})
		if err != nil || !cancelled.GetChanged() {
			t.Fatalf("got %v, %v", cancelled, err)
		}
		closed := announcedAs[*bookingv1.EventDateCancelled](w)
		wantSame(t, "previous", closed.GetPrevious(), before)
		wantSame(t, "scheduled", closed.GetScheduled(), date())
		wantSame(t, "response", cancelled.GetScheduled(), date())
	})
	t.Run("a change that changes nothing publishes nothing", func(t *testing.T) {
		again, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId()})
		if err != nil || again.GetChanged() || again.GetScheduled().GetDate().GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED {
			t.Errorf("got %v, %v", again, err)
		}
		same, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[1].GetId(), DurationMinutes: new(int32(60))}})
		if err != nil || same.GetScheduled().GetEventId() != e.GetId() {
			t.Errorf("got %v, %v", same, err)
		}
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Pilates"), BookingRules: &bookingv1.BookingRules{OncePerCustomer: true}})
		if all := w.announced(); len(all) != 0 {
			t.Errorf("announced %v", all)
		}
	})
	t.Run("the events of one request show each difference once", func(t *testing.T) {
		before := read()
		_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{
			Id: e.GetId(), Location: new("Hall"), Timezone: new("Europe/Paris"), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED,
			Dates: []*bookingv1.EventDateChange{
				{Id: e.GetDates()[1].GetId(), Capacity: new(int32(3))}, {StartsAt: timestamppb.New(time.Now().Add(96 * time.Hour).Truncate(time.Second)), Capacity: new(int32(4))},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		all := w.announced()
		if len(all) != 4 {
			t.Fatalf("announced %d events: %v", len(all), all)
		}
		fields, date := all[0].(*bookingv1.EventUpdated), all[1].(*bookingv1.EventDateUpdated)
		added, cancelled := all[2].(*bookingv1.EventDatesAdded), all[3].(*bookingv1.EventCancelled)
		after := read()
		wantSame(t, "before all", fields.GetPrevious(), before)
		if f := fields.GetEvent(); f.GetLocation() != "Hall" || f.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_PUBLISHED || f.GetDates()[0].GetTimezone() != "Europe/Paris" ||
			len(f.GetDates()) != len(before.GetDates()) || f.GetDates()[0].Capacity != nil {
			t.Errorf("the fields: %v", f)
		}
		if date.GetPrevious().GetDate().Capacity != nil || date.GetScheduled().GetDate().GetCapacity() != 3 || date.GetPrevious().GetDate().GetTimezone() != "Europe/Paris" ||
			date.GetScheduled().GetVersion() != after.GetVersion() || date.GetPrevious().GetVersion() != before.GetVersion() {
			t.Errorf("the date: %v", date)
		}
		if p := added.GetPrevious(); len(added.GetEvent().GetDates()) != len(p.GetDates())+1 || p.GetLocation() != "Hall" || p.GetDates()[0].GetCapacity() != 3 {
			t.Errorf("the addition: %v", added)
		}
		closed, open := proto.CloneOf(cancelled.GetPrevious()), added.GetEvent()
		closed.Version, closed.UpdatedAt = open.GetVersion(), open.GetUpdatedAt()
		wantSame(t, "before the cancellation", closed, open)
		wantSame(t, "after all", cancelled.GetEvent(), after)
	})
	t.Run("an event has at most 100 dates in its events", func(t *testing.T) {
		var many []*bookingv1.NewEventDate
		for i := range 150 {
			many = append(many, newDate(time.Duration(i-20)*time.Hour, nil))
		}
		long := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: many})
		w.announced()
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: long.GetId(), Title: new("Pilates")})
		got := announcedAs[*bookingv1.EventUpdated](w).GetEvent()
		if len(got.GetDates()) != 100 || got.GetSummary().GetDates() != 150 || !proto.Equal(got.GetDates()[0], got.GetSummary().GetNext()) {
			t.Errorf("%d dates, %v", len(got.GetDates()), got.GetSummary())
		}
	})
}

func TestVersionOfEventDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.event(w.ctx, new(int32(5)))
	date := e.GetDates()[0].GetId()
	t.Run("refuses a change or a cancellation of a date whose event has changed since it was read", func(t *testing.T) {
		stale := func() *int64 { return new(w.getEvent(e.GetId()).GetVersion() - 1) }
		_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date, Capacity: new(int32(6))}, ExpectedVersion: stale()})
		wantFault(t, err, fault.Stale("event", 1).Kind, fault.ReasonVersionMismatch)
		_, err = w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date, ExpectedVersion: stale()})
		wantFault(t, err, fault.Stale("event", 1).Kind, fault.ReasonVersionMismatch)
		if got := w.getEvent(e.GetId()); got.GetVersion() != e.GetVersion() {
			t.Errorf("got %v", got)
		}
	})
	t.Run("accepts the version that GetEventDate returns", func(t *testing.T) {
		read, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: date})
		if err != nil {
			t.Fatal(err)
		}
		updated, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{
			Date: &bookingv1.EventDateChange{Id: date, Capacity: new(int32(6))}, ExpectedVersion: new(read.GetDate().GetVersion()),
		})
		if err != nil || updated.GetScheduled().GetVersion() != read.GetDate().GetVersion()+1 {
			t.Fatalf("got %v, %v", updated, err)
		}
		if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date, ExpectedVersion: new(updated.GetScheduled().GetVersion())}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a date of a deleted event does not exist", func(t *testing.T) {
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		_, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: date})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
}
