package edge

import (
	"math"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
)

// QueryInt reads an optional whole number; nil stays nil.
func QueryInt(name string, value *string) (*int32, error) {
	if value == nil {
		return nil, nil
	}
	n, err := strconv.ParseInt(*value, 10, 64)
	switch {
	case err != nil && strings.Trim(*value, "-0123456789") == "" && strings.Trim(*value, "-") != "" && strings.LastIndexByte(*value, '-') <= 0:
		return nil, fault.InvalidParameter(name, "range", "is out of range")
	case err != nil:
		return nil, fault.InvalidParameter(name, "type", "must be a whole number")
	case n < math.MinInt32 || n > math.MaxInt32:
		return nil, fault.InvalidParameter(name, "range", "is out of range")
	}
	v := int32(n)
	return &v, nil
}

// QueryPageSize reads an optional page size. What is larger than any number is
// like the largest: a page size has a limit, and above it the limit is taken.
func QueryPageSize(name string, value *string) (*int32, error) {
	n, err := QueryInt(name, value)
	if err != nil && fault.From(err).Fields[0].Rule == "range" && !strings.HasPrefix(*value, "-") {
		largest := int32(math.MaxInt32)
		return &largest, nil
	}
	return n, err
}

// QueryDate makes up for a "+" of an offset that was not escaped and so arrived
// as a blank: no date is written with blanks.
func QueryDate(value *string) *string {
	if value == nil {
		return nil
	}
	v := strings.ReplaceAll(*value, " ", "+")
	return &v
}

// QueryBool reads an optional true or false in any case, because programs print
// True as well; nil is false.
func QueryBool(name string, value *string) (bool, error) {
	if value == nil {
		return false, nil
	}
	switch strings.ToLower(*value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fault.InvalidParameter(name, "type", "must be true or false")
}

// QueryInstant reads an optional date-time with offset, as in RFC 3339.
func QueryInstant(name string, value *string) (*time.Time, error) {
	if value == nil {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, *QueryDate(value))
	if err != nil || t.Year() < 1 {
		return nil, fault.InvalidParameter(name, "format", "must be a date-time with offset, as in 2026-03-29T08:30:00Z")
	}
	return &t, nil
}
