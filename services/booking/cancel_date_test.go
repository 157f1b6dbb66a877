package booking

import (
	"context"
	"errors"
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

// passed moves a date into the past.
func (w *world) passed(date string) {
	w.t.Helper()
	w.exec(`update event_dates set starts_at = date_trunc('second', now()) - interval '1 day' where id = $1`, idOf[id.EventDate](w.t, date))
}

func (w *world) cancelDate(ctx context.Context, date string) (*bookingv1.CancelEventDateResponse, error) {
	return w.events.CancelEventDate(ctx, &bookingv1.CancelEventDateRequest{Id: date, Reason: "Ill"})
}

func TestCancelEventDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	t.Run("cancels a date with all its bookings, one event each, and no other date (invariants 1, 4, 13)", func(t *testing.T) {
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
		resp, err := w.cancelDate(w.ctx, first)
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

		again, err := w.cancelDate(w.ctx, first)
		if err != nil || again.GetCancelledBookings() != 0 || !proto.Equal(again.GetDate(), resp.GetDate()) || w.published(subjectDateCancelled) != 1 {
			t.Errorf("the repeat answers %v, %v", again, err)
		}
	})
	t.Run("returns the first response for a retry with the same Idempotency-Key", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		ctx := withKey(w.ctx, "cancel-date")
		first, err := w.cancelDate(ctx, e.GetDates()[0].GetId())
		if err != nil || first.GetCancelledBookings() != 1 {
			t.Fatalf("got %v, %v", first, err)
		}
		if again, err := w.cancelDate(ctx, e.GetDates()[0].GetId()); err != nil || !proto.Equal(again, first) {
			t.Errorf("got %v, %v", again, err)
		}
		other := w.event(w.ctx, nil)
		_, err = w.cancelDate(ctx, other.GetDates()[0].GetId())
		wantFault(t, err, fault.Conflict, fault.ReasonIdempotencyKeyReused)
		if read := w.getEvent(other.GetId()); !proto.Equal(read, other) {
			t.Errorf("a refused request cancelled %v", read)
		}
	})
	t.Run("returns NOT_FOUND for an unknown date, and refuses a long reason", func(t *testing.T) {
		for _, which := range []string{"", "date_x", id.New[id.EventDate]().String()} {
			_, err := w.cancelDate(w.ctx, which)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		_, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Reason: strings.Repeat("a", 501)})
		wantField(t, err, "reason", "max_length")
		_, err = w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Reason: "a\x00"})
		wantField(t, err, "reason", "characters")
	})
}

func TestFinishClosings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	t.Run("finishes a closing that a crash interrupted, also from several processes at the same time (invariant 13)", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		for range 3 {
			w.mustBook(w.ctx, ann, e, 1)
		}
		date := idOf[id.EventDate](t, e.GetDates()[0].GetId())
		// Run only the first commit.
		w.exec(store.CloseDateSQL, w.company, date)
		before := w.published(subjectBookingCancelled)
		together(6, func(int) {
			if err := w.server.finishClosings(t.Context()); err != nil {
				t.Error(err)
			}
		})
		testkit.Eventually(t, time.Minute, func() error {
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
	t.Run("runs the job until its context ends", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		w.exec(store.CloseDateSQL, w.company, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.server.FinishClosings(ctx, service.NewJobs(testkit.Log(t))) }()
		testkit.Eventually(t, time.Minute, func() error {
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
}

func TestDatesWithoutBookingsAreNotEmptied(t *testing.T) {
	t.Parallel()
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
