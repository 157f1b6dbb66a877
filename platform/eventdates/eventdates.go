// Package eventdates summarizes the dates of an event. The booking service returns the summary with
// an event, and compares it with the values that an update contains. The package also says for how long
// after its start a date can be booked.
package eventdates

import (
	"slices"
	"time"
)

// MaxAfterStart is how long after its start a date can be booked, or a booking of it changed, with a reason.
const MaxAfterStart = 31 * 24 * time.Hour

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
	// Capacity is for the same dates as Taken. It is nil if one of the dates is unlimited.
	Capacity *int64
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

// Of summarizes the dates of an event at the time now. The dates must be sorted by start.
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
	var capacity int64
	unlimited := false
	for _, d := range dates {
		s.Taken += int64(d.Booked)
		if unlimited = unlimited || d.Capacity == nil; !unlimited {
			capacity += int64(*d.Capacity)
		}
	}
	if !unlimited {
		s.Capacity = &capacity
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
