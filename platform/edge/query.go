package edge

import (
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
)

// Query reads query parameters. They arrive as text, so that a wrong one gets an error
// that names it; a parameter that is not given is nil. The zero value is ready for use.
// Err returns the fault of the first parameter that is wrong.
type Query struct{ err error }

// Err returns the fault of the first parameter that is wrong, or nil.
func (q *Query) Err() error { return q.err }

// Fail notes the fault of a parameter, unless an earlier one is wrong.
func (q *Query) Fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

func (q *Query) fail(name, rule, phrase string) { q.Fail(fault.InvalidParameter(name, rule, phrase)) }

// Int reads a whole number.
func (q *Query) Int(name string, value *string) *int32 {
	if value == nil {
		return nil
	}
	n, rule := parseInt(*value)
	switch rule {
	case "":
		return &n
	case ruleRange:
		q.fail(name, ruleRange, "is out of range")
	default:
		q.fail(name, ruleType, "must be a whole number")
	}
	return nil
}

// PageSize reads the size of a page. A size beyond all numbers is read as the largest
// number: page sizes have a limit, and a larger one is answered with the limit.
func (q *Query) PageSize(name string, value *string) *int32 {
	if value != nil && !strings.HasPrefix(*value, "-") {
		if _, rule := parseInt(*value); rule == ruleRange {
			largest := int32(math.MaxInt32)
			return &largest
		}
	}
	return q.Int(name, value)
}

// parseInt reads a whole number. rule is the one that text breaks, or "".
func parseInt(text string) (n int32, rule string) {
	v, err := strconv.ParseInt(text, 10, 64)
	digits := strings.TrimPrefix(text, "-")
	switch {
	case err != nil && (digits == "" || strings.Trim(digits, "0123456789") != ""):
		return 0, ruleType
	case err != nil || v < math.MinInt32 || v > math.MaxInt32:
		return 0, ruleRange
	}
	return int32(v), ""
}

// Bool reads true or false in any case, because programs print True as well.
func (q *Query) Bool(name string, value *string) *bool {
	if value == nil {
		return nil
	}
	text := strings.ToLower(*value)
	b := text == "true"
	if !b && text != "false" {
		q.fail(name, ruleType, "must be true or false")
		return nil
	}
	return &b
}

// Instant reads a date-time with offset, as in RFC 3339.
func (q *Query) Instant(name string, value *string) *timestamppb.Timestamp {
	if value == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *QueryDate(value))
	if err != nil || t.Year() < 1 {
		q.fail(name, "format", "must be a date-time with offset, as in 2026-03-29T08:30:00Z")
		return nil
	}
	return timestamppb.New(t)
}

// QueryEnum reads the name of an enum's value; 0 if it is not given.
func QueryEnum[E enum.Enum](q *Query, name string, value *string) E {
	if value == nil {
		return 0
	}
	v, ok := enum.Parse[E](*value)
	if !ok {
		q.fail(name, "enum", fault.OneOf(enum.Names[E]()))
	}
	return v
}

// QueryDate restores the "+" of an offset that was not escaped and so arrived as a
// blank: no date is written with blanks.
func QueryDate(value *string) *string {
	if value == nil {
		return nil
	}
	v := strings.ReplaceAll(*value, " ", "+")
	return &v
}
