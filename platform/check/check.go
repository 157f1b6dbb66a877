// Package check holds the checks of requests that more than one service needs. It collects every
// failed check of a request, so that the caller can fix all of them at the same time.
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

// Fields collects the failed checks of a request's fields. The zero value is empty. Err returns the
// fault.
type Fields struct{ fault.Checks }

// Line trims one line of text and returns it. It checks that the line has minimum to maximum
// characters and no control characters. If minimum is more than 0, an empty line breaks the rule
// "required".
func (f *Fields) Line(field, s string, minimum, maximum int) string {
	s = strings.TrimSpace(s)
	f.text(field, s, minimum, maximum, unicode.IsControl, "must not contain control characters")
	return s
}

// Prose is Line for text that can have several lines.
func (f *Fields) Prose(field, s string, minimum, maximum int) string {
	s = strings.TrimSpace(s)
	f.Untrimmed(field, s, minimum, maximum)
	return s
}

// Untrimmed is Prose for text that is stored without trimming.
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

// Count checks the number of items of a list. It reports whether the number is valid, so that the
// caller can skip the checks of the items otherwise.
func (f *Fields) Count(field string, n, minimum, maximum int) bool {
	switch {
	case n < minimum:
		f.Add(field, "required", "must have at least "+items(minimum))
	case n > maximum:
		f.Add(field, "max_items", "must have at most "+items(maximum))
	default:
		return true
	}
	return false
}

// items returns "1 item", "2 items" and so on.
func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// OneOf checks that a value is one of names.
func (f *Fields) OneOf(field, value string, names []string) {
	if !slices.Contains(names, value) {
		f.Add(field, "enum", fault.OneOf(names))
	}
}

// TimezonePhrase is what a time zone must be.
const TimezonePhrase = "must be an IANA time zone, for example Europe/London"

// Timezone checks that a required name is the IANA name of a time zone.
func (f *Fields) Timezone(field, name string) {
	if name == "" {
		f.Add(field, "required", "is required")
	} else if _, err := zone.Load(name); err != nil {
		f.Add(field, "timezone", TimezonePhrase)
	}
}

// Currency checks that a required code is the ISO 4217 code of a supported currency.
func (f *Fields) Currency(field, code string) {
	if code == "" {
		f.Add(field, "required", "is required")
		return
	}
	f.OneOf(field, code, money.Currencies())
}

// Instant checks that an instant is given and that it can be stored.
func (f *Fields) Instant(field string, at time.Time) {
	switch {
	case at.IsZero():
		f.Add(field, "required", "is required")
	case !Storable(at):
		f.Add(field, "range", "must be in the years 1 to 9999")
	}
}

// Second is Instant for an instant without fractions of a second.
func (f *Fields) Second(field string, at time.Time) {
	f.Instant(field, at)
	if at.Nanosecond() != 0 {
		f.Add(field, "precision", "must not have fractions of a second")
	}
}

// Storable reports whether the year of an instant is 1 to 9999 in every time zone.
func Storable(at time.Time) bool {
	earliest := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)
	latest := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	return !at.Before(earliest) && at.Before(latest)
}

// Bound reads an instant that filters a list, such as updated_since. It returns the zero time if the
// parameter is not given, and INVALID_PARAMETER if it is invalid.
func Bound(parameter string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if at := t.AsTime(); t.IsValid() && Storable(at) {
		return at, nil
	}
	return time.Time{}, fault.InvalidParameter(parameter, "range", "must be in the years 1 to 9999")
}

// ID reads the identifier of a resource, whose name for people is resource ("customer").
// Text that is not an identifier gets the same fault as a resource that does not exist.
func ID[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](text, resource string) (T, error) {
	var v T
	if text == "" || P(&v).UnmarshalText([]byte(text)) != nil {
		return v, fault.Missing(resource)
	}
	return v, nil
}

// After reads the identifier after which a stream begins. Empty text is the zero identifier, before all others.
func After[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](parameter, text string) (T, error) {
	var v T
	if text != "" && P(&v).UnmarshalText([]byte(text)) != nil {
		return v, fault.InvalidParameter(parameter, "format", "is not an identifier of what is streamed")
	}
	return v, nil
}

// Version returns a VERSION_MISMATCH fault if the resource does not have the version that the caller
// expects. resource is its name for people ("pass type"). If expected is nil, any version matches.
func Version(current int64, expected *int64, resource string) error {
	if expected == nil || *expected == current {
		return nil
	}
	return fault.Stale(resource, current)
}
