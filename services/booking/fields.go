package booking

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/services/booking/isotime"
)

// fields collects the faults of a request, in the order in which they are found.
type fields struct{ fault.Checks }

func (f *fields) add(field, rule, phrase string) { f.Add(field, rule, phrase) }

// err is a VALIDATION_ERROR with all faults, or nil.
func (f *fields) err() error { return f.Err() }

// text checks one line of text, which was trimmed before.
func (f *fields) text(field, s string, low, high int) {
	if phrase := length(s, low, high); phrase.rule != "" {
		f.add(field, phrase.rule, phrase.text)
		return
	}
	if !printable(s, false) {
		f.add(field, "characters", "must not contain control characters")
	}
}

// prose checks text that may have several lines.
func (f *fields) prose(field, s string, high int) {
	if phrase := length(s, 0, high); phrase.rule != "" {
		f.add(field, phrase.rule, phrase.text)
		return
	}
	if !printable(s, true) {
		f.add(field, "characters", "must not contain control characters other than line breaks and tabs")
	}
}

// count checks a number of items and reports whether they are worth a look.
func (f *fields) count(field string, n, low, high int) bool {
	switch {
	case n < low:
		f.add(field, "required", fmt.Sprintf("must have at least %d", low))
	case n > high:
		f.add(field, "max_items", fmt.Sprintf("must have at most %d", high))
	default:
		return true
	}
	return false
}

// moment checks an instant.
func (f *fields) moment(field string, at time.Time) {
	switch {
	case at.IsZero():
		f.add(field, "required", "is required")
	case !isotime.InRange(at):
		f.add(field, "range", "must be in the years 1 to 9999")
	}
}

// second checks an instant that is a whole second.
func (f *fields) second(field string, at time.Time) {
	f.moment(field, at)
	if at.Nanosecond() != 0 {
		f.add(field, "precision", "must be a whole second")
	}
}

type phrase struct{ rule, text string }

func length(s string, low, high int) phrase {
	switch n := utf8.RuneCountInString(s); {
	case n == 0 && low > 0:
		return phrase{"required", "is required"}
	case n > high:
		return phrase{"max_length", fmt.Sprintf("must be at most %d characters", high)}
	}
	return phrase{}
}

// printable reports text without control characters, which neither PostgreSQL
// (NUL) nor the people who read it have a use for.
func printable(s string, severalLines bool) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		if severalLines && (r == '\n' || r == '\r' || r == '\t') {
			return false
		}
		return unicode.IsControl(r)
	}) < 0
}
