package gatewayb

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
)

// noIdentifier replaces an empty identifier in a call. It is not a valid identifier, so the services
// respond as if the resource did not exist.
const noIdentifier = "-"

// identifier returns an optional identifier, or "" if the caller does not give one. An empty one
// becomes noIdentifier: if a client's variable is empty by mistake, the request must not succeed as
// if the member were absent.
func identifier(given *string) string {
	if given != nil && *given == "" {
		return noIdentifier
	}
	if given == nil {
		return ""
	}
	return *given
}

// body collects the failed checks of a request's body before the service is called.
type body struct{ check.Fields }

// value reads the name of an enum value. An absent name is the zero value.
func value[E enum.Enum](b *body, field string, name *string) E {
	return choice[E](b, field, name, enum.Names[E]())
}

// choice returns the position of name in names, counted from 1, or 0 if it is absent.
func choice[T ~int32](b *body, field string, name *string, names []string) T {
	if name == nil {
		return 0
	}
	for i, known := range names {
		if known == *name {
			return T(i + 1)
		}
	}
	b.Add(field, "enum", fault.OneOf(names))
	return 0
}

// notEmpty rejects an empty text, which the services would treat as absent.
func (b *body) notEmpty(field string, text *string) {
	if text != nil && *text == "" {
		b.Add(field, "required", "must not be empty")
	}
}

// required rejects a member that is absent or empty.
func (b *body) required(field, text string) {
	if text == "" {
		b.Add(field, "required", "is required")
	}
}

// moment reads the start of an event date as momentLike does.
func (b *body) moment(field string, text *string) (at *timestamppb.Timestamp, local string) {
	return b.momentLike(field, text, "must be a date-time, for example 2026-03-29T08:30:00Z, or 2026-03-29T09:30:00 in the event's time zone")
}

// momentLike reads a date-time. With an offset it is an instant, returned as at. Without one it is local
// time, returned as local. format is the message if the text is neither.
func (b *body) momentLike(field string, text *string, format string) (at *timestamppb.Timestamp, local string) {
	if text == nil {
		return nil, ""
	}
	if t, err := time.Parse(time.RFC3339, *text); err == nil && t.Year() > 0 {
		return timestamppb.New(t), ""
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, *text); err == nil && t.Nanosecond() == 0 {
			return nil, t.Format("2006-01-02T15:04:05")
		}
	}
	b.Add(field, "format", format)
	return nil, ""
}

// instant reads a date-time with an offset.
func (b *body) instant(field string, text *string) *timestamppb.Timestamp {
	if text == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *text)
	if err != nil || t.Year() < 1 {
		b.Add(field, "format", "must be a date-time with an offset, for example 2026-03-29T08:30:00Z")
		return nil
	}
	return timestamppb.New(t)
}

// index returns the path of a member of the i-th entry of a list: "dates[0].startsAt".
func index(list string, i int, member string) string {
	return list + "[" + strconv.Itoa(i) + "]." + member
}
