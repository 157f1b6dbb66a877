// Package eventdates summarizes the dates of an event. The booking service returns the summary with
// an event, and compares it with the values that an update contains.
package eventdates

import (
	"slices"
	"time"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Summary summarizes the dates of an event.
type Summary struct {
	// StartsAt and Minutes are the start and duration of the first date that is not
	// cancelled. EndsAt is the latest end of those dates. If every date is cancelled, they
	// describe the cancelled dates.
	StartsAt, EndsAt time.Time
	Minutes          int32
	// Taken is the number of spaces booked on upcoming dates, which have not started and
	// are not cancelled. The only date of an event always counts.
	Taken int64
	// Capacity and Available are for the same dates as Taken. They are nil if one of the
	// dates is unlimited.
	Capacity, Available *int64
}

// Date is one date of an event.
type Date struct {
	StartsAt  time.Time
	Minutes   int32
	Capacity  *int32 // nil: unlimited
	Booked    int32
	Cancelled bool
}

// end returns the instant at which the date ends.
func (d Date) end() time.Time { return d.StartsAt.Add(time.Duration(d.Minutes) * time.Minute) }

// Summarize summarizes the dates of an event at the time now. The dates must be sorted by
// start.
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

// Of is like Summarize, but takes dates that are not proto messages.
func Of(dates []Date, now time.Time) Summary {
	var s Summary
	s.span(dates)
	s.count(upcoming(dates, now))
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

// upcoming returns the dates that are not cancelled and have not started. It returns an
// event's only date in any case.
func upcoming(dates []Date, now time.Time) []Date {
	if len(dates) == 1 {
		return dates
	}
	return slices.DeleteFunc(slices.Clone(dates), func(d Date) bool { return d.Cancelled || !d.StartsAt.After(now) })
}

func isCancelled(d Date) bool { return d.Cancelled }
