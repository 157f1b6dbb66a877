package resource

import (
	"math"
	"testing"

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
