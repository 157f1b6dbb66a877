package gatewayb

import (
	"math"
	"testing"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func TestSumsOverDates(t *testing.T) {
	capacity := func(n int32) *int32 { return &n }
	for name, c := range map[string]struct {
		dates               []*bookingv1.EventDate
		capacity, available *int32
	}{
		"are added up": {
			[]*bookingv1.EventDate{{Capacity: capacity(5), Booked: 2}, {Capacity: capacity(7)}}, capacity(12), capacity(10),
		},
		"stop at the largest number": {
			[]*bookingv1.EventDate{{Capacity: capacity(math.MaxInt32)}, {Capacity: capacity(math.MaxInt32)}}, capacity(math.MaxInt32), capacity(math.MaxInt32),
		},
		"have no limit when a date has none": {
			[]*bookingv1.EventDate{{Capacity: capacity(5)}, {}}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got edgebv1.Event
			summarize(&got, c.dates)
			for field, pair := range map[string][2]*int32{
				"capacity":       {got.GetCapacity().Value, c.capacity},
				"spotsAvailable": {got.GetSpotsAvailable().Value, c.available},
			} {
				if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && *pair[0] != *pair[1] {
					t.Errorf("%s: got %v, want %v", field, pair[0], pair[1])
				}
			}
		})
	}
}

func TestAnEventRecursOrHasDates(t *testing.T) {
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
