package booking

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/service"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// passed moves a date into the past, as time does.
func (w *world) passed(date string) {
	w.t.Helper()
	w.exec(`update event_dates set starts_at = date_trunc('second', now()) - interval '1 day' where id = $1`, idOf[id.EventDate](w.t, date))
}

func TestCancelEventDate(t *testing.T) {
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	cancel := func(ctx context.Context, date string) (*bookingv1.CancelEventDateResponse, error) {
		return w.events.CancelEventDate(ctx, &bookingv1.CancelEventDateRequest{Id: date, Reason: "Ill"})
	}
	t.Run("a date is cancelled with all its bookings, one event each, and no other date (invariants 1, 4, 13)", func(t *testing.T) {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, new(int32(700))), newDate(2*time.Hour, nil)}})
		first, second := e.GetDates()[0].GetId(), e.GetDates()[1].GetId()
		together(8, func(int) {
			for range 75 {
				w.mustBook(w.ctx, ann, e, 1)
			}
		})
		both, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{
			{EventDateId: first, Spaces: 2}, {EventDateId: second, Spaces: 3}, {EventDateId: first, Spaces: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		alone := both.GetTransaction().GetBookings()[2].GetId()
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: alone}); err != nil {
			t.Fatal(err)
		}
		resp, err := cancel(w.ctx, first)
		if err != nil || resp.GetCancelledBookings() != 601 || resp.GetDate().GetBooked() != 0 ||
			resp.GetDate().GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED {
			t.Fatalf("got %v, %v", resp, err)
		}
		read := w.getEvent(e.GetId())
		if !proto.Equal(read.GetDates()[0], resp.GetDate()) || read.GetDates()[1].GetBooked() != 3 || read.GetVersion() != 2 {
			t.Errorf("read %v", read)
		}
		if n := w.published(subjectBookingCancelled); n != 602 || w.published(subjectDateCancelled) != 1 {
			t.Errorf("%d cancellations were published", n)
		}
		after, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: both.GetTransaction().GetId()})
		if err != nil {
			t.Fatal(err)
		}
		b := after.GetTransaction().GetBookings()
		if after.GetTransaction().GetVersion() != 3 || !b[0].GetIsCancelled() || b[0].GetCancelledAt() == nil || b[1].GetIsCancelled() || !b[2].GetIsCancelled() {
			t.Errorf("got %v", after)
		}
		w.inStep()
		if n := one[int64](w, `select count(*) from event_dates where closing`); n != 0 {
			t.Errorf("%d dates are still closing", n)
		}
		_, err = w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
		_, err = w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: first, Unlimited: true}})
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)

		again, err := cancel(w.ctx, first)
		if err != nil || again.GetCancelledBookings() != 0 || !proto.Equal(again.GetDate(), resp.GetDate()) || w.published(subjectDateCancelled) != 1 {
			t.Errorf("the repeat answers %v, %v", again, err)
		}
	})
	t.Run("a repeat under its key is answered as the first was", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		ctx := withKey(w.ctx, "cancel-date")
		first, err := cancel(ctx, e.GetDates()[0].GetId())
		if err != nil || first.GetCancelledBookings() != 1 {
			t.Fatalf("got %v, %v", first, err)
		}
		if again, err := cancel(ctx, e.GetDates()[0].GetId()); err != nil || !proto.Equal(again, first) {
			t.Errorf("got %v, %v", again, err)
		}
		other := w.event(w.ctx, nil)
		_, err = cancel(ctx, other.GetDates()[0].GetId())
		wantFault(t, err, fault.Conflict, fault.ReasonIdempotencyKeyReused)
		if read := w.getEvent(other.GetId()); !proto.Equal(read, other) {
			t.Errorf("a refused request cancelled %v", read)
		}
	})
	t.Run("what a crash leaves is finished, by several at once too (invariant 13)", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		for range 3 {
			w.mustBook(w.ctx, ann, e, 1)
		}
		date := idOf[id.EventDate](t, e.GetDates()[0].GetId())
		// The first commit, and no other.
		w.exec(store.CloseDateSQL, w.company, date)
		before := w.published(subjectBookingCancelled)
		together(6, func(int) {
			if err := w.server.finishClosings(t.Context()); err != nil {
				t.Error(err)
			}
		})
		testkit.Eventually(t, 10*time.Second, func() error {
			if one[int64](w, `select count(*) from event_dates where closing`) != 0 {
				return errors.Join(errors.New("it is still closing"), w.server.finishClosings(t.Context()))
			}
			return nil
		})
		w.inStep()
		if n := w.published(subjectBookingCancelled) - before; n != 3 {
			t.Errorf("%d cancellations were published", n)
		}
	})
	t.Run("the job runs until it is told to end", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		w.exec(store.CloseDateSQL, w.company, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.server.FinishClosings(ctx, service.NewJobs(testkit.Log(t))) }()
		testkit.Eventually(t, 10*time.Second, func() error {
			if one[int64](w, `select count(*) from event_dates where closing`) != 0 {
				return errors.New("it is still closing")
			}
			return nil
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("what does not exist is not found, and a long reason is refused", func(t *testing.T) {
		for _, which := range []string{"", "date_x", id.New[id.EventDate]().String()} {
			_, err := cancel(w.ctx, which)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		_, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Reason: strings.Repeat("a", 501)})
		wantField(t, err, "reason", "max_length")
		_, err = w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Reason: "a\x00"})
		wantField(t, err, "reason", "characters")
	})
}

