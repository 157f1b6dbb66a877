// Package isotime reads the dates and times of requests, which are written in ISO 8601.
package isotime

import (
	"errors"
	"strings"
	"time"
)

// Form is the precision of a text.
type Form uint8

const (
	Day     Form = iota // a calendar date
	Local               // a date and time of day, without a zone
	Instant             // a date-time with an offset
)

// Layouts in which a time without a zone is stored and shown.
const (
	LocalLayout = "2006-01-02T15:04:05"
	DayLayout   = time.DateOnly
)

// Time is a parsed text. For a Day or a Local time, only the clock and calendar fields of Time are
// meaningful, not its zone.
type Time struct {
	Form Form
	time.Time
}

var errFormat = errors.New("not an ISO 8601 date or date-time")

// Parse reads the extended format of ISO 8601. The seconds and the offset are optional:
//
//	2026-03-29   2026-03-29T09:30   2026-03-29T09:30:00.250   2026-03-29T09:30:00+01:00
//
// Years are 0001 to 9999. Fractions finer than a nanosecond are truncated.
func Parse(text string) (Time, error) {
	text = strings.ToUpper(text)
	if lenient(text) {
		return Time{}, errFormat
	}
	for _, l := range []struct {
		form   Form
		layout string
	}{
		{Day, DayLayout}, {Local, LocalLayout}, {Local, "2006-01-02T15:04"},
		{Instant, "2006-01-02T15:04:05Z07:00"}, {Instant, "2006-01-02T15:04:05Z0700"}, {Instant, "2006-01-02T15:04:05Z07"},
		{Instant, "2006-01-02T15:04Z07:00"}, {Instant, "2006-01-02T15:04Z0700"}, {Instant, "2006-01-02T15:04Z07"},
	} {
		at, err := time.Parse(l.layout, text)
		if err != nil {
			continue
		}
		if _, offset := at.Zone(); at.Year() < 1 || offset <= -secondsPerDay || offset >= secondsPerDay {
			break
		}
		return Time{l.form, at}, nil
	}
	return Time{}, errFormat
}

const secondsPerDay = 24 * 60 * 60

// lenient reports whether time.Parse could accept text although it is not ISO 8601: an hour of one
// digit, a comma before a fraction, or an offset of 60 minutes.
func lenient(text string) bool {
	_, clock, _ := strings.Cut(text, "T")
	hour, _, isTime := strings.Cut(clock, ":")
	sign := strings.IndexAny(clock, "+-")
	return isTime && len(hour) != 2 || strings.Contains(clock, ",") || sign > 0 && strings.HasSuffix(clock[sign:], "60")
}

// ParseLocal reads a local time in whole seconds. It ignores surrounding blanks.
func ParseLocal(text string) (time.Time, bool) {
	t, err := Parse(strings.TrimSpace(text))
	return t.Time, err == nil && t.Form == Local && t.Nanosecond() == 0
}
