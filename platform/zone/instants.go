package zone

import "time"

// farthest is further than any zone is from UTC.
const farthest = 24 * time.Hour

// Instants returns the first and the last instant at which a clock in loc shows
// wall, whose fields count and whose own zone does not. They differ only for a
// time that a clock change repeats. A time that a clock change skips moves
// forward by the gap: in London 01:30 of a night that jumps from 01:00 to 02:00
// is the instant shown as 02:30.
//
// time.Date leaves open which of two instants it picks, hence this. A change is
// seen by the offsets a day before and a day after; no zone has two within that.
// (Time.ZoneBounds would tell it directly, but on the last day of a leap year
// beyond the zone's table it names an end that lies before the instant.)
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
	// Either the clock shows wall before the change, or the change skips it, and
	// then the old offset makes it come out later by the gap.
	return early, early
}

func offset(at time.Time, loc *time.Location) time.Duration {
	_, seconds := at.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// Instant returns the instant at which a clock in loc shows wall: the first of those
// that Instants returns.
func Instant(wall time.Time, loc *time.Location) time.Time {
	first, _ := Instants(wall, loc)
	return first
}

// StartOfDay returns the first instant of a calendar day in loc.
func StartOfDay(year int, month time.Month, day int, loc *time.Location) time.Time {
	return Instant(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), loc)
}
