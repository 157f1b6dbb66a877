// Package slots computes when an appointment can be booked, with whom and where. It has the rules of
// invariants 36 to 38, and neither reads a clock nor does any I/O. FindSlots and BookAppointment decide
// by the same functions.
//
// Shifts, holidays and the grid are wall time, and are converted to instants first. A start is then
// compared with sorted spans, so a month of many people takes a few milliseconds.
package slots

import (
	"time"

	"reservation.dev/platform/id"
)

// Span is a time from an instant until another one, which is not part of it.
type Span struct{ From, Until time.Time }

// Shift is a time at which a person works, in wall time.
type Shift struct {
	// Weekday is that of a weekly shift: 1 is Monday and 7 is Sunday. It is 0 for a shift on Date, which
	// replaces the weekly shifts that begin on this day.
	Weekday int16
	Date    Date
	// Starts and Ends are minutes after the midnight at which the day begins. Ends is more than 1440 if
	// the shift ends on the next day, and 0 if the person does not work on Date.
	Starts, Ends int32
	Loc          *time.Location
}

// Staff is a person who offers the appointment type.
type Staff struct {
	ID id.StaffMember
	// Shifts has only shifts at the location of the type. A date on which the person works elsewhere is a
	// shift without times.
	Shifts  []Shift
	TimeOff []Span
	Taken   []Taken
}

// Taken is the time of a person that a date takes.
type Taken struct {
	Span // with the buffers
	// Starts and Minutes are those of the date, without the buffers.
	Starts  time.Time
	Minutes int32
}

// Room is a room, or a kind of equipment, with its units.
type Room struct {
	ID       id.Room
	Capacity int32
	TimeOff  []Span
	Taken    []TakenUnit
}

// TakenUnit is the time of a unit that a date takes, with the buffers.
type TakenUnit struct {
	Unit int32
	Span
}

// Type is what an appointment type contributes to its slots.
type Type struct {
	Loc     *time.Location
	Lengths []int32 // minutes
	Before  int32   // minutes of the buffer before an appointment
	After   int32   // minutes of the buffer after it
	Grid    int32   // minutes after midnight of which each start is a multiple
	Notice  int32   // minutes before its start until which an appointment can be booked
	Horizon int32   // days before its start from which it can be booked; 0: no limit
}

// Calendar is what decides which slots of an appointment type are free. It has the active staff and
// rooms, and everything that overlaps the slots with their buffers, or the weeks in which they start.
type Calendar struct {
	Type  Type
	Staff []Staff // ordered by ID
	// Requirements has the rooms of each requirement, in the order of preference.
	Requirements [][]id.Room
	Rooms        map[id.Room]*Room
	Holidays     []Date // at the location of the type
}

// Take adds the time of a date that uses a choice. It ignores the staff members and rooms that the calendar does not
// have.
func (c *Calendar) Take(choice Choice, date Taken) {
	for i := range c.Staff {
		if who := &c.Staff[i]; who.ID == choice.Staff {
			who.Taken = append(who.Taken, date)
		}
	}
	for _, u := range choice.Rooms {
		if r := c.Rooms[u.Room]; r != nil {
			r.Taken = append(r.Taken, TakenUnit{Unit: u.Unit, Span: date.Span})
		}
	}
}

// Query is what a slot must fulfil.
type Query struct {
	Length time.Duration
	Staff  id.StaffMember // zero: anyone
	// WaiveNotice leaves out the notice and the horizon.
	WaiveNotice bool
	// WaiveHours also leaves out the shifts, the holidays and the grid. It applies only if Staff is given.
	WaiveHours bool
	// Keep has units that are chosen, if they are free, before those that are preferred.
	Keep []Unit
	Now  time.Time
}

// Unit is a unit of a room.
type Unit struct {
	Room id.Room
	Unit int32 // from 1
}

// Choice is who and what a slot uses.
type Choice struct {
	Staff id.StaffMember
	Rooms []Unit // one for each requirement
}

// Day is a calendar day with its free slots.
type Day struct {
	Date   Date
	Slots  []Slot // ordered by start
	Reason Reason // why there are none; "" if there are some
}

// Slot is a start at which an appointment can be booked.
type Slot struct {
	Start time.Time
	// Staff has the people who are free, ordered by the rule of choice.
	Staff []id.StaffMember
}
