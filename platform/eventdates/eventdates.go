// Package eventdates sums up the dates of an event. Interface B shows the sums, and
// the booking service compares them with what an update sends back, so both must
// compute them in the same way.
package eventdates

import (
	"slices"
	"time"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Summary is what the dates of an event come to together.
type Summary struct {
	// StartsAt and Minutes are those of the first date that takes place, and EndsAt
	// is the end of the last one. If no date takes place, all dates count.
	StartsAt, EndsAt time.Time
	Minutes          int32
	// Taken is the number of spaces booked on the dates to come. An event with a
	// single date always counts it.
	Taken int64
	// Capacity and Available are counted like Taken; nil: unlimited.
	Capacity, Available *int64
}

// Date is a date of an event.
type Date struct {
	StartsAt  time.Time
	Minutes   int32
	Capacity  *int32 // nil: unlimited
	Booked    int32
	Cancelled bool
}

// end returns the instant at which the date ends.
func (d Date) end() time.Time { return d.StartsAt.Add(time.Duration(d.Minutes) * time.Minute) }

// Summarize sums up dates that are in the order of their start.
func Summarize(dates []*bookingv1.EventDate, now time.Time) Summary {
	plain := make([]Date, len(dates))
	for i, d := range dates {
		plain[i] = Date{
			StartsAt: d.GetStartsAt().AsTime(), Minutes: d.GetDurationMinutes(), Capacity: d.Capacity, Booked: d.GetBooked(),
			Cancelled: d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED,
		}
	}
	return Of(plain, now)
}

// Of is Summarize for dates that are not messages.
func Of(dates []Date, now time.Time) Summary {
	var s Summary
	s.span(dates)
	s.count(toCome(dates, now))
	return s
}

func (s *Summary) span(dates []Date) {
	if scheduled := slices.DeleteFunc(slices.Clone(dates), isCancelled); len(scheduled) > 0 {
		dates = scheduled
	}
	for i, d := range dates {
		if i == 0 {
			s.StartsAt, s.Minutes = d.StartsAt, d.Minutes
		}
		if end := d.end(); end.After(s.EndsAt) {
			s.EndsAt = end
		}
	}
}

func (s *Summary) count(dates []Date) {
	var capacity, available int64
	unlimited := false
	for _, d := range dates {
		s.Taken += int64(d.Booked)
		if unlimited = unlimited || d.Capacity == nil; !unlimited {
			capacity += int64(*d.Capacity)
			available += int64(*d.Capacity) - int64(d.Booked)
		}
	}
	if !unlimited {
		s.Capacity, s.Available = &capacity, &available
	}
}

// toCome lists the dates that take place and have not started, and an event's only
// date in any case.
func toCome(dates []Date, now time.Time) []Date {
	if len(dates) == 1 {
		return dates
	}
	return slices.DeleteFunc(slices.Clone(dates), func(d Date) bool { return d.Cancelled || !d.StartsAt.After(now) })
}

func isCancelled(d Date) bool { return d.Cancelled }
