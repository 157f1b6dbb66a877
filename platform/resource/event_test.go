package resource

import (
	"math"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestSumsOverDatesStopAtTheLargestNumber(t *testing.T) {
	t.Parallel()
	more := int64(2 * math.MaxInt32)
	got := Event(&bookingv1.Event{Summary: &bookingv1.DatesSummary{Booked: more, Capacity: &more}})
	if got.GetSpotsTaken() != math.MaxInt32 || got.GetCapacity().GetValue() != math.MaxInt32 || got.GetSpotsAvailable().GetValue() != 0 {
		t.Errorf("got %v", got)
	}
	got = Event(&bookingv1.Event{Summary: &bookingv1.DatesSummary{}})
	if got.GetCapacity().Value != nil || got.GetSpotsAvailable().Value != nil {
		t.Errorf("got %v, want no limit", got)
	}
}

func TestDatesOfAWholeEvent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	// An event with n weekly dates, of which the given number is to come, and every fifth is cancelled.
	event := func(n, upcoming int) *bookingv1.Event {
		e := &bookingv1.Event{Summary: &bookingv1.DatesSummary{}}
		for i := range n {
			d := &bookingv1.EventDate{Id: strconv.Itoa(i), StartsAt: timestamppb.New(now.AddDate(0, 0, 7*(i-n+upcoming)).Add(time.Hour))}
			if i%5 == 4 {
				d.Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
			} else if d.GetStartsAt().AsTime().After(now) {
				e.Summary.Upcoming++
			}
			e.Dates = append(e.Dates, d)
		}
		return e
	}
	for name, tt := range map[string]struct {
		event       *bookingv1.Event
		first, last string
		shown       int
	}{
		"those to come":                     {event(20, 8), "12", "18", 6},
		"the first 100 of those to come":    {event(300, 200), "100", "223", 100},
		"the last ones, if none is to come": {event(250, 0), "150", "249", 100},
		"the only one, though it has begun": {event(1, 0), "0", "0", 1},
	} {
		got := WholeEvent(tt.event).GetDates()
		if len(got) != tt.shown || got[0].GetId() != tt.first || got[len(got)-1].GetId() != tt.last {
			t.Errorf("%s: %d dates from %s to %s", name, len(got), got[0].GetId(), got[len(got)-1].GetId())
		}
	}
}
