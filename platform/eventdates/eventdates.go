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

// Summarize sums up dates that are in the order of their start.
func Summarize(dates []*bookingv1.EventDate, now time.Time) Summary {
	var s Summary
	s.span(dates)
	s.count(toCome(dates, now))
	return s
}

func (s *Summary) span(dates []*bookingv1.EventDate) {
	if scheduled := slices.DeleteFunc(slices.Clone(dates), cancelled); len(scheduled) > 0 {
		dates = scheduled
	}
	for i, d := range dates {
		if i == 0 {
			s.StartsAt, s.Minutes = d.GetStartsAt().AsTime(), d.GetDurationMinutes()
		}
		if end := d.GetStartsAt().AsTime().Add(time.Duration(d.GetDurationMinutes()) * time.Minute); end.After(s.EndsAt) {
			s.EndsAt = end
		}
	}
}

func (s *Summary) count(dates []*bookingv1.EventDate) {
	var capacity, available int64
	unlimited := false
	for _, d := range dates {
		s.Taken += int64(d.GetBooked())
		capacity += int64(d.GetCapacity())
		available += int64(d.GetCapacity()) - int64(d.GetBooked())
		unlimited = unlimited || d.Capacity == nil
	}
	if !unlimited {
		s.Capacity, s.Available = &capacity, &available
	}
}

// toCome lists the dates that take place and have not started, and an event's only
// date in any case.
func toCome(dates []*bookingv1.EventDate, now time.Time) []*bookingv1.EventDate {
	if len(dates) == 1 {
		return dates
	}
	return slices.DeleteFunc(slices.Clone(dates), func(d *bookingv1.EventDate) bool {
		return cancelled(d) || !d.GetStartsAt().AsTime().After(now)
	})
}

func cancelled(d *bookingv1.EventDate) bool {
	return d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
}
