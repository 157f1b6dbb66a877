package booking

import (
	"testing"
	"time"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

func TestVacatedDates(t *testing.T) { // invariants 34, 35
	t.Parallel()
	p := newParlour(t)
	cancelled := p.reserve("2030-01-07T10:00", by(p.lea))
	p.cancelBooking(cancelled)
	stays := p.reserve("2030-01-07T10:00", by(p.lea))
	moved := p.reserve("2030-01-08T10:00", by(p.lea))
	left := p.dateOf(moved)
	p.mustMove(moved, to("2030-01-07T14:00"))
	held := p.keep("2030-01-08T14:00", by(p.lea))
	freed := p.dateOf(held.GetAppointment())
	p.releaseHold(held.GetHold())

	t.Run("a list of dates leaves out a date whose booking was moved or whose hold ended", func(t *testing.T) {
		for day, want := range map[string]int{"2030-01-07": 3, "2030-01-08": 0} {
			from := winter(day + "T00:00")
			got, err := p.events.ListEventDates(p.ctx, &bookingv1.ListEventDatesRequest{
				EventId: p.massage.GetEventId(), StartsFrom: from, StartsBefore: winter(day + "T23:00"), TotalLimit: 9,
			})
			if err != nil || len(got.GetDates()) != want || got.GetTotal() != int64(want) {
				t.Errorf("%s: got %v, %v, want %d dates", day, got, err, want)
			}
		}
	})
	t.Run("a list of events by start leaves out an event that only has such a date", func(t *testing.T) {
		for day, want := range map[string]int64{"2030-01-07": 1, "2030-01-08": 0} {
			got, err := p.events.ListEvents(p.ctx, &bookingv1.ListEventsRequest{StartsFrom: winter(day + "T00:00"), StartsBefore: winter(day + "T23:00")})
			if err != nil || int64(len(got.GetEvents())) != want || got.GetTotal() != want {
				t.Errorf("%s: got %v, %v, want %d events", day, got, err, want)
			}
		}
	})
	t.Run("the event neither counts nor shows it, before and after its appointments", func(t *testing.T) {
		event := idOf[id.Event](t, p.massage.GetEventId())
		for now, want := range map[time.Time]int{parlourTime(): 2, parlourTime().AddDate(1, 0, 0): 3} {
			e, err := p.server.store.Event(t.Context(), p.company, event, store.EventView{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if e.Summary.Dates != 3 || !e.Summary.EndsAt.Equal(winter("2030-01-07T15:00").AsTime()) || len(e.Dates) != want {
				t.Errorf("at %s: got %+v, and %d dates, want %d", now, e.Summary, len(e.Dates), want)
			}
			if all := e.DatesByID(); all[left] != nil || all[freed] != nil {
				t.Errorf("at %s: the event shows a date without booking", now)
			}
		}
	})
	t.Run("it can be read by its identifier", func(t *testing.T) {
		for _, date := range []id.EventDate{left, freed} {
			got, err := p.events.GetEventDate(p.ctx, &bookingv1.GetEventDateRequest{Id: date.String()})
			if err != nil || got.GetDate().GetDate().GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
	sameAppointment(t, p.read(stays), stays)
	p.finish()
}
