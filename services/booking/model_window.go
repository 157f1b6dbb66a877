package booking

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

// Names of the parameters of a list, as its faults have them.
const (
	paramPage      = "page"
	paramPageSize  = "page_size"
	paramStartDate = "start_date"
	paramEndDate   = "end_date"
)

// defaultMonths is how far back a list without a lower bound reaches.
const defaultMonths = 3

// window bounds the purchases of a list, both ends inclusive and, as purchases
// are, whole seconds.
type window struct{ from, to time.Time }

// newWindow reads the bounds of a list; nil ones were not given. A date is the
// whole of that day in loc, 23 or 25 hours long where the clocks change. A local
// date-time is meant in loc; of a doubled one the first is meant as the lower
// bound and the last as the upper one, and a skipped one moves forward by the
// gap. Without a lower bound the window opens three months before today, at the
// start of the day; without an upper one it does not end.
//
// Only bounds that were given can contradict each other: an upper bound before
// the default lower one makes an empty list.
func newWindow(start, end *string, now time.Time, loc *time.Location) (window, error) {
	year, month, day := monthsBefore(now.In(loc), defaultMonths)
	w := window{from: zone.StartOfDay(year, month, day, loc), to: endOfTime()}
	var lower, upper isotime.Time
	var err error
	if start != nil {
		if lower, err = isotime.Parse(*start); err != nil {
			return window{}, notADate(paramStartDate)
		}
		w.from = firstInstant(lower, loc)
	}
	if end != nil {
		if upper, err = isotime.Parse(*end); err != nil {
			return window{}, notADate(paramEndDate)
		}
		w.to = lastInstant(upper, loc)
	}
	if start != nil && end != nil && contradict(lower, upper, w) {
		return window{}, fault.InvalidParameter(paramStartDate, "order", "must not be after the end of the window")
	}
	// Instants between two seconds: the next second from below, the last one from above.
	if whole := w.from.Truncate(time.Second); whole.Before(w.from) {
		w.from = whole.Add(time.Second)
	}
	w.to = w.to.Truncate(time.Second)
	return w, nil
}

// monthsBefore returns the calendar day n months before the one of t, or the
// last day of that month where it is shorter: 31 May is preceded by 28 February.
func monthsBefore(t time.Time, n int) (year int, month time.Month, day int) {
	year, month, day = t.Date()
	firstOf := time.Date(year, month-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	lastDay := firstOf.AddDate(0, 1, -1).Day()
	return firstOf.Year(), firstOf.Month(), min(day, lastDay)
}

// contradict compares two days as days, because a day that a zone left out has
// no instant of its own, and all else as instants.
func contradict(lower, upper isotime.Time, w window) bool {
	if lower.Form == isotime.Day && upper.Form == isotime.Day {
		return lower.After(upper.Time)
	}
	return w.from.After(w.to)
}

// endOfTime is after every instant that can be written with four digits of year.
func endOfTime() time.Time { return time.Date(10000, 12, 31, 0, 0, 0, 0, time.UTC) }

func notADate(name string) error {
	return fault.InvalidParameter(name, "format",
		"must be an ISO 8601 date (2026-03-29) or date-time (2026-03-29T09:30:00, with or without an offset)")
}

// firstInstant is the earliest instant that t means in loc.
func firstInstant(t isotime.Time, loc *time.Location) time.Time {
	if t.Form == isotime.Instant {
		return t.Time
	}
	return zone.Instant(t.Time, loc)
}

// lastInstant is the latest instant that t means in loc; of a day, its last second.
func lastInstant(t isotime.Time, loc *time.Location) time.Time {
	switch t.Form {
	case isotime.Instant:
		return t.Time
	case isotime.Day:
		next := t.AddDate(0, 0, 1)
		return zone.StartOfDay(next.Year(), next.Month(), next.Day(), loc).Add(-time.Second)
	}
	_, last := zone.Instants(t.Time, loc)
	return last
}

const (
	defaultPageSize = 30
	maxPageSize     = 100
)

// numberedPage is a slice of a list: size items after offset.
type numberedPage struct {
	number, size int32
}

func (p numberedPage) offset() int64 { return int64(p.number) * int64(p.size) }

// newPage reads the page of a list; nil parts were not given. A size above the
// maximum is taken as the maximum.
func newPage(number, size *int32) (numberedPage, error) {
	p := numberedPage{number: 0, size: defaultPageSize}
	if number != nil {
		p.number = *number
	}
	if size != nil {
		p.size = min(*size, maxPageSize)
	}
	if p.number < 0 {
		return numberedPage{}, fault.InvalidParameter(paramPage, "min", "must be 0 or more")
	}
	if p.size < 1 {
		return numberedPage{}, fault.InvalidParameter(paramPageSize, "min", "must be 1 or more")
	}
	return p, nil
}
