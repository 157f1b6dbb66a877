package gatewayb

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// utc writes an instant as this interface does; "" if there is none.
func utc(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Truncate(time.Second).Format(time.RFC3339)
}

func nullableInt(v *int32) *edgev1.NullableInt { return &edgev1.NullableInt{Value: v} }

// noIdentifier stands for an empty text where an identifier is expected. It is not one,
// so services answer it like one that does not exist.
const noIdentifier = "-"

// identifier returns an optional identifier; "" if the caller gives none. An empty text is
// not the same as none: a client whose variable is empty must not get the answer to a
// request without the member.
func identifier(given *string) string {
	if given != nil && *given == "" {
		return noIdentifier
	}
	if given == nil {
		return ""
	}
	return *given
}

// body collects what is wrong with the body of a request before a service sees it.
type body struct{ check.Fields }

// value reads the name of an enum's value; absent: its zero.
func value[E enum.Enum](b *body, field string, name *string) E {
	return choice[E](b, field, name, enum.Names[E]())
}

// choice reads one of names, which are numbered from 1; absent: 0.
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

// notEmpty refuses the empty text, which the services would take for none.
func (b *body) notEmpty(field string, text *string) {
	if text != nil && *text == "" {
		b.Add(field, "required", "must not be empty")
	}
}

// required refuses a member that is absent or empty.
func (b *body) required(field, text string) {
	if text == "" {
		b.Add(field, "required", "is required")
	}
}

// moment reads a date-time: with an offset it is an instant, without one wall time in
// the event's zone.
func (b *body) moment(field string, text *string) (at *timestamppb.Timestamp, local string) {
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
	b.Add(field, "format", "must be a date-time as in 2026-03-29T08:30:00Z, or 2026-03-29T09:30:00 in the event's zone")
	return nil, ""
}

// index is the path of a member of a list's entry.
func index(list string, i int, member string) string {
	return list + "[" + strconv.Itoa(i) + "]." + member
}
