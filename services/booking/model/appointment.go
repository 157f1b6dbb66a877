package model

import (
	"time"

	"reservation.dev/platform/id"
)

// ResourceKind is the kind of a resource whose time dates take. Its values are stored.
type ResourceKind string

const (
	// StaffResource is a staff member.
	StaffResource ResourceKind = "staff"
	// RoomResource is a unit of a room.
	RoomResource ResourceKind = "room"
)

// Assignment is the time of a staff member or of a unit of a room that a date takes.
type Assignment struct {
	Date     id.EventDate
	Kind     ResourceKind
	Resource id.UUID
	Name     string
	Color    string // of a staff member
	Unit     int32  // of a room, from 1; 0 for a staff member
	Position int32  // in the lists of the date; a later staff member of an appointment has a higher one

	Before, After int32 // buffers in minutes
	From, Until   time.Time
	// Active is false for an assignment that takes no time: the date is cancelled, or somebody else has it.
	Active bool
	// SubstitutesFor is the staff member who is replaced on this date; zero: nobody.
	SubstitutesFor id.StaffMember
}

// ID returns the identifier of the staff member or room as text.
func (a *Assignment) ID() string {
	if a.Kind == RoomResource {
		return id.Room(a.Resource).String()
	}
	return id.StaffMember(a.Resource).String()
}

// AppointmentSlot is what an appointment adds to its booking.
type AppointmentSlot struct {
	Date       id.EventDate
	Type       id.AppointmentType
	Title      string
	Location   string
	Listed     bool // whether the event of the type is listed
	Sequence   int32
	DateStatus DateStatus
	StartsAt   time.Time
	Minutes    int32
	Timezone   string
	Staff      *Assignment // the active one, or the last
	Rooms      []Assignment
}

// Add adds an assignment of the slot's date. It keeps the active one of several staff members, or, if none
// is active, the one with the highest position. Rooms that are not active are kept unless others are.
func (s *AppointmentSlot) Add(a Assignment) {
	switch {
	case a.Kind == StaffResource:
		if s.Staff == nil || a.Active && !s.Staff.Active || a.Active == s.Staff.Active && a.Position >= s.Staff.Position {
			s.Staff = &a
		}
	case len(s.Rooms) > 0 && a.Active != s.Rooms[0].Active:
		if a.Active {
			s.Rooms = []Assignment{a}
		}
	default:
		s.Rooms = append(s.Rooms, a)
	}
}

// AppointmentStatus is the state of an appointment as readers see it.
type AppointmentStatus string

const (
	// AppointmentHeld is held for a caller that collects the payment, or is being paid by pass.
	AppointmentHeld      AppointmentStatus = "held"
	AppointmentBooked    AppointmentStatus = "booked"
	AppointmentCancelled AppointmentStatus = "cancelled"
)

// StatusOfAppointment returns the status of the appointment whose booking is b.
func StatusOfAppointment(b *Booking, status TransactionStatus) AppointmentStatus {
	switch {
	case b.Cancelled:
		return AppointmentCancelled
	case status == Confirmed:
		return AppointmentBooked
	}
	return AppointmentHeld
}

// AppointmentBooking is an appointment: a booking with its slot. Its transaction contains only this booking.
type AppointmentBooking struct {
	Transaction
	Status    TransactionStatus
	HeldUntil time.Time // when a held slot is released; zero: it is not held, or its payment is in progress
	Slot      *AppointmentSlot
}

// Customer returns the customer who attends.
func (a *AppointmentBooking) Customer() id.Customer {
	if c := a.Bookings[0].BoughtFor; c != nil {
		return c.ID
	}
	return a.Purchaser.ID
}

// TakenTime is an active assignment with its date.
type TakenTime struct {
	Assignment
	Event         id.Event
	Title         string
	StartsAt      time.Time // of the date, without buffers
	Minutes       int32
	IsAppointment bool
}
