package eventdates

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	number := func(n int64) *int64 { return &n }
	date := func(days int, capacity, booked int32) *bookingv1.EventDate {
		return &bookingv1.EventDate{
			StartsAt: timestamppb.New(now.AddDate(0, 0, days)), DurationMinutes: 60, Capacity: &capacity, Booked: booked,
			Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
		}
	}
	unlimited := date(3, 0, 4)
	unlimited.Capacity = nil
	cancelled := func(d *bookingv1.EventDate) *bookingv1.EventDate {
		d.Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
		return d
	}
	type dates = []*bookingv1.EventDate
	for behaviour, c := range map[string]struct {
		dates               dates
		capacity, available *int64
		taken               int64
		first, last         int // days from now
	}{
		"adds up the upcoming dates":                       {dates{date(1, 5, 2), date(2, 7, 0)}, number(12), number(10), 2, 1, 2},
		"leaves out dates that have started":               {dates{date(-1, 5, 2), date(0, 5, 3), date(2, 7, 1)}, number(7), number(6), 1, -1, 2},
		"leaves out cancelled dates":                       {dates{cancelled(date(1, 5, 0)), date(2, 7, 1), date(3, 1, 0)}, number(8), number(7), 1, 2, 3},
		"counts nothing if several dates have started":     {dates{date(-2, 5, 2), date(-1, 5, 3)}, number(0), number(0), 0, -2, -1},
		"counts nothing if several dates are cancelled":    {dates{cancelled(date(1, 5, 0)), cancelled(date(2, 5, 0))}, number(0), number(0), 0, 1, 2},
		"counts a single date that has started":            {dates{date(-1, 5, 2)}, number(5), number(3), 2, -1, -1},
		"counts a single date that is cancelled":           {dates{cancelled(date(1, 5, 0))}, number(5), number(5), 0, 1, 1},
		"is unlimited if an upcoming date is":              {dates{date(1, 5, 0), unlimited}, nil, nil, 4, 1, 3},
		"is limited if only a past date is unlimited":      {dates{{StartsAt: timestamppb.New(now.AddDate(0, 0, -1)), DurationMinutes: 60}, date(1, 5, 0)}, number(5), number(5), 0, -1, 1},
		"does not overflow":                                {dates{date(1, math.MaxInt32, 1), date(2, math.MaxInt32, 1)}, number(2 * math.MaxInt32), number(2*math.MaxInt32 - 2), 2, 1, 2},
		"shows the end of a longer date that starts first": {dates{{StartsAt: timestamppb.New(now), DurationMinutes: 3 * 1440}, date(2, 1, 0)}, number(1), number(1), 0, 0, 3},
	} {
		t.Run(behaviour, func(t *testing.T) {
			got := Summarize(c.dates, now)
			for name, pair := range map[string][2]*int64{"capacity": {got.Capacity, c.capacity}, "available": {got.Available, c.available}} {
				if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && *pair[0] != *pair[1] {
					t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
				}
			}
			if got.Taken != c.taken {
				t.Errorf("taken: got %d, want %d", got.Taken, c.taken)
			}
			end := now.AddDate(0, 0, c.last)
			if c.last < 3 || c.first > 0 {
				end = end.Add(time.Hour)
			}
			if !got.StartsAt.Equal(now.AddDate(0, 0, c.first)) || !got.EndsAt.Equal(end) {
				t.Errorf("got %v to %v", got.StartsAt, got.EndsAt)
			}
		})
	}
}
