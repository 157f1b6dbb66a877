package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// eventOfThreeDates creates an event with three booked dates, of which the first is in the past.
func (w *world) eventOfThreeDates(purchaser id.Customer) *bookingv1.Event {
	w.t.Helper()
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{
		newDate(time.Hour, nil), newDate(2*time.Hour, nil), newDate(3*time.Hour, nil),
	}})
	for _, d := range e.GetDates() {
		w.register(purchaser, &bookingv1.TransactionLine{EventDateId: d.GetId(), Spaces: 2})
	}
	w.passed(e.GetDates()[0].GetId())
	return e
}

// bookedSpaces returns the number of booked spaces of each date.
func bookedSpaces(e *bookingv1.Event) []int32 {
	var n []int32
	for _, d := range e.GetDates() {
		n = append(n, d.GetBooked())
	}
	return n
}

func (w *world) deleteEvent(e *bookingv1.Event) error {
	_, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()})
	return err
}

func TestCancelEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	t.Run("cancels an event with its upcoming dates and their bookings, and keeps past dates (invariant 13)", func(t *testing.T) {
		e := w.eventOfThreeDates(ann)
		resp, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId(), Reason: "No roof"})
		if err != nil || resp.GetCancelledBookings() != 2 || resp.GetEvent().GetStatus() != bookingv1.EventStatus_EVENT_STATUS_CANCELLED {
			t.Fatalf("got %v, %v", resp, err)
		}
		read := w.getEvent(e.GetId())
		if !proto.Equal(read, resp.GetEvent()) || !slices.Equal(bookedSpaces(read), []int32{2, 0, 0}) || read.GetVersion() != 2 {
			t.Errorf("answered %v\nread %v", resp.GetEvent(), read)
		}
		if read.GetDates()[0].GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED {
			t.Errorf("the past date is %v", read.GetDates()[0])
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
	t.Run("refuses to change what a cancelled event sells", func(t *testing.T) {
		e := w.eventOfThreeDates(ann)
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
	t.Run("an update with status cancelled also cancels, and applies its other changes", func(t *testing.T) {
		e := w.eventOfThreeDates(ann)
		got := w.updateEvent(&bookingv1.UpdateEventRequest{
			Id: e.GetId(), Title: new("Off"), Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED, Timezone: new("Asia/Tokyo"),
		})
		if got.GetTitle() != "Off" || got.GetVersion() != 2 || !slices.Equal(bookedSpaces(got), []int32{2, 0, 0}) || got.GetDates()[2].GetTimezone() != "Asia/Tokyo" {
			t.Errorf("got %v", got)
		}
		w.inStep()
	})
}

func TestDeleteEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	t.Run("refuses to delete an event with bookings until it is cancelled, and then hides it from every reader", func(t *testing.T) {
		e := w.eventOfThreeDates(ann)
		before, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		wantFault(t, w.deleteEvent(e), fault.Refused, model.ReasonHasRegistrations)
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if err := w.deleteEvent(e); err != nil {
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
			"DeleteEvent": func() error { return w.deleteEvent(e) },
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
	t.Run("deletes an event without bookings without cancelling it first, once", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		before := w.published(subjectEventDeleted)
		if err := w.deleteEvent(e); err != nil {
			t.Fatal(err)
		}
		wantFault(t, w.deleteEvent(e), fault.NotFound, fault.ReasonNotFound)
		if n := w.published(subjectEventDeleted); n != before+1 {
			t.Errorf("%d deletions", n)
		}
		if err := w.server.finishClosings(t.Context()); err != nil || one[int64](w, `select count(*) from event_dates where closing`) != 0 {
			t.Errorf("its dates are still closing, %v", err)
		}
	})
	t.Run("the reference of a deleted event can be used for another event", func(t *testing.T) {
		line := past("r1", ann.String(), "choir", 1)
		line.Bookings[0].IsCancelled = true
		if results, err := w.send(w.ctx, line); err != nil || outcomes(results) != "c" {
			t.Fatalf("got %v, %v", results, err)
		}
		event := func() string {
			return one[id.Event](w, `select id from events where reference = 'choir'`).String()
		}
		old := event()
		if err := w.deleteEvent(&bookingv1.Event{Id: old}); err != nil {
			t.Fatal(err)
		}
		if results, err := w.send(w.ctx, past("r2", ann.String(), "choir", 1)); err != nil || outcomes(results) != "c" || event() == old {
			t.Errorf("got %v, %v", results, err)
		}
	})
}
