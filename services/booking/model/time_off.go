package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// The number of holidays of a company, and the number of times off of a staff member or room that end in the
// future.
const (
	MaxHolidays = 1000
	MaxTimeOff  = 1000
)

// Reasons for refusing to add to a list that is full.
const (
	ReasonTooManyHolidays = "TOO_MANY_HOLIDAYS"
	ReasonTooManyTimeOff  = "TOO_MANY_TIME_OFF"
)

// TooManyHolidays refuses another holiday.
func TooManyHolidays() *fault.Error {
	return fault.Refuse(ReasonTooManyHolidays, "the company already has 1000 holidays: delete past ones first")
}

// TooManyTimeOff refuses another time off of a staff member or room.
func TooManyTimeOff() *fault.Error {
	return fault.Refuse(ReasonTooManyTimeOff, "the staff member or room already has 1000 times off to come: delete some first")
}

// maxTimeOffYears is the longest time off, in years.
const maxTimeOffYears = 2

// TimeOff is a time at which a staff member or a room cannot be booked.
type TimeOff struct {
	ID        id.TimeOff
	Staff     id.StaffMember // zero: of a room
	Room      id.Room        // zero: of a staff member
	StartsAt  time.Time
	EndsAt    time.Time
	Reason    string
	CreatedAt time.Time
}

// Check trims and checks the fields of new time off, except whose it is.
func (t *TimeOff) Check(f *check.Fields) {
	before := f.Len()
	f.Second("starts_at", t.StartsAt)
	f.Second("ends_at", t.EndsAt)
	if f.Len() == before {
		switch {
		case !t.EndsAt.After(t.StartsAt):
			f.Add("ends_at", "min", "must be after the start")
		case t.EndsAt.After(t.StartsAt.AddDate(maxTimeOffYears, 0, 0)):
			f.Add("ends_at", "range", "must be at most 2 years after the start")
		}
	}
	t.Reason = f.Prose("reason", t.Reason, 0, MaxReason)
}

// Resource returns the identifier of the staff member or the room.
func (t *TimeOff) Resource() id.UUID {
	if t.Staff.IsZero() {
		return t.Room.UUID()
	}
	return t.Staff.UUID()
}

// Refuse refuses the time off because of conflicts.
func (t *TimeOff) Refuse(c Conflicts) error {
	if t.Staff.IsZero() {
		return c.RoomBusy(t.Room)
	}
	return c.StaffBusy(t.Staff)
}

// Holiday is a calendar day on which nobody can be booked.
type Holiday struct {
	ID        id.Holiday
	Date      string // YYYY-MM-DD
	Name      string
	Location  string // "": all locations
	CreatedAt time.Time
}

// Check trims and checks the fields of a new holiday.
func (h *Holiday) Check(f *check.Fields) {
	Day(f, "date", h.Date)
	h.Name = f.Line("name", h.Name, 1, maxResourceName)
	h.Location = f.Line("location", h.Location, 0, maxLocation)
}

// Day checks that text is a calendar day.
func Day(f *check.Fields, field, text string) {
	switch {
	case text == "":
		f.Add(field, "required", "is required")
	case !IsDay(text):
		f.Add(field, "format", "must be a calendar day in the form YYYY-MM-DD, in the years 1 to 9999")
	}
}

// IsDay reports whether text is a calendar day that can be stored, in the form YYYY-MM-DD.
func IsDay(text string) bool {
	day, err := time.Parse(time.DateOnly, text)
	return err == nil && check.Storable(day)
}

// ReasonHolidayExists is the reason for refusing a second holiday on one day at one location.
const ReasonHolidayExists = "HOLIDAY_EXISTS"

// HolidayExists is the fault of a holiday that exists.
func HolidayExists() *fault.Error {
	return fault.Refuse(ReasonHolidayExists, "the day is already a holiday at this location")
}
