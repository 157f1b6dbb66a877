package convert

import (
	"fmt"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// staffAndRooms reads who teaches and where; nil if the request does not say. at is its path in the request.
func staffAndRooms(at string, in *bookingv1.StaffAndRooms) (*model.StaffAndRooms, error) {
	if in == nil {
		return nil, nil
	}
	at += "staff_and_rooms."
	var faults check.Fields
	out := &model.StaffAndRooms{KeepStaff: in.GetKeepStaff(), KeepRooms: in.GetKeepRooms()}
	for i, text := range in.GetStaffIds() {
		staff, err := id.Parse[id.StaffMember](text)
		if err != nil {
			faults.Add(fmt.Sprintf("%sstaff_ids[%d]", at, i), "exists", "does not exist")
		}
		out.Staff = append(out.Staff, staff)
	}
	for i, text := range in.GetRoomIds() {
		room, err := id.Parse[id.Room](text)
		if err != nil {
			faults.Add(fmt.Sprintf("%sroom_ids[%d]", at, i), "exists", "does not exist")
		}
		out.Rooms = append(out.Rooms, room)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return out, out.Check(at)
}

// staffAndRoomsToProto converts who teaches and where; nil if there is nobody and no room.
func staffAndRoomsToProto(s *model.StaffAndRooms) *bookingv1.StaffAndRooms {
	if len(s.Staff)+len(s.Rooms) == 0 {
		return nil
	}
	out := &bookingv1.StaffAndRooms{}
	for _, staff := range s.Staff {
		out.StaffIds = append(out.StaffIds, staff.String())
	}
	for _, room := range s.Rooms {
		out.RoomIds = append(out.RoomIds, room.String())
	}
	return out
}

// assignedStaff converts the people who teach a date.
func assignedStaff(d *model.EventDate) (out []*bookingv1.AssignedStaff) {
	for _, a := range d.Shown(model.StaffResource) {
		staff := &bookingv1.AssignedStaff{Staff: StaffReference(&a)}
		if !a.SubstitutesFor.IsZero() {
			staff.SubstitutesForId = a.SubstitutesFor.String()
		}
		out = append(out, staff)
	}
	return out
}

// assignedRooms converts the rooms of a date.
func assignedRooms(d *model.EventDate) (out []*bookingv1.RoomReference) {
	for _, a := range d.Shown(model.RoomResource) {
		out = append(out, RoomReference(&a))
	}
	return out
}
