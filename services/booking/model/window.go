package model

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

// Names of the list parameters in faults.
const (
	paramPage      = "page"
	paramPageSize  = "page_size"
	paramStartDate = "start_date"
	paramEndDate   = "end_date"
)

// defaultMonths is the default lower bound of a list, in months before today.
const defaultMonths = 3

// Window bounds the purchase times of a list. Both bounds are inclusive and, like purchase times,
// whole seconds.
type Window struct{ From, To time.Time }

// NewWindow reads the bounds of a list; a nil bound was not given. A date means the whole day in
// loc, which has 23 or 25 hours if the clocks change. A local date-time is in loc. If it occurs
// twice, the first occurrence counts as a lower bound and the last as an upper bound. If it is
// skipped, it moves forward by the gap. Without a lower bound, the window starts three months
// before today, at the start of the day. Without an upper bound, it does not end.
//
// Only bounds that were given can contradict each other. An upper bound before the default lower
// bound makes the list empty.
func NewWindow(start, end *string, now time.Time, loc *time.Location) (Window, error) {
	year, month, day := monthsBefore(now.In(loc), defaultMonths)
	w := Window{From: zone.StartOfDay(year, month, day, loc), To: EndOfTime()}
	var lower, upper isotime.Time
	var err error
	if start != nil {
		if lower, err = isotime.Parse(*start); err != nil {
			return Window{}, notADate(paramStartDate)
		}
		w.From = firstInstant(lower, loc)
	}
	if end != nil {
		if upper, err = isotime.Parse(*end); err != nil {
			return Window{}, notADate(paramEndDate)
		}
		w.To = lastInstant(upper, loc)
	}
	if start != nil && end != nil && contradict(lower, upper, w) {
		return Window{}, fault.InvalidParameter(paramStartDate, "order", "must not be after the end of the window")
	}
	// Round bounds between two seconds inward: up for the lower bound, down for the upper bound.
	if whole := w.From.Truncate(time.Second); whole.Before(w.From) {
		w.From = whole.Add(time.Second)
	}
	w.To = w.To.Truncate(time.Second)
	return w, nil
}

// monthsBefore returns the calendar day n months before the day of t, or the last day of that month
// if it is shorter: one month before 31 March is 28 February.
func monthsBefore(t time.Time, n int) (year int, month time.Month, day int) {
	year, month, day = t.Date()
	firstOf := time.Date(year, month-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	lastDay := firstOf.AddDate(0, 1, -1).Day()
	return firstOf.Year(), firstOf.Month(), min(day, lastDay)
}

// contradict reports whether lower is after upper. It compares two days as days, because a day that
// a zone skips has no instant of its own, and everything else as instants.
func contradict(lower, upper isotime.Time, w Window) bool {
	if lower.Form == isotime.Day && upper.Form == isotime.Day {
		return lower.After(upper.Time)
	}
	return w.From.After(w.To)
}

// EndOfTime is after every instant with a four-digit year.
func EndOfTime() time.Time { return time.Date(10000, 12, 31, 0, 0, 0, 0, time.UTC) }

func notADate(name string) error {
	return fault.InvalidParameter(name, "format",
		"must be an ISO 8601 date (2026-03-29) or date-time (2026-03-29T09:30:00, with or without an offset)")
}

// firstInstant returns the earliest instant that t can mean in loc.
func firstInstant(t isotime.Time, loc *time.Location) time.Time {
	if t.Form == isotime.Instant {
		return t.Time
	}
	return zone.Instant(t.Time, loc)
}

// lastInstant returns the latest instant that t can mean in loc; for a day, its last second.
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

// Page is a part of a list: size items after offset.
type Page struct {
	Number, Size int32
}

// Offset returns the number of items before the page.
func (p Page) Offset() int64 { return int64(p.Number) * int64(p.Size) }

// NewPage reads the page of a list; a nil part was not given. A size above the maximum means the
// maximum.
func NewPage(number, size *int32) (Page, error) {
	p := Page{Number: 0, Size: defaultPageSize}
	if number != nil {
		p.Number = *number
	}
	if size != nil {
		p.Size = min(*size, maxPageSize)
	}
	if p.Number < 0 {
		return Page{}, fault.InvalidParameter(paramPage, "min", "must be 0 or more")
	}
	if p.Size < 1 {
		return Page{}, fault.InvalidParameter(paramPageSize, "min", "must be 1 or more")
	}
	return p, nil
}
