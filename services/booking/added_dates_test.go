package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestAddedDatesCopyTheLastDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Timezone: "UTC", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000}},
		Dates: []*bookingv1.NewEventDate{ // the last date is the first of the list
			{LocalStart: "2030-02-01T09:00:00", DurationMinutes: 90, Capacity: new(int32(12))},
			{LocalStart: "2030-01-01T09:00:00", DurationMinutes: 45, Capacity: new(int32(5))},
		},
	})
	add := func(d *bookingv1.NewEventDate, rule *bookingv1.Recurrence) ([]*bookingv1.EventDate, error) {
		resp, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{d}, Recurrence: rule})
		return resp.GetDates(), err
	}
	early := func(hour int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2029, 6, 1, hour, 0, 0, 0, time.UTC))
	}
	for name, c := range map[string]struct {
		date     *bookingv1.NewEventDate
		rule     *bookingv1.Recurrence
		minutes  int32
		capacity *int32
	}{
		"takes both":                        {&bookingv1.NewEventDate{StartsAt: early(1)}, nil, 90, new(int32(12))},
		"has a duration":                    {&bookingv1.NewEventDate{StartsAt: early(2), DurationMinutes: 30}, nil, 30, new(int32(12))},
		"has an end":                        {&bookingv1.NewEventDate{StartsAt: early(3), EndsAt: early(5)}, nil, 120, new(int32(12))},
		"has a capacity":                    {&bookingv1.NewEventDate{StartsAt: early(4), Capacity: new(int32(0))}, nil, 90, new(int32(0))},
		"is unlimited":                      {&bookingv1.NewEventDate{StartsAt: early(6), Unlimited: true}, nil, 90, nil},
		"is one of a rule":                  {&bookingv1.NewEventDate{}, &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=3", LocalStart: "2029-07-01T09:00:00"}, 90, new(int32(12))},
		"is one of a rule and is unlimited": {&bookingv1.NewEventDate{Unlimited: true, DurationMinutes: 15}, &bookingv1.Recurrence{Rule: "FREQ=DAILY;COUNT=2", LocalStart: "2029-08-01T09:00:00"}, 15, nil},
	} {
		t.Run("a date that "+name, func(t *testing.T) {
			dates, err := add(c.date, c.rule)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range dates {
				if d.GetDurationMinutes() != c.minutes || (d.Capacity == nil) != (c.capacity == nil) || d.Capacity != nil && d.GetCapacity() != *c.capacity {
					t.Errorf("got %v", d)
				}
			}
		})
	}
	_, err := add(&bookingv1.NewEventDate{StartsAt: early(7), Unlimited: true, Capacity: new(int32(3))}, nil)
	if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "dates[0].unlimited" || f.Fields[0].Rule != "exclusive" {
		t.Errorf("got %v", f.Fields)
	}
}
