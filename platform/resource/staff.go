package resource

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// StaffMember converts a staff member.
func StaffMember(m *bookingv1.StaffMember) *edgebv1.StaffMember {
	return &edgebv1.StaffMember{
		Id: m.GetId(), Name: m.GetName(), Email: m.GetEmail(), PhotoUrl: m.GetPhotoUrl(), Bio: m.GetBio(), Color: m.GetColor(), Active: m.GetActive(),
		Reference: nullableText(m.GetReference()), CreatedAt: utc(m.GetCreatedAt()), UpdatedAt: utc(m.GetUpdatedAt()),
	}
}

// WorkingHours converts the working hours of a staff member.
func WorkingHours(h *bookingv1.WorkingHours) *edgebv1.WorkingHours {
	return &edgebv1.WorkingHours{
		StaffId: h.GetStaffId(), UpdatedAt: utc(h.GetUpdatedAt()),
		Weekly: edge.Convert(h.GetWeekly(), func(w *bookingv1.WeeklyHours) *edgebv1.WeeklyHours {
			r := w.GetRange()
			return &edgebv1.WeeklyHours{
				Weekday: w.GetWeekday(), Starts: r.GetStarts(), Ends: r.GetEnds(), Location: r.GetLocation(), Timezone: r.GetTimezone(),
			}
		}),
		Dates: edge.Convert(h.GetDates(), func(d *bookingv1.DateHours) *edgebv1.DateHours {
			return &edgebv1.DateHours{Date: d.GetDate(), Ranges: edge.Convert(d.GetRanges(), hoursRange)}
		}),
	}
}

func hoursRange(r *bookingv1.HoursRange) *edgebv1.HoursRange {
	return &edgebv1.HoursRange{Starts: r.GetStarts(), Ends: r.GetEnds(), Location: r.GetLocation(), Timezone: r.GetTimezone()}
}

// TimeOff converts a time at which a person or a room cannot be booked.
func TimeOff(t *bookingv1.TimeOff) *edgebv1.TimeOff {
	return &edgebv1.TimeOff{
		Id: t.GetId(), StaffId: nullableText(t.GetStaffId()), RoomId: nullableText(t.GetRoomId()), StartsAt: utc(t.GetStartsAt()), EndsAt: utc(t.GetEndsAt()),
		Reason: t.GetReason(), CreatedAt: utc(t.GetCreatedAt()),
	}
}

// Holiday converts a day on which nobody can be booked.
func Holiday(h *bookingv1.Holiday) *edgebv1.Holiday {
	return &edgebv1.Holiday{Id: h.GetId(), Date: h.GetDate(), Name: h.GetName(), Location: h.GetLocation(), CreatedAt: utc(h.GetCreatedAt())}
}
