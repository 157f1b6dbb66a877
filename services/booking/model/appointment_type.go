package model

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Limits of appointment types.
const (
	maxLengths         = 20
	minLength          = 5
	maxLength          = 1440
	maxBuffer          = 480
	maxTypeStaff       = 200
	maxRequirements    = 5
	maxAlternatives    = 20
	DefaultSlotMinutes = 15 // minutes
)

// AppointmentType describes appointments that can be booked. Its title, description, location, zone, prices
// and policy are those of its event, which has the same UUID. Its version is that of the event.
type AppointmentType struct {
	ID      id.AppointmentType
	Event   Event
	Lengths []int32 // minutes, ascending
	// Minutes before and after an appointment during which its staff member and rooms are also taken.
	BufferBefore, BufferAfter int32
	SlotMinutes               int32 // the grid of the starts
	// Notice is the minutes, and Advance the days, before the start between which an appointment can be booked.
	// An advance of 0 means no limit. The rules of the event are empty, because callers can waive these.
	Notice, Advance int32
	Staff           []id.StaffMember // by id
	Rooms           [][]id.Room      // requirements, with rooms in the order of preference
	Active          bool
	Reference       string
	Listed          bool // the event has had a date
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// Lacking are the staff and rooms of an appointment type that do not exist.
type Lacking struct {
	Staff map[id.StaffMember]bool
	Rooms map[id.Room]bool
}

// CheckNew reports the faults of a new type and sorts its lists. A type without a price gets a free one in the
// given currency.
func (t *AppointmentType) CheckNew(currency string) error {
	var event, faults fields
	event.checkEvent(&t.Event)
	event.options(t.Event.Options, t.Event.Type)
	for _, f := range event.List() {
		faults.Add(typeField(f.Field), f.Rule, f.Message)
	}
	if len(t.Event.Options) == 0 {
		t.Event.Options = []PricingOption{{Name: freeOption, Currency: currency}}
	}
	t.check(&faults)
	t.checkStaff(&faults, "staff_ids")
	t.checkRooms(&faults, "rooms")
	for i := range t.Event.Options {
		t.checkPrice(&faults, i, t.Event.Options[i].Length)
	}
	t.checkPriced(&faults)
	return faults.Err()
}

// check sorts the lengths and checks the fields that are the type's own, except its lists.
func (t *AppointmentType) check(f *fields) {
	if f.Count("lengths", len(t.Lengths), 1, maxLengths) {
		seen := make(map[int32]bool, len(t.Lengths))
		for i, length := range t.Lengths {
			at := fmt.Sprintf("lengths[%d]", i)
			if f.Range(at, int64(length), minLength, maxLength); seen[length] {
				f.Add(at, "unique", "is in the list twice")
			}
			seen[length] = true
		}
	}
	slices.Sort(t.Lengths)
	f.Range("buffer_before_minutes", int64(t.BufferBefore), 0, maxBuffer)
	f.Range("buffer_after_minutes", int64(t.BufferAfter), 0, maxBuffer)
	f.Range("slot_minutes", int64(t.SlotMinutes), minLength, maxLength)
	f.Range("minimum_notice_minutes", int64(t.Notice), 0, maxMinutes)
	f.Range("maximum_advance_days", int64(t.Advance), 0, maxAdvanceDays)
	t.Reference = f.Line("reference", t.Reference, 0, maxReference)
}

// checkStaff checks that nobody is in the list twice.
func (t *AppointmentType) checkStaff(f *fields, at string) {
	if !f.Count(at, len(t.Staff), 0, maxTypeStaff) {
		return
	}
	seen := make(map[id.StaffMember]bool, len(t.Staff))
	for i, who := range t.Staff {
		if seen[who] && !who.IsZero() {
			f.Add(fmt.Sprintf("%s[%d]", at, i), "unique", "is in the list twice")
		}
		seen[who] = true
	}
}

// checkRooms checks that each requirement has a room, and no room is in two of them.
func (t *AppointmentType) checkRooms(f *fields, at string) {
	if !f.Count(at, len(t.Rooms), 0, maxRequirements) {
		return
	}
	seen := map[id.Room]bool{}
	for i, requirement := range t.Rooms {
		path := fmt.Sprintf("%s[%d].any_of", at, i)
		if !f.Count(path, len(requirement), 1, maxAlternatives) {
			continue
		}
		for j, room := range requirement {
			if seen[room] && !room.IsZero() {
				f.Add(fmt.Sprintf("%s[%d]", path, j), "unique", "is in the requirements twice")
			}
			seen[room] = true
		}
	}
}

// checkPrice checks the length of the price at index i of the request.
func (t *AppointmentType) checkPrice(f *fields, i int, length int32) {
	if length != 0 && !slices.Contains(t.Lengths, length) {
		f.Add(fmt.Sprintf("prices[%d].length_minutes", i), "exists", "must be one of the lengths, or unset for all")
	}
}

// checkPriced checks that an appointment of each length has a price.
func (t *AppointmentType) checkPriced(f *fields) {
	if f.Len() > 0 {
		return
	}
	for _, length := range t.Lengths {
		if !slices.ContainsFunc(t.Event.Options, func(o PricingOption) bool { return o.Length == 0 || o.Length == length }) {
			f.Add("prices", "items", fmt.Sprintf("must include one for the length %d, or one for all lengths", length))
		}
	}
}

// CheckExist reports the staff and rooms of a request that do not exist. staffPath and roomsPath are the paths
// of the lists in the request.
func (l *Lacking) CheckExist(staff []id.StaffMember, staffPath string, rooms [][]id.Room, roomsPath string) error {
	var faults check.Fields
	for i, who := range staff {
		if who.IsZero() || l.Staff[who] {
			faults.Add(fmt.Sprintf("%s[%d]", staffPath, i), "exists", "does not exist")
		}
	}
	for i, requirement := range rooms {
		for j, room := range requirement {
			if room.IsZero() || l.Rooms[room] {
				faults.Add(fmt.Sprintf("%s[%d].any_of[%d]", roomsPath, i, j), "exists", "does not exist")
			}
		}
	}
	return faults.Err()
}

// SortStaff sorts the staff by identifier.
func (t *AppointmentType) SortStaff() {
	slices.SortFunc(t.Staff, func(a, b id.StaffMember) int { return bytes.Compare(a[:], b[:]) })
}

var optionPath = regexp.MustCompile(`^pricing_options(\[\d+\])\.`)

// typeField returns the path in a request about an appointment type of a field of its event.
func typeField(event string) string {
	if event == "pricing_options" {
		return "prices"
	}
	return optionPath.ReplaceAllString(event, "prices$1.option.")
}

// TypeFault returns the fault of a change of an event with the fields of a request about an appointment type.
// Other errors are unchanged.
func TypeFault(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	names := make(map[string]string, len(f.Fields))
	for _, field := range f.Fields {
		names[field.Field] = typeField(field.Field)
	}
	return f.Rename(names)
}
