package gatewayb

import (
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// newStaffMember converts the body of POST /staff.
func newStaffMember(in *edgebv1.StaffMemberWrite) *bookingv1.CreateStaffMemberRequest {
	return &bookingv1.CreateStaffMemberRequest{
		Name: in.GetName(), Email: in.GetEmail(), PhotoUrl: in.GetPhotoUrl(), Bio: in.GetBio(), Color: in.GetColor(),
		Inactive: inactive(edge.OrEmpty(in).Active), Reference: in.GetReference(),
	}
}

// inactive converts the member active of a new resource, which is active if the member is absent.
func inactive(active *bool) bool { return active != nil && !*active }

// staffUpdate converts the body of PUT /staff/{id}.
func staffUpdate(in *edgebv1.StaffMemberWrite) (*bookingv1.UpdateStaffMemberRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("color", in.Color)
	return &bookingv1.UpdateStaffMemberRequest{
		Name: in.Name, Email: in.Email, PhotoUrl: in.PhotoUrl, Bio: in.Bio, Color: in.Color, Active: in.Active,
	}, b.Err()
}

// workingHours converts the body of PUT /staff/{id}/hours, which has both members.
func workingHours(in *edgebv1.WorkingHoursWrite) (*bookingv1.SetWorkingHoursRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	if in.GetWeekly() == nil {
		b.required("weekly", "")
	}
	if in.GetDates() == nil {
		b.required("dates", "")
	}
	return &bookingv1.SetWorkingHoursRequest{
		Weekly: edge.Convert(in.GetWeekly().GetValues(), func(w *edgebv1.WeeklyHours) *bookingv1.WeeklyHours {
			return &bookingv1.WeeklyHours{Weekday: w.GetWeekday(), Range: hoursRange(w)}
		}),
		Dates: edge.Convert(in.GetDates().GetValues(), func(d *edgebv1.DateHours) *bookingv1.DateHours {
			return &bookingv1.DateHours{Date: d.GetDate(), Ranges: edge.Convert(d.GetRanges(), hoursRange[*edgebv1.HoursRange])}
		}),
	}, b.Err()
}

// shift has the members that weekly hours and the ranges of a date share.
type shift interface {
	GetStarts() string
	GetEnds() string
	GetLocation() string
	GetTimezone() string
}

func hoursRange[S shift](s S) *bookingv1.HoursRange {
	return &bookingv1.HoursRange{Starts: s.GetStarts(), Ends: s.GetEnds(), Location: s.GetLocation(), Timezone: s.GetTimezone()}
}

// newTimeOff converts the body of POST /time-off.
func newTimeOff(in *edgebv1.TimeOffWrite) (*bookingv1.CreateTimeOffRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	switch {
	case in.StaffId == nil && in.RoomId == nil:
		b.Add("staffId", "required", "is required, unless roomId is given")
	case in.StaffId != nil && in.RoomId != nil:
		b.Add("roomId", "exclusive", "cannot be used together with staffId")
	}
	b.required("startsAt", in.GetStartsAt())
	b.required("endsAt", in.GetEndsAt())
	if b.Len() > 0 {
		return nil, b.Err()
	}
	return &bookingv1.CreateTimeOffRequest{
		StaffId: identifier(in.StaffId), RoomId: identifier(in.RoomId), StartsAt: b.instant("startsAt", in.StartsAt), EndsAt: b.instant("endsAt", in.EndsAt),
		Reason: in.GetReason(), KeepBookings: in.GetKeepBookings(),
	}, b.Err()
}

// staffAndRooms reads who teaches and where; a list that is left out stays as it is.
func staffAndRooms(staff, rooms *edgev1.ResourceList) *bookingv1.StaffAndRooms {
	if staff == nil && rooms == nil {
		return nil
	}
	return &bookingv1.StaffAndRooms{StaffIds: staff.GetValues(), RoomIds: rooms.GetValues(), KeepStaff: staff == nil, KeepRooms: rooms == nil}
}

// staffFault gives the fields of who teaches and where their public names.
func staffFault(err error) error {
	f := fault.From(err)
	names := map[string]string{}
	for _, field := range f.Fields {
		if _, list, found := strings.Cut(field.Field, "staff_and_rooms."); found {
			names[field.Field] = list
		}
	}
	return f.Rename(names)
}
