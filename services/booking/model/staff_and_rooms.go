package model

import (
	"fmt"
	"slices"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// StaffAndRooms is who teaches dates, and where.
type StaffAndRooms struct {
	Staff []id.StaffMember
	Rooms []id.Room
	// A change keeps the present staff, or the present rooms.
	KeepStaff, KeepRooms bool
}

// over returns the staff and rooms after a change of old.
func (s *StaffAndRooms) over(old *StaffAndRooms) StaffAndRooms {
	after := StaffAndRooms{Staff: s.Staff, Rooms: s.Rooms}
	if s.KeepStaff {
		after.Staff = old.Staff
	}
	if s.KeepRooms {
		after.Rooms = old.Rooms
	}
	return after
}

func (s *StaffAndRooms) equal(other *StaffAndRooms) bool {
	return slices.Equal(s.Staff, other.Staff) && slices.Equal(s.Rooms, other.Rooms)
}

// Check reports people and rooms that are named twice. at is the path of s in the request.
func (s *StaffAndRooms) Check(at string) error {
	var faults fields
	twice(&faults, at+"staff_ids", s.Staff)
	twice(&faults, at+"room_ids", s.Rooms)
	if s.KeepStaff && len(s.Staff) > 0 {
		faults.Add(at+"staff_ids", "exclusive", "cannot be combined with keep_staff")
	}
	if s.KeepRooms && len(s.Rooms) > 0 {
		faults.Add(at+"room_ids", "exclusive", "cannot be combined with keep_rooms")
	}
	return faults.Err()
}

func twice[T comparable](f *fields, field string, names []T) {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			f.Add(fmt.Sprintf("%s[%d]", field, i), "unique", "is named twice")
		}
	}
}

// missing reports the people and rooms that do not exist.
func (s *StaffAndRooms) missing(at string, known map[id.UUID]KnownResource) error {
	var faults fields
	for i, n := range s.Staff {
		if r, ok := known[n.UUID()]; !ok || r.Kind != StaffResource {
			faults.Add(fmt.Sprintf("%sstaff_ids[%d]", at, i), "exists", "does not exist")
		}
	}
	for i, n := range s.Rooms {
		if r, ok := known[n.UUID()]; !ok || r.Kind != RoomResource {
			faults.Add(fmt.Sprintf("%sroom_ids[%d]", at, i), "exists", "does not exist")
		}
	}
	return faults.Err()
}

// Shown returns the assignments of a date that callers see: those that are active, and, of a cancelled date,
// those that were active when it was cancelled.
func (d *EventDate) Shown(kind ResourceKind) []Assignment {
	var shown []Assignment
	for _, a := range d.Assigned {
		if a.Kind == kind && (a.Active || d.Status == DateCancelled && a.Position >= 0) {
			shown = append(shown, a)
		}
	}
	return shown
}

// Busy is the refusal of a time that the database found taken.
func Busy() *fault.Error {
	return fault.Refuse(ReasonStaffBusy, "a staff member or room is already taken at that time")
}
