package model

import (
	"slices"

	"reservation.dev/platform/id"
)

// StaffAndRooms is who teaches dates, and where.
type StaffAndRooms struct {
	Staff []id.StaffMember
	Rooms []id.Room
}

func (s *StaffAndRooms) equal(other *StaffAndRooms) bool {
	return slices.Equal(s.Staff, other.Staff) && slices.Equal(s.Rooms, other.Rooms)
}
