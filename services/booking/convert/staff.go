package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// NewStaffMember reads and checks a new person.
func NewStaffMember(r *bookingv1.CreateStaffMemberRequest) (*model.StaffMember, error) {
	m := &model.StaffMember{
		Name: r.GetName(), Email: r.GetEmail(), PhotoURL: r.GetPhotoUrl(), Bio: r.GetBio(), Color: r.GetColor(),
		Active: !r.GetInactive(), Reference: r.GetReference(), Version: 1,
	}
	var faults check.Fields
	m.Check(&faults)
	return m, faults.Err()
}

// StaffChange reads a change of a person.
func StaffChange(r *bookingv1.UpdateStaffMemberRequest) *model.StaffChange {
	return &model.StaffChange{Name: r.Name, Email: r.Email, PhotoURL: r.PhotoUrl, Bio: r.Bio, Color: r.Color, Active: r.Active}
}

// StaffMember converts a person.
func StaffMember(m *model.StaffMember) *bookingv1.StaffMember {
	return &bookingv1.StaffMember{
		Id: m.ID.String(), Name: m.Name, Email: m.Email, PhotoUrl: m.PhotoURL, Bio: m.Bio, Color: m.Color, Active: m.Active, Reference: m.Reference,
		CreatedAt: timestamppb.New(m.CreatedAt), UpdatedAt: timestamppb.New(m.UpdatedAt), Version: m.Version,
	}
}

// NewWorkingHours reads the working hours of a request.
func NewWorkingHours(r *bookingv1.SetWorkingHoursRequest) *model.NewWorkingHours {
	h := &model.NewWorkingHours{}
	for _, w := range r.GetWeekly() {
		h.Weekly = append(h.Weekly, model.NewWeeklyHours{Weekday: w.GetWeekday(), Range: newHoursRange(w.GetRange())})
	}
	for _, d := range r.GetDates() {
		day := model.NewDateHours{Date: d.GetDate()}
		for _, shift := range d.GetRanges() {
			day.Ranges = append(day.Ranges, newHoursRange(shift))
		}
		h.Dates = append(h.Dates, day)
	}
	return h
}

func newHoursRange(r *bookingv1.HoursRange) model.NewHoursRange {
	return model.NewHoursRange{Starts: r.GetStarts(), Ends: r.GetEnds(), Location: r.GetLocation(), Timezone: r.GetTimezone()}
}

// WorkingHours converts the working hours of a person.
func WorkingHours(h *model.WorkingHours) *bookingv1.WorkingHours {
	out := &bookingv1.WorkingHours{StaffId: h.Staff.String(), UpdatedAt: timestamppb.New(h.UpdatedAt), Version: h.Version}
	for i := range h.Weekly {
		w := &h.Weekly[i]
		out.Weekly = append(out.Weekly, &bookingv1.WeeklyHours{Weekday: w.Weekday, Range: hoursRange(&w.HoursRange)})
	}
	for _, d := range h.Dates {
		day := &bookingv1.DateHours{Date: d.Date}
		for i := range d.Ranges {
			day.Ranges = append(day.Ranges, hoursRange(&d.Ranges[i]))
		}
		out.Dates = append(out.Dates, day)
	}
	return out
}

func hoursRange(r *model.HoursRange) *bookingv1.HoursRange {
	return &bookingv1.HoursRange{Starts: r.WallStart(), Ends: r.WallEnd(), Location: r.Location, Timezone: r.Timezone}
}

// TimeOff converts time off.
func TimeOff(t *model.TimeOff) *bookingv1.TimeOff {
	return &bookingv1.TimeOff{
		Id: t.ID.String(), StaffId: t.Staff.String(), RoomId: t.Room.String(), StartsAt: timestamppb.New(t.StartsAt), EndsAt: timestamppb.New(t.EndsAt),
		Reason: t.Reason, CreatedAt: timestamppb.New(t.CreatedAt),
	}
}

// NewTimeOff reads and checks new time off, except whose it is.
func NewTimeOff(r *bookingv1.CreateTimeOffRequest) (*model.TimeOff, error) {
	t := &model.TimeOff{StartsAt: Instant(r.GetStartsAt()), EndsAt: Instant(r.GetEndsAt()), Reason: r.GetReason()}
	var faults check.Fields
	switch {
	case r.GetStaffId() == "" && r.GetRoomId() == "":
		faults.Add("staff_id", "required", "or room_id is required")
	case r.GetStaffId() != "" && r.GetRoomId() != "":
		faults.Add("room_id", "exclusive", "cannot be combined with staff_id")
	}
	t.Check(&faults)
	return t, faults.Err()
}

// NewHoliday reads and checks a new holiday.
func NewHoliday(r *bookingv1.CreateHolidayRequest) (*model.Holiday, error) {
	h := &model.Holiday{Date: r.GetDate(), Name: r.GetName(), Location: r.GetLocation()}
	var faults check.Fields
	h.Check(&faults)
	return h, faults.Err()
}

// Holiday converts a holiday.
func Holiday(h *model.Holiday) *bookingv1.Holiday {
	return &bookingv1.Holiday{Id: h.ID.String(), Date: h.Date, Name: h.Name, Location: h.Location, CreatedAt: timestamppb.New(h.CreatedAt)}
}

// NewRoom reads and checks a new room.
func NewRoom(r *bookingv1.CreateRoomRequest) (*model.Room, error) {
	room := &model.Room{
		Name: r.GetName(), Kind: model.OrdinaryRoom, Capacity: r.GetCapacity(), Location: r.GetLocation(), Active: !r.GetInactive(),
		Reference: r.GetReference(), Version: 1,
	}
	if r.GetKind() != bookingv1.RoomKind_ROOM_KIND_UNSPECIFIED {
		room.Kind = model.RoomKind(enum.Name(r.GetKind()))
	}
	if room.Capacity == 0 {
		room.Capacity = 1
	}
	var faults check.Fields
	room.Check(&faults)
	return room, faults.Err()
}

// RoomChange reads a change of a room.
func RoomChange(r *bookingv1.UpdateRoomRequest) *model.RoomChange {
	c := &model.RoomChange{Name: r.Name, Location: r.Location, Capacity: r.Capacity, Active: r.Active}
	if r.GetKind() != bookingv1.RoomKind_ROOM_KIND_UNSPECIFIED {
		kind := model.RoomKind(enum.Name(r.GetKind()))
		c.Kind = &kind
	}
	return c
}

// Room converts a room.
func Room(r *model.Room) *bookingv1.Room {
	return &bookingv1.Room{
		Id: r.ID.String(), Name: r.Name, Kind: valueOf[bookingv1.RoomKind](r.Kind), Capacity: r.Capacity, Location: r.Location, Active: r.Active,
		Reference: r.Reference, CreatedAt: timestamppb.New(r.CreatedAt), UpdatedAt: timestamppb.New(r.UpdatedAt), Version: r.Version,
	}
}
