package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestCatalogCallers(t *testing.T) { // invariant 28
	t.Parallel()
	w := newWorld(t)
	make := func(title string, status bookingv1.EventStatus) *bookingv1.Event {
		return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: title, Status: status, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil), newDate(25*time.Hour, nil)}})
	}
	published := make("Yoga", bookingv1.EventStatus_EVENT_STATUS_PUBLISHED)
	draft := make("Secret", bookingv1.EventStatus_EVENT_STATUS_DRAFT)
	cancelled := make("Gone", bookingv1.EventStatus_EVENT_STATUS_PUBLISHED)
	if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: cancelled.GetId()}); err != nil {
		t.Fatal(err)
	}
	catalog := bearer(t.Context(), w.issuer.Client(w.company, "catalog:read"))
	both := bearer(t.Context(), w.issuer.Client(w.company, "catalog:read", "events:read"))
	t.Run("GetEvent and GetEventDate find only published events", func(t *testing.T) {
		for _, e := range []*bookingv1.Event{published, draft, cancelled} {
			_, event := w.events.GetEvent(catalog, &bookingv1.GetEventRequest{Id: e.GetId()})
			_, limited := w.events.GetEvent(catalog, &bookingv1.GetEventRequest{Id: e.GetId(), MaxDates: 1})
			_, date := w.events.GetEventDate(catalog, &bookingv1.GetEventDateRequest{Id: e.GetDates()[0].GetId()})
			for _, err := range []error{event, limited, date} {
				if e == published {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			}
			if _, err := w.events.GetEvent(both, &bookingv1.GetEventRequest{Id: e.GetId()}); err != nil {
				t.Errorf("with events:read too: %v", err)
			}
		}
	})
	t.Run("ListEvents lists and counts only published events, whatever the filters", func(t *testing.T) {
		for _, req := range []*bookingv1.ListEventsRequest{
			{}, {WithDates: true}, {StartsFrom: timestamppb.Now()}, {Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED}, {PageSize: 1}, {UpdatedSince: timestamppb.New(time.Now().Add(-time.Hour))},
		} {
			resp, err := w.events.ListEvents(catalog, req)
			if err != nil || resp.GetTotal() != 1 || len(resp.GetEvents()) != 1 || resp.GetEvents()[0].GetId() != published.GetId() || resp.GetNextPageToken() != "" {
				t.Errorf("%v: got %v, %v", req, resp, err)
			}
		}
		resp, err := w.events.ListEvents(catalog, &bookingv1.ListEventsRequest{Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT})
		if err != nil || resp.GetTotal() != 0 || len(resp.GetEvents()) != 0 {
			t.Errorf("drafts: got %v, %v", resp, err)
		}
		if resp, err := w.events.ListEvents(both, &bookingv1.ListEventsRequest{}); err != nil || resp.GetTotal() != 3 {
			t.Errorf("with events:read too: got %v, %v", resp, err)
		}
	})
	t.Run("ListEventDates lists and counts only their dates", func(t *testing.T) {
		resp, err := w.events.ListEventDates(catalog, &bookingv1.ListEventDatesRequest{TotalLimit: 100})
		if err != nil || resp.GetTotal() != 2 || len(resp.GetDates()) != 2 || resp.GetDates()[0].GetEventId() != published.GetId() {
			t.Errorf("got %v, %v", resp, err)
		}
		resp, err = w.events.ListEventDates(catalog, &bookingv1.ListEventDatesRequest{EventId: draft.GetId(), TotalLimit: 100})
		if err != nil || resp.GetTotal() != 0 || len(resp.GetDates()) != 0 {
			t.Errorf("of a draft: got %v, %v", resp, err)
		}
	})
	t.Run("catalog:read allows nothing else", func(t *testing.T) {
		_, err := w.events.UpdateEvent(catalog, &bookingv1.UpdateEventRequest{Id: published.GetId(), Title: new("Mine")})
		wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
		_, err = w.bookings.ListRegistrations(catalog, &bookingv1.ListRegistrationsRequest{EventId: published.GetId()})
		wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
	})
}
