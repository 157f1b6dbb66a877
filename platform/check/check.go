// Package check holds the rules that requests of more than one service are checked
// by, and collects every check that fails, so that a caller can fix them all at once.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
)

// Fields collects the failed checks of a request's fields, in the order in which they
// are found. The zero value is empty; Err returns the fault.
type Fields struct{ fault.Checks }

// Line trims one line of text and checks that it has at least min and at most max
// characters, none of them a control character. An empty one is "required" if min is
// more than 0.
func (f *Fields) Line(field, s string, minimum, maximum int) string {
	s = strings.TrimSpace(s)
	f.text(field, s, minimum, maximum, unicode.IsControl, "must not contain control characters")
	return s
}

// Prose is Line for text that may have several lines.
func (f *Fields) Prose(field, s string, minimum, maximum int) string {
	s = strings.TrimSpace(s)
	f.Untrimmed(field, s, minimum, maximum)
	return s
}

// Untrimmed is Prose for text that is stored as it was given.
func (f *Fields) Untrimmed(field, s string, minimum, maximum int) {
	f.text(field, s, minimum, maximum, isControlInProse, "must not contain control characters other than line breaks and tabs")
}

func (f *Fields) text(field, s string, minimum, maximum int, forbidden func(rune) bool, phrase string) {
	switch n := utf8.RuneCountInString(s); {
	case n == 0 && minimum > 0:
		f.Add(field, "required", "is required")
	case n < minimum:
		f.Add(field, "min_length", fmt.Sprintf("must be at least %d characters", minimum))
	case n > maximum:
		f.Add(field, "max_length", fmt.Sprintf("must be at most %d characters", maximum))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, forbidden):
		f.Add(field, "characters", phrase)
	}
}

func isControlInProse(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// Range checks that a number is from minimum to maximum.
func (f *Fields) Range(field string, n, minimum, maximum int64) {
	if n < minimum || n > maximum {
		f.Add(field, "range", fmt.Sprintf("must be %d to %d", minimum, maximum))
	}
}

// Count checks the number of items of a list, and reports whether it is right, so that
// the items are worth a check.
func (f *Fields) Count(field string, n, minimum, maximum int) bool {
	switch {
	case n < minimum:
		f.Add(field, "required", fmt.Sprintf("must have at least %d", minimum))
	case n > maximum:
		f.Add(field, "max_items", fmt.Sprintf("must have at most %d", maximum))
	default:
		return true
	}
	return false
}

// OneOf checks that a value is one of names.
func (f *Fields) OneOf(field, value string, names []string) {
	if !slices.Contains(names, value) {
		f.Add(field, "enum", fault.OneOf(names))
	}
}

// Timezone checks the IANA name of a time zone.
func (f *Fields) Timezone(field, name string) {
	if name == "" {
		f.Add(field, "required", "is required")
	} else if _, err := zone.Load(name); err != nil {
		f.Add(field, "timezone", "must be an IANA time zone, for example Europe/London")
	}
}

// Currency checks the ISO 4217 code of a currency that prices can be in.
func (f *Fields) Currency(field, code string) {
	if code == "" {
		f.Add(field, "required", "is required")
		return
	}
	f.OneOf(field, code, money.Currencies())
}

// Instant checks an instant that must be given.
func (f *Fields) Instant(field string, at time.Time) {
	switch {
	case at.IsZero():
		f.Add(field, "required", "is required")
	case !Storable(at):
		f.Add(field, "range", "must be in the years 1 to 9999")
	}
}

// Second is Instant for a whole second.
func (f *Fields) Second(field string, at time.Time) {
	f.Instant(field, at)
	if at.Nanosecond() != 0 {
		f.Add(field, "precision", "must not have fractions of a second")
	}
}

// Storable reports whether an instant has a year of four digits in every time zone.
func Storable(at time.Time) bool {
	earliest := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)
	latest := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	return !at.Before(earliest) && at.Before(latest)
}

// Bound reads an instant that bounds a list, such as updated_since; zero if it is not
// given. The fault is INVALID_PARAMETER.
func Bound(parameter string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if at := t.AsTime(); t.IsValid() && Storable(at) {
		return at, nil
	}
	return time.Time{}, fault.InvalidParameter(parameter, "range", "must be in the years 1 to 9999")
}

// ID reads the identifier of what ("customer") a request is about. Text that is not an
// identifier is answered like one that does not exist.
func ID[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](text, what string) (T, error) {
	var v T
	if text == "" || P(&v).UnmarshalText([]byte(text)) != nil {
		return v, fault.Missing(what)
	}
	return v, nil
}

// Version refuses to change what ("pass type") has another version than the caller
// expects; nil expects none.
func Version(current int64, expected *int64, what string) error {
	if expected == nil || *expected == current {
		return nil
	}
	return fault.Stale(what, current)
}
