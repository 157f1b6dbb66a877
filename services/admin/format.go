package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"reservation.dev/platform/eventdates"
)

// printed returns a message that a function prints in the language and region of the request.
func printed(print func(x *texts) string) *message { return &message{print: print} }

// priceText says an amount of minor units: "£12.50".
func priceText(minor int64, currency string) *message {
	return printed(func(x *texts) string { return x.price(minor, currency) })
}

// numberText says a number with its digits grouped.
func numberText[N int | int32 | int64](n N) *message {
	return printed(func(x *texts) string { return x.number(int64(n)) })
}

// timeText says a time in a format of the catalogue.
func timeText(format string, t time.Time) *message {
	return printed(func(x *texts) string { return x.format(format, t) })
}

// wallDate says a YYYY-MM-DD date: "21 Nov 2026".
func wallDate(text string) *message {
	return printed(func(x *texts) string { return x.wallDate(text) })
}

// wallTime says a time of day, given as HH:MM.
func wallTime(text string) *message {
	return printed(func(x *texts) string { return x.wallTime(text) })
}

// currencyName returns the name of a currency; the code if the currency is unknown.
func currencyName(code string) *message { return msg("shared.currency." + code).or(code) }

// amount prints minor units as audit entries have them: "12.50".
func amount(minor int64) string { return fmt.Sprintf("%d.%02d", minor/100, minor%100) }

// toInt returns an int, int32 or int64; 0 for any other value.
func toInt(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// duration says minutes: "45 min", "1 h 30 min", "2 h".
func duration(minutes int32) *message {
	h, m := minutes/60, minutes%60
	switch {
	case h == 0:
		return msg("shared.duration.minutes", "minutes", m)
	case m == 0:
		return msg("shared.duration.hours", "hours", h)
	}
	return msg("shared.duration.both", "hours", h, "minutes", m)
}

// stateTag is a status as pages show it: its text, and the class of the tag's colour.
type stateTag struct {
	Class string
	Text  *message
}

// views converts the items of a service's response into those of a page.
func views[T, V any](all []T, view func(T) V) []V {
	views := make([]V, len(all))
	for i, item := range all {
		views[i] = view(item)
	}
	return views
}

// clock prints times in the company's zone, in the language and region of the request.
type clock struct {
	Zone *time.Location
	// now is the company's time: what the test clock shows, for a company in test mode. real is the real
	// time, to which sessions, credentials, logs and deliveries keep.
	now, real time.Time
	texts     *texts
}

// Present prints the company's time.
func (c clock) Present() string { return c.Time(timestamppb.New(c.now)) }

// Now prints the company's time of day.
func (c clock) Now() string { return c.Hour(timestamppb.New(c.now)) }

// Real prints the real time.
func (c clock) Real() string { return c.Time(timestamppb.New(c.real)) }

// Name returns the zone's name, printed next to times.
func (c clock) Name() string { return strings.ReplaceAll(c.Zone.String(), "_", " ") }

// Time prints date and time: "Sat 21 Nov 2026, 13:04".
func (c clock) Time(t *timestamppb.Timestamp) string {
	if t == nil {
		return "–"
	}
	return c.texts.format("day_time", t.AsTime().In(c.Zone))
}

// Seconds prints date and time to the second.
func (c clock) Seconds(t *timestamppb.Timestamp) string {
	if t == nil {
		return "–"
	}
	return c.texts.format("seconds", t.AsTime().In(c.Zone))
}

// Day prints a date: "Sat 21 Nov 2026".
func (c clock) Day(t *timestamppb.Timestamp) string {
	if t == nil {
		return "–"
	}
	return c.texts.format("day", t.AsTime().In(c.Zone))
}

// Hour prints the time of day.
func (c clock) Hour(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return c.texts.format("time", t.AsTime().In(c.Zone))
}

// Past reports whether an instant is not in the future.
func (c clock) Past(t *timestamppb.Timestamp) bool { return t != nil && !t.AsTime().After(c.now) }

// late reports whether a date that starts at an instant has started, and can still be booked with a reason.
func (c clock) late(start *timestamppb.Timestamp) bool {
	return c.Past(start) && !start.AsTime().Before(c.earliest())
}

// earliest returns the earliest start of the dates that can still be booked, and whose bookings can be changed.
func (c clock) earliest() time.Time { return c.now.Add(-eventdates.MaxAfterStart) }

// Ago prints the real time since an instant: "5 minutes ago"; from 14 days on, its date.
func (c clock) Ago(t *timestamppb.Timestamp) string {
	if t == nil {
		return c.texts.text("shared.ago.never")
	}
	d := c.real.Sub(t.AsTime())
	switch {
	case d < 0:
		return c.Time(t)
	case d < time.Minute:
		return c.texts.text("shared.ago.now")
	case d < time.Hour:
		return c.texts.text("shared.ago.minutes", "count", int(d/time.Minute))
	case d < 24*time.Hour:
		return c.texts.text("shared.ago.hours", "count", int(d/time.Hour))
	case d < 14*24*time.Hour:
		return c.texts.text("shared.ago.days", "count", int(d/(24*time.Hour)))
	}
	return c.Day(t)
}

// indented returns JSON with indentation; text that is not JSON is returned unchanged.
func indented(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
