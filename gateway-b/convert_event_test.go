package gatewayb

import (
	"math"
	"testing"

	"reservation.dev/platform/eventdates"
	"reservation.dev/platform/fault"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func TestSumsOverDatesStopAtTheLargestNumber(t *testing.T) {
	t.Parallel()
	largest, zero, more := int32(math.MaxInt32), int64(0), int64(2*math.MaxInt32)
	var got edgebv1.Event
	summarize(&got, eventdates.Summary{Taken: more, Capacity: &more, Available: &zero})
	if got.GetSpotsTaken() != largest || got.GetCapacity().GetValue() != largest || got.GetSpotsAvailable().GetValue() != 0 {
		t.Errorf("got %v", &got)
	}
	summarize(&got, eventdates.Summary{})
	if got.GetCapacity().Value != nil || got.GetSpotsAvailable().Value != nil {
		t.Errorf("got %v, want no limit", &got)
	}
}

func TestAnEventRecursOrHasDates(t *testing.T) {
	t.Parallel()
	at := "2027-06-02T10:00:00"
	minutes := int32(60)
	_, _, err := newEvent(&edgebv1.EventWrite{
		Dates:      []*edgebv1.EventDateWrite{{StartsAt: &at, Duration: &minutes}},
		Recurrence: &edgebv1.Recurrence{},
	})
	f := fault.From(err)
	if f == nil || f.Kind != fault.Invalid || f.Fields[len(f.Fields)-1].Field != "recurrence" || f.Fields[len(f.Fields)-1].Rule != "exclusive" {
		t.Errorf("got %v", err)
	}
}
