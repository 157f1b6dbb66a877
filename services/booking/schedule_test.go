package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestListEventDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yoga := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Location: "Hall", Dates: []*bookingv1.NewEventDate{
		newDate(time.Hour, new(int32(1))), newDate(25*time.Hour, nil), newDate(49*time.Hour, nil),
	}})
	barre := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Barre", Dates: []*bookingv1.NewEventDate{newDate(2*time.Hour, nil)}})
	gone := w.event(w.ctx, nil)
	if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: gone.GetId()}); err != nil {
		t.Fatal(err)
	}
	w.createEvent(w.as(id.New[id.Company]()), &bookingv1.CreateEventRequest{Title: "Elsewhere", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
	first := yoga.GetDates()[0]
	line := []*bookingv1.TransactionLine{{EventDateId: first.GetId()}}
	if _, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: w.customer(w.company, "ann").String(), Lines: line}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.waitlist.JoinWaitlist(w.ctx, &bookingv1.JoinWaitlistRequest{EventDateId: first.GetId(), CustomerId: w.customer(w.company, "ben").String()}); err != nil {
		t.Fatal(err)
	}
	list := func(req *bookingv1.ListEventDatesRequest) *bookingv1.ListEventDatesResponse {
		t.Helper()
		res, err := w.events.ListEventDates(w.ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	t.Run("lists the dates of all events that are not deleted, by start, with their booked spaces and waitlist entries", func(t *testing.T) {
		res := list(&bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.Now(), StartsBefore: timestamppb.New(time.Now().Add(24 * time.Hour))})
		if len(res.GetDates()) != 2 || res.GetNextPageToken() != "" {
			t.Fatalf("got %v", res)
		}
		d := res.GetDates()[0]
		if d.GetDate().GetId() != first.GetId() || d.GetEventId() != yoga.GetId() || d.GetEventTitle() != "Yoga" || d.GetLocation() != "Hall" ||
			d.GetDate().GetBooked() != 1 || d.GetDate().GetCapacity() != 1 || d.GetWaiting() != 1 ||
			d.GetEventStatus() != bookingv1.EventStatus_EVENT_STATUS_PUBLISHED || d.GetEventType() != bookingv1.EventType_EVENT_TYPE_CLASS {
			t.Errorf("got %v", d)
		}
		if res.GetDates()[1].GetEventId() != barre.GetId() {
			t.Errorf("got %v", res.GetDates()[1])
		}
	})
	t.Run("pages together contain every date, also of one event", func(t *testing.T) {
		for event, want := range map[string]int{"": 4, yoga.GetId(): 3} {
			var all []*bookingv1.ScheduledDate
			req := &bookingv1.ListEventDatesRequest{EventId: event, PageSize: 1}
			for {
				res := list(req)
				all = append(all, res.GetDates()...)
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					break
				}
			}
			if len(all) != want {
				t.Errorf("of %q: %v", event, all)
			}
			for i := 1; i < len(all); i++ {
				if all[i].GetDate().GetStartsAt().AsTime().Before(all[i-1].GetDate().GetStartsAt().AsTime()) {
					t.Errorf("out of order: %v", all)
				}
			}
		}
	})
	t.Run("an event that does not exist has no dates, for any form of the identifier", func(t *testing.T) {
		for _, event := range []string{id.New[id.Event]().String(), "evt_x", "evt_00000000000000000000000000"} {
			if res := list(&bookingv1.ListEventDatesRequest{EventId: event}); len(res.GetDates()) != 0 {
				t.Errorf("%s: got %v", event, res)
			}
		}
	})
	t.Run("refuses a forged token and an impossible bound", func(t *testing.T) {
		for _, req := range []*bookingv1.ListEventDatesRequest{
			{PageToken: "forged"}, {PageSize: 201}, {StartsFrom: &timestamppb.Timestamp{Nanos: -1}},
			{PageToken: page.Cursor{Code: 1}.Token()},
		} {
			_, err := w.events.ListEventDates(w.ctx, req)
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
}
