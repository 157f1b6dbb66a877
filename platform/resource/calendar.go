package resource

import (
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// Calendar converts a calendar, without its address.
func Calendar(c *bookingv1.Calendar) *edgebv1.Calendar {
	out := &edgebv1.Calendar{
		Id: c.GetId(), Kind: enum.Name(c.GetKind()), StaffId: nullableText(""), CustomerId: nullableText(""), SecretStart: c.GetSecretStart(),
		CreatedAt: utc(c.GetCreatedAt()), LastReadAt: nullableTime(c.GetLastReadAt()),
	}
	switch c.GetKind() {
	case bookingv1.CalendarKind_CALENDAR_KIND_STAFF:
		out.StaffId = nullableText(c.GetSubjectId())
	case bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER:
		out.CustomerId = nullableText(c.GetSubjectId())
	case bookingv1.CalendarKind_CALENDAR_KIND_COMPANY, bookingv1.CalendarKind_CALENDAR_KIND_UNSPECIFIED:
	}
	return out
}
