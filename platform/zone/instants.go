package zone

import "time"

// farthest is more than the offset of any zone from UTC.
const farthest = 24 * time.Hour

// Instants returns the first and the last instant at which a clock in loc shows the fields
// of wall. The zone of wall itself is ignored. The two instants differ only for a time that
// a clock change repeats. A time that a clock change skips moves forward by the gap: on a
// night when clocks in London jump from 01:00 to 02:00, 01:30 is the instant shown as 02:30.
//
// time.Date does not specify which of two instants it returns, so Instants compares the
// offsets a day before and a day after. No zone has two changes within that time.
// (Time.ZoneBounds would find the change directly. But on the last day of a leap year beyond
// the zone's table, it returns an end that lies before the instant.)
func Instants(wall time.Time, loc *time.Location) (first, last time.Time) {
	utc := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	before, after := offset(utc.Add(-farthest), loc), offset(utc.Add(farthest), loc)
	early, late := utc.Add(-before), utc.Add(-after)
	isEarly, isLate := offset(early, loc) == before, offset(late, loc) == after
	switch {
	case isEarly && isLate:
		return early, late
	case isLate:
		return late, late
	}
	// Either the clock shows wall before the change, or the change skips wall. In that case
	// the offset before the change moves it forward by the gap.
	return early, early
}

func offset(at time.Time, loc *time.Location) time.Duration {
	_, seconds := at.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// Instant returns the first instant at which a clock in loc shows the fields of wall. See
// Instants for times that a clock change repeats or skips.
func Instant(wall time.Time, loc *time.Location) time.Time {
	first, _ := Instants(wall, loc)
	return first
}

// StartOfDay returns the first instant of a calendar day in loc.
func StartOfDay(year int, month time.Month, day int, loc *time.Location) time.Time {
	return Instant(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), loc)
}
