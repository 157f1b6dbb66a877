package booking

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// listEvent lists an event of appointments, and reports whether it was not listed before.
func (w *world) listEvent(event id.Event) (first bool) {
	w.t.Helper()
	err := w.server.store.Write(w.t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) (err error) {
		first, err = w.server.store.ListEvent(ctx, tx, w.company, event, time.Now())
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return first
}

func TestEventsOfAppointments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	class := w.event(w.ctx, nil)
	event, ann := w.appointmentType(), w.teacher("Ann")
	which := event.String()
	total := func(ctx context.Context, req *bookingv1.ListEventsRequest) (int, int64) {
		t.Helper()
		req.WithDates = true
		list, err := w.events.ListEvents(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return len(list.GetEvents()), list.GetTotal()
	}
	wantTotal := func(ctx context.Context, want int) {
		t.Helper()
		for _, req := range []*bookingv1.ListEventsRequest{{}, {Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED}} {
			if n, counted := total(ctx, req); n != want || counted != int64(want) {
				t.Errorf("%d listed of %d, want %d", n, counted, want)
			}
		}
	}

	t.Run("an event without appointments is not shown, listed or counted", func(t *testing.T) {
		_, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: which})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		wantTotal(w.ctx, 1)
	})
	date := w.slot(event, ann, noon(), 0)
	t.Run("it is listed and counted once from its first appointment on", func(t *testing.T) {
		if first, again := w.listEvent(event), w.listEvent(event); !first || again {
			t.Errorf("listed %v, then %v", first, again)
		}
		wantTotal(w.ctx, 2)
		read := w.getEvent(which)
		if read.GetAppointmentTypeId() != id.AppointmentType(event).String() || len(read.GetDates()) != 1 || w.getEvent(class.GetId()).GetAppointmentTypeId() != "" {
			t.Errorf("read %v", read)
		}
		if d := w.getDate(date.String()); whoAndWhere(d.GetDate()) != "Ann" {
			t.Errorf("read %v", d)
		}
	})
	t.Run("callers with catalog:read see neither the event nor its dates", func(t *testing.T) {
		ctx := bearer(t.Context(), w.issuer.Client(w.company, "catalog:read"))
		wantTotal(ctx, 1)
		_, err := w.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: which})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.events.GetEventDate(ctx, &bookingv1.GetEventDateRequest{Id: date.String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		dates, err := w.events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{TotalLimit: 10})
		if err != nil || len(dates.GetDates()) != 1 || dates.GetTotal() != 1 {
			t.Errorf("got %v, %v", dates, err)
		}
	})
	t.Run("refuses changes of the event and its dates, except to cancel a date", func(t *testing.T) {
		for behaviour, change := range map[string]func() error{
			"UpdateEvent": func() error {
				_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: which, Title: new("x")})
				return err
			},
			"UpdateEvent of one of its dates": func() error {
				_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: which, Dates: []*bookingv1.EventDateChange{
					{Id: date.String(), StartsAt: timestamppb.New(noon().Add(time.Hour))},
				}})
				return err
			},
			"UpdateEvent of all its dates": func() error {
				_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: which, Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED})
				return err
			},
			"AddEventDates": func() error {
				_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: which, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
				return err
			},
			"CancelEvent": func() error {
				_, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: which})
				return err
			},
			"DeleteEvent": func() error {
				_, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: which})
				return err
			},
			"UpdateEventDate": func() error {
				_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date.String(), StartsAt: timestamppb.New(noon().Add(time.Hour))}})
				return err
			},
		} {
			f := wantFault(t, change(), fault.Refused, model.ReasonAppointmentEvent)
			if f.Meta["appointment_type_id"] != id.AppointmentType(event).String() {
				t.Errorf("%s: %v", behaviour, f.Meta)
			}
		}
		before := w.getEvent(which)
		same, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: which, Title: new(before.GetTitle())})
		if err != nil || same.GetEvent().GetVersion() != before.GetVersion() {
			t.Errorf("a change to the same title: %v, %v", same, err)
		}
		sameDate, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date.String()}})
		if err != nil || sameDate.GetDate().GetId() != date.String() {
			t.Errorf("no change of a date: %v, %v", sameDate, err)
		}
		res, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date.String()})
		if err != nil || !res.GetChanged() || whoAndWhere(res.GetDate()) != "Ann" {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("is read with at most 100 dates, also if several start at once", func(t *testing.T) {
		bob := w.teacher("Bob")
		for i := range 60 {
			w.slot(event, ann, noon().Add(time.Duration(i)*time.Hour), 0)
			w.slot(event, bob, noon().Add(time.Duration(i)*time.Hour), 0)
		}
		read := w.getEvent(which)
		if len(read.GetDates()) != 100 || read.GetSummary().GetDates() != 121 || !read.GetSummary().GetStartsAt().AsTime().Equal(noon()) {
			t.Errorf("%d dates, %v", len(read.GetDates()), read.GetSummary())
		}
		list, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{WithDates: true, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED})
		if err != nil || len(list.GetEvents()) != 2 || len(list.GetEvents()[0].GetDates()) != 1 || len(list.GetEvents()[1].GetDates()) != 100 {
			t.Errorf("got %v, %v", list, err)
		}
		dates, err := w.events.ListEventDates(w.ctx, &bookingv1.ListEventDatesRequest{EventId: which, PageSize: 200})
		if err != nil || len(dates.GetDates()) != 121 {
			t.Errorf("%d dates, %v", len(dates.GetDates()), err)
		}
	})
}
