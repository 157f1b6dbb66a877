package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// NewCalendar reads the kind and the subject of a new calendar.
func NewCalendar(req *bookingv1.CreateCalendarRequest) (*model.Calendar, error) {
	c := &model.Calendar{Kind: model.CalendarKind(enum.Name(req.GetKind()))}
	switch c.Kind {
	case model.StaffCalendar:
		staff, err := check.ID[id.StaffMember](req.GetSubjectId(), "staff member")
		c.Subject = staff.UUID()
		return c, err
	case model.CustomerCalendar:
		customer, err := check.ID[id.Customer](req.GetSubjectId(), "customer")
		c.Subject = customer.UUID()
		return c, err
	case model.CompanyCalendar:
		if req.GetSubjectId() != "" {
			return nil, invalidSubject("must be empty for the calendar of the company")
		}
		return c, nil
	}
	return nil, fault.InvalidParameter("kind", "enum", "must be staff, customer or company")
}

func invalidSubject(message string) error {
	return fault.InvalidParameter("subject_id", "subject", message)
}

// CalendarSubject reads the identifier of a staff member or a customer; "" is the zero value.
func CalendarSubject(text string) (id.UUID, error) {
	if text == "" {
		return id.UUID{}, nil
	}
	if staff, err := id.Parse[id.StaffMember](text); err == nil {
		return staff.UUID(), nil
	}
	customer, err := check.ID[id.Customer](text, "customer")
	return customer.UUID(), err
}

// Calendar converts a calendar.
func Calendar(c *model.Calendar) *bookingv1.Calendar {
	out := &bookingv1.Calendar{
		Id: c.ID.String(), Kind: valueOf[bookingv1.CalendarKind](c.Kind), SecretStart: c.SecretStart, CreatedAt: timestamppb.New(c.CreatedAt),
	}
	switch c.Kind {
	case model.StaffCalendar:
		out.SubjectId = id.StaffMember(c.Subject).String()
	case model.CustomerCalendar:
		out.SubjectId = id.Customer(c.Subject).String()
	case model.CompanyCalendar:
	}
	if c.LastReadAt != nil {
		out.LastReadAt = timestamppb.New(*c.LastReadAt)
	}
	return out
}

// CalendarEntry converts an entry of a calendar.
func CalendarEntry(e *model.CalendarEntry) *bookingv1.CalendarEntry {
	return &bookingv1.CalendarEntry{
		Uid: e.UID(), Sequence: e.Sequence, Cancelled: e.Cancelled, Title: e.Summary(), Location: e.Location, Description: e.Description(),
		StartsAt: timestamppb.New(e.StartsAt), EndsAt: timestamppb.New(e.StartsAt.Add(time.Duration(e.Minutes) * time.Minute)), Timezone: e.Timezone,
		UpdatedAt: timestamppb.New(e.UpdatedAt), CreatedAt: timestamppb.New(e.CreatedAt()),
	}
}
