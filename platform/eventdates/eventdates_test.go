package eventdates

import (
	"math"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	number := func(n int64) *int64 { return &n }
	date := func(days int, capacity, booked int32) Date {
		return Date{StartsAt: now.AddDate(0, 0, days), Minutes: 60, Capacity: &capacity, Booked: booked}
	}
	unlimited := date(3, 0, 4)
	unlimited.Capacity = nil
	cancelled := func(d Date) Date {
		d.Cancelled = true
		return d
	}
	type dates = []Date
	for behaviour, c := range map[string]struct {
		dates       dates
		capacity    *int64
		taken       int64
		first, last int // days from now
	}{
		"adds up the upcoming dates":                       {dates{date(1, 5, 2), date(2, 7, 0)}, number(12), 2, 1, 2},
		"leaves out dates that have started":               {dates{date(-1, 5, 2), date(0, 5, 3), date(2, 7, 1)}, number(7), 1, -1, 2},
		"leaves out cancelled dates":                       {dates{cancelled(date(1, 5, 0)), date(2, 7, 1), date(3, 1, 0)}, number(8), 1, 2, 3},
		"counts nothing if several dates have started":     {dates{date(-2, 5, 2), date(-1, 5, 3)}, number(0), 0, -2, -1},
		"counts nothing if several dates are cancelled":    {dates{cancelled(date(1, 5, 0)), cancelled(date(2, 5, 0))}, number(0), 0, 1, 2},
		"counts a single date that has started":            {dates{date(-1, 5, 2)}, number(5), 2, -1, -1},
		"counts a single date that is cancelled":           {dates{cancelled(date(1, 5, 0))}, number(5), 0, 1, 1},
		"is unlimited if an upcoming date is":              {dates{date(1, 5, 0), unlimited}, nil, 4, 1, 3},
		"is limited if only a past date is unlimited":      {dates{{StartsAt: now.AddDate(0, 0, -1), Minutes: 60}, date(1, 5, 0)}, number(5), 0, -1, 1},
		"does not overflow":                                {dates{date(1, math.MaxInt32, 1), date(2, math.MaxInt32, 1)}, number(2 * math.MaxInt32), 2, 1, 2},
		"shows the end of a longer date that starts first": {dates{{StartsAt: now, Minutes: 3 * 1440}, date(2, 1, 0)}, number(1), 0, 0, 3},
	} {
		t.Run(behaviour, func(t *testing.T) {
			got := Of(c.dates, now)
			if (got.Capacity == nil) != (c.capacity == nil) || c.capacity != nil && *got.Capacity != *c.capacity {
				t.Errorf("capacity: got %v, want %v", got.Capacity, c.capacity)
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
