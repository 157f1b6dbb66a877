package model

import (
	"strconv"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons for refusing a change because a staff member or a room is taken.
const (
	ReasonStaffBusy = "STAFF_BUSY"
	ReasonRoomBusy  = "ROOM_BUSY"
)

// MaxResources is the number of staff, of rooms, and of appointment types that a company can have.
const MaxResources = 500

// maxResourceName is the longest name of a staff member, a room or a holiday.
const maxResourceName = 200

// Reasons for refusing to add to a list that is full.
const (
	ReasonTooManyStaff            = "TOO_MANY_STAFF"
	ReasonTooManyRooms            = "TOO_MANY_ROOMS"
	ReasonTooManyAppointmentTypes = "TOO_MANY_APPOINTMENT_TYPES"
)

// TooManyStaff refuses another staff member.
func TooManyStaff() *fault.Error {
	return fault.Refuse(ReasonTooManyStaff, "the company already has 500 staff")
}

// TooManyRooms refuses another room.
func TooManyRooms() *fault.Error {
	return fault.Refuse(ReasonTooManyRooms, "the company already has 500 rooms")
}

// TooManyAppointmentTypes refuses another appointment type.
func TooManyAppointmentTypes() *fault.Error {
	return fault.Refuse(ReasonTooManyAppointmentTypes, "the company already has 500 appointment types")
}

// Conflicts are the active assignments that prevent a change.
type Conflicts struct {
	First id.EventDate // the date that begins first
	Count int64
}

// refuse adds the conflicts to a refusal.
func (c Conflicts) refuse(f *fault.Error) error {
	return f.With("event_date_id", c.First.String()).With("conflicts", strconv.FormatInt(c.Count, 10))
}

// StaffBusy refuses a change during the appointments and classes of a staff member.
func (c Conflicts) StaffBusy(who id.StaffMember) error {
	return c.refuse(fault.Refuse(ReasonStaffBusy, "the staff member has appointments or classes at that time").With("staff_id", who.String()))
}

// RoomBusy refuses a change during the appointments and classes in a room.
func (c Conflicts) RoomBusy(which id.Room) error {
	return c.refuse(fault.Refuse(ReasonRoomBusy, "the room has appointments or classes at that time").With("room_id", which.String()))
}

// UnitsBusy refuses to remove units of a room that are used now or later.
func (c Conflicts) UnitsBusy(which id.Room) error {
	return c.refuse(fault.Refuse(ReasonRoomBusy, "a unit that would be removed has appointments or classes").With("room_id", which.String()))
}

// ReferenceTaken is the fault of a reference that another resource of the same kind has.
func ReferenceTaken() *fault.Error {
	return fault.InvalidFields(fault.Field{Field: "reference", Rule: "unique", Message: "already exists"})
}
