package slots

import (
	"time"

	"reservation.dev/platform/zone"
)

const secondsPerDay = 24 * 60 * 60

// Date is a calendar day: the number of days since 1 January 1970.
type Date int32

// DateOf returns the calendar day that t shows in its location.
func DateOf(t time.Time) Date {
	_, offset := t.Zone()
	return dateAt(t.Unix() + int64(offset))
}

// dateAt returns the day of a wall time, in seconds since the midnight at which 1970 began.
func dateAt(wall int64) Date {
	day := wall / secondsPerDay
	if wall%secondsPerDay < 0 {
		day--
	}
	return Date(day)
}

// ParseDate reads YYYY-MM-DD.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	return DateOf(t), err
}

// String returns YYYY-MM-DD.
func (d Date) String() string { return d.wall(0).Format(time.DateOnly) }

// Start returns the first instant of the day in loc.
func (d Date) Start(loc *time.Location) time.Time { return zone.Instant(d.wall(0), loc) }

// monday returns the first day of the calendar week.
func (d Date) monday() Date {
	// 1 January 1970 was a Thursday.
	days := (d + 3) % 7
	if days < 0 {
		days += 7
	}
	return d - days
}

// wall returns a wall time of the day, as minutes after midnight, in UTC.
func (d Date) wall(minutes int32) time.Time {
	return time.Unix(int64(d)*secondsPerDay+int64(minutes)*60, 0).UTC()
}
