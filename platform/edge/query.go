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

// Query reads query parameters and keeps the fault of the first invalid one. Parameters arrive as
// text, so that the fault can name them; an absent parameter is nil. The zero value is ready for use.
type Query struct{ err error }

// Err returns the fault of the first invalid parameter, or nil.
func (q *Query) Err() error { return q.err }

// Fail keeps the fault of a parameter, unless an earlier parameter is invalid.
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

// PageSize reads the size of a page. A size that does not fit an int32 is read as the largest int32,
// because a size beyond the maximum means the maximum.
func (q *Query) PageSize(name string, value *string) *int32 {
	if value != nil && !strings.HasPrefix(*value, "-") {
		if _, rule := parseInt(*value); rule == ruleRange {
			largest := int32(math.MaxInt32)
			return &largest
		}
	}
	return q.Int(name, value)
}

// parseInt reads a whole number. rule is the rule that text breaks, or "".
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

// Bool reads true or false. Case does not matter, because some programs print True.
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

// Instant reads a date-time with an offset (RFC 3339).
func (q *Query) Instant(name string, value *string) *timestamppb.Timestamp {
	if value == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *QueryDate(value))
	if err != nil || t.Year() < 1 {
		q.fail(name, "format", "must be a date-time with an offset, for example 2026-03-29T08:30:00Z")
		return nil
	}
	return timestamppb.New(t)
}

// QueryEnum reads the name of an enum value. It returns 0 if the parameter is absent.
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

// QueryDate restores the "+" of an offset. A client that does not escape it sends a space, which no
// date contains.
func QueryDate(value *string) *string {
	if value == nil {
		return nil
	}
	v := strings.ReplaceAll(*value, " ", "+")
	return &v
}
