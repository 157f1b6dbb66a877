package reports

import (
	"math"
	"time"

	"reservation.dev/platform/zone"
)

// Day is a calendar day, as the number of days since 1970-01-01.
type Day int32

const (
	// noDay is null in the database.
	noDay Day = math.MinInt32
	// beforeAll is 0001-01-01, which precedes the first active day of a customer.
	beforeAll Day = -719162
	// afterAll is 9999-12-31, which follows the last active day of a customer. It is also the expiry date of
	// a pass that never expires.
	afterAll Day = 2932896

	secondsOfDay = 24 * 60 * 60
)

// dayOf returns the day of a date and time, in the zone of the time.
func dayOf(t time.Time) Day {
	year, month, day := t.Date()
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay)
}

// localDay returns the day of an instant in the zone with an IANA name; in UTC if the name is unknown.
func localDay(at time.Time, timezone string) Day {
	loc, err := zone.Load(timezone)
	if err != nil {
		loc = time.UTC
	}
	return dayOf(at.In(loc))
}

// parseDay parses YYYY-MM-DD. ok is false for other text, and for the days that mean never.
func parseDay(s string) (d Day, ok bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return noDay, false
	}
	d = dayOf(t)
	return d, d > beforeAll && d < afterAll
}

// time returns the start of the day in UTC.
func (d Day) time() time.Time { return time.Unix(int64(d)*secondsOfDay, 0).UTC() }

// String returns the day as YYYY-MM-DD.
func (d Day) String() string { return d.time().Format(time.DateOnly) }

// weekday returns the ISO weekday: 1 is Monday, 7 is Sunday.
func (d Day) weekday() int { return (int(d.time().Weekday())+6)%7 + 1 }

// month returns the first day of the month of d.
func (d Day) month() Day { return d - Day(d.time().Day()) + 1 }

// addMonths returns the day n months after the first day of a month.
func (d Day) addMonths(n int) Day { return dayOf(d.time().AddDate(0, n, 0)) }