func TestCancelAndDeleteEvent(t *testing.T) {
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	three := func() *bookingv1.Event {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{
			newDate(time.Hour, nil), newDate(2*time.Hour, nil), newDate(3*time.Hour, nil),
		}})
		for _, d := range e.GetDates() {
			_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
				PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: d.GetId(), Spaces: 2}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.passed(e.GetDates()[0].GetId())
		return e
	}
	booked := func(e *bookingv1.Event) []int32 {
		var n []int32
		for _, d := range e.GetDates() {
			n = append(n, d.GetBooked())
		}
		return n
	}
	remove := func(e *bookingv1.Event) error {
		_, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()})
		return err
	}
	t.Run("an event is cancelled with its dates to come and their bookings, and what took place stays (invariant 13)", func(t *testing.T) {
		e := three()
		resp, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId(), Reason: "No roof"})
		if err != nil || resp.GetCancelledBookings() != 2 || resp.GetEvent().GetStatus() != bookingv1.EventStatus_EVENT_STATUS_CANCELLED {
			t.Fatalf("got %v, %v", resp, err)
		}
		read := w.getEvent(e.GetId())
		if !proto.Equal(read, resp.GetEvent()) || !slices.Equal(booked(read), []int32{2, 0, 0}) || read.GetVersion() != 2 {
			t.Errorf("answered %v\nread %v", resp.GetEvent(), read)
		}
		if read.GetDates()[0].GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED {
			t.Errorf("what took place is %v", read.GetDates()[0])
		}
		if w.published(subjectEventCancelled) != 1 || w.published(subjectBookingCancelled) != 2 || w.published(subjectDateCancelled) != 0 {
			t.Error("wrong events")
		}
		w.inStep()
		again, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()})
		if err != nil || again.GetCancelledBookings() != 0 || !proto.Equal(again.GetEvent(), read) || w.published(subjectEventCancelled) != 1 {
			t.Errorf("the repeat answers %v, %v", again, err)
		}
		same, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Yoga"), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED})
		if err != nil || !proto.Equal(same.GetEvent(), read) {
			t.Errorf("an update that changes nothing answers %v, %v", same, err)
		}
	})
	t.Run("what a cancelled event sells is changed no more", func(t *testing.T) {
		e := three()
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		for _, req := range []*bookingv1.UpdateEventRequest{
			{Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP}, {Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED}, {Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT},
			{Dates: []*bookingv1.EventDateChange{{Id: e.GetDates()[0].GetId(), Capacity: new(int32(9))}}},
			{Dates: []*bookingv1.EventDateChange{{Id: e.GetDates()[1].GetId(), Capacity: new(int32(9))}}},
			{Dates: []*bookingv1.EventDateChange{{LocalStart: new("2030-01-01T09:00:00"), DurationMinutes: new(int32(1))}}},
			{PricingOptions: []*bookingv1.PricingOptionChange{{Name: new("x"), Price: new(int64(1))}}},
		} {
			req.Id = e.GetId()
			_, err := w.events.UpdateEvent(w.ctx, req)
			wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
		}
		_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), Capacity: new(int32(9))}})
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("an update with the status cancels as well, other changes included", func(t *testing.T) {
		e := three()
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), Title: new("Off"), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED, Timezone: new("Asia/Tokyo"),
		})
		if got.GetTitle() != "Off" || got.GetVersion() != 2 || !slices.Equal(booked(got), []int32{2, 0, 0}) || got.GetDates()[2].GetTimezone() != "Asia/Tokyo" {
			t.Errorf("got %v", got)
		}
		w.inStep()
	})
	t.Run("an event with bookings is not deleted until it is cancelled, and then it is gone for every reader", func(t *testing.T) {
		e := three()
		before, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		wantFault(t, remove(e), fault.Refused, model.ReasonHasRegistrations)
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if err := remove(e); err != nil {
			t.Fatal(err)
		}
		after, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{})
		if err != nil || after.GetTotal() != before.GetTotal()-1 || len(after.GetEvents()) != len(before.GetEvents())-1 {
			t.Errorf("%d of %d are left, %v", len(after.GetEvents()), after.GetTotal(), err)
		}
		date := e.GetDates()[2].GetId()
		for name, call := range map[string]func() error{
			"GetEvent": func() error {
				_, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId()})
				return err
			},
			"UpdateEvent": func() error {
				_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId()})
				return err
			},
			"CancelEvent": func() error {
				_, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()})
				return err
			},
			"DeleteEvent": func() error { return remove(e) },
			"AddEventDates": func() error {
				_, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
				return err
			},
			"UpdateEventDate": func() error {
				_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date}})
				return err
			},
			"CancelEventDate": func() error {
				_, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date})
				return err
			},
			"ListRegistrations": func() error {
				_, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: e.GetId()})
				return err
			},
			"CreateTransaction": func() error {
				_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: date}}})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { wantFault(t, call(), fault.NotFound, fault.ReasonNotFound) })
		}
		line := past("deleted", ann.String(), "", 1)
		line.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: date}
		if results, err := w.send(w.ctx, line); err != nil || outcomes(results) != "r" {
			t.Errorf("an import to its date: %v, %v", results, err)
		}
		list, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: ann.String()})
		if err != nil || !slices.ContainsFunc(list.GetTransactions(), func(t *bookingv1.Transaction) bool {
			return t.GetBookings()[0].GetEventId() == e.GetId() && t.GetBookings()[0].GetEventTitle() == "Yoga"
		}) {
			t.Errorf("its past bookings show %v, %v", list, err)
		}
	})
	t.Run("an event without bookings is deleted as it is, once", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		before := w.published(subjectEventDeleted)
		if err := remove(e); err != nil {
			t.Fatal(err)
		}
		wantFault(t, remove(e), fault.NotFound, fault.ReasonNotFound)
		if n := w.published(subjectEventDeleted); n != before+1 {
			t.Errorf("%d deletions", n)
		}
		if err := w.server.finishClosings(t.Context()); err != nil || one[int64](w, `select count(*) from event_dates where closing`) != 0 {
			t.Errorf("its dates are still closing, %v", err)
		}
	})
	t.Run("the reference of a deleted event is free for another", func(t *testing.T) {
		line := past("r1", ann.String(), "choir", 1)
		line.Bookings[0].IsCancelled = true
		if results, err := w.send(w.ctx, line); err != nil || outcomes(results) != "c" {
			t.Fatalf("got %v, %v", results, err)
		}
		event := func() string {
			return one[id.Event](w, `select id from events where reference = 'choir'`).String()
		}
		old := event()
		if err := remove(&bookingv1.Event{Id: old}); err != nil {
			t.Fatal(err)
		}
		if results, err := w.send(w.ctx, past("r2", ann.String(), "choir", 1)); err != nil || outcomes(results) != "c" || event() == old {
			t.Errorf("got %v, %v", results, err)
		}
	})
}

func TestDatesWithoutBookingsAreNotEmptied(t *testing.T) {
	w := newWorld(t)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{
		newDate(time.Hour, nil), newDate(2*time.Hour, nil), newDate(3*time.Hour, nil),
	}})
	_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: w.customer(w.company, "Ann").String(), Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[1].GetId(), Spaces: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.exec(store.CloseDatesSQL, w.company, idOf[id.Event](t, e.GetId()), time.Now())
	if n := one[int64](w, `select count(*) from event_dates where closing`); n != 1 {
		t.Errorf("%d dates are to be emptied, not the one with a booking", n)
	}
}
