package gatewayb

import (
	"testing"

	"reservation.dev/platform/fault"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

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
