package model

import (
	"cmp"
	"strconv"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

// ReasonSlotUnavailable refuses a slot that is not free. The fact "why" says why.
const ReasonSlotUnavailable = "SLOT_UNAVAILABLE"

// SlotUnavailable refuses a slot. why is a reason of package slots, and grid is the number of minutes between
// starts.
func SlotUnavailable(why string, grid int32) *fault.Error {
	return fault.Refuse(ReasonSlotUnavailable, slotMessage(why, grid)).With("why", why)
}

// slotMessage says in a sentence why a slot is not free.
func slotMessage(why string, grid int32) string {
	messages := map[string]string{
		"no_staff":         "nobody active offers this appointment type, or the chosen staff member does not",
		"length":           "the length is not one of the appointment type's",
		"past":             "the start has passed",
		"off_grid":         "the start is not on the grid of " + strconv.Itoa(int(grid)) + " minutes",
		"beyond_horizon":   "the start is too far ahead to be booked yet",
		"no_hours":         "nobody works at this time",
		"holiday":          "the day is a holiday",
		"time_off":         "the staff member has time off then",
		"too_short_notice": "the start is too soon to be booked",
		"staff_busy":       "the staff member has another appointment or class at this time",
		"room_busy":        "no room is free at this time",
	}
	return cmp.Or(messages[why], "the slot is not free")
}

// The minutes that an appointment can last.
const (
	MinLength = 5
	MaxLength = 1440
)

// SlotRequest is a request for a slot of an appointment type.
type SlotRequest struct {
	Type     id.AppointmentType
	Minutes  int32          // 0: the shortest length
	Staff    id.StaffMember // zero: anyone who offers the type
	StartsAt time.Time      // zero: not given
	Local    string         // the start as wall time in the type's zone instead; "": not given
	// WaiveNotice leaves out the notice and the horizon.
	WaiveNotice bool
	// WaiveHours also leaves out the working hours, the holidays and the grid.
	WaiveHours bool
}

// Check reports the faults of a request for a slot that do not depend on its type.
func (r *SlotRequest) Check() error {
	var faults check.Fields
	if r.Local == "" && r.StartsAt.IsZero() {
		faults.Add("slot.starts_at", "required", "is required, unless a local time is given")
	} else {
		checkStart(&faults, "slot.", r.StartsAt, r.Local)
	}
	checkLength(&faults, "slot.", r.Minutes)
	if r.WaiveHours && r.Staff.IsZero() {
		faults.Add("slot.staff_id", "required", "is required if the working hours are ignored")
	}
	return faults.Err()
}

// CheckMove reports the faults of a request to move an appointment, whose unset fields stay.
func (r *SlotRequest) CheckMove() error {
	var faults check.Fields
	checkStart(&faults, "", r.StartsAt, r.Local)
	checkLength(&faults, "", r.Minutes)
	return faults.Err()
}

// checkStart checks a start that is given as an instant or as wall time. at is the path of its field.
func checkStart(faults *check.Fields, at string, start time.Time, local string) {
	switch {
	case local != "" && !start.IsZero():
		faults.Add(at+"local_start", "exclusive", "cannot be combined with starts_at")
	case local != "":
		wall, ok := isotime.ParseLocal(local)
		switch {
		case !ok:
			faults.Add(at+"local_start", "format", "must be a local time such as 2026-03-29T09:30:00")
		case !check.Storable(wall):
			faults.Add(at+"local_start", "range", "must be in the years 1 to 9999")
		case wall.Second() != 0:
			faults.Add(at+"local_start", "format", wholeMinute)
		}
	case !start.IsZero():
		before := faults.Len()
		if faults.Second(at+"starts_at", start); faults.Len() == before && start.Unix()%60 != 0 {
			faults.Add(at+"starts_at", "format", wholeMinute)
		}
	}
}

const wholeMinute = "must be a whole minute"

// checkLength checks the length of an appointment; 0 is not given.
func checkLength(faults *check.Fields, at string, minutes int32) {
	if minutes != 0 {
		faults.Range(at+"length_minutes", int64(minutes), MinLength, MaxLength)
	}
}

// startIn returns the start that is given as an instant or as a checked wall time in a zone. A wall time that
// the clocks skip is refused.
func startIn(start time.Time, local, timezone, field string) (time.Time, error) {
	if local == "" {
		return start, nil
	}
	loc, err := zone.Load(timezone)
	if err != nil {
		return time.Time{}, err
	}
	wall, _ := isotime.ParseLocal(local)
	at := zone.Instant(wall, loc)
	if at.In(loc).Format(isotime.LocalLayout) != wall.Format(isotime.LocalLayout) {
		return time.Time{}, fault.InvalidFields(fault.Field{
			Field: field, Rule: "skipped", Message: "is a time that the clocks skip in " + timezone,
		})
	}
	return at, nil
}

// Start returns the start that is given, for an appointment in a zone.
func (r *SlotRequest) Start(timezone string) (time.Time, error) {
	return startIn(r.StartsAt, r.Local, timezone, "local_start")
}

// LengthPrice is a pricing option of an appointment type that has not ended.
type LengthPrice struct {
	Option  id.PricingOption
	Minutes int32 // the length to which it applies; 0: all
}

// PriceOf returns the price of an appointment of a length. asked is the option that the caller chose; zero
// means that there must be exactly one.
func PriceOf(prices []LengthPrice, minutes int32, asked id.PricingOption) (id.PricingOption, error) {
	var found []id.PricingOption
	for _, p := range prices {
		applies := p.Minutes == 0 || p.Minutes == minutes
		switch {
		case asked.IsZero() && applies, p.Option == asked && applies:
			found = append(found, p.Option)
		case p.Option == asked:
			return asked, invalidOption("length", "is the price of another length")
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case !asked.IsZero():
		missing := fault.Missing("pricing option")
		missing.Fields = []fault.Field{{Field: "pricing_option_id", Rule: "exists", Message: "does not exist"}}
		return asked, missing
	case len(found) == 0:
		return asked, invalidOption("required", "is required, because no price is for "+strconv.Itoa(int(minutes))+" minutes")
	}
	return asked, invalidOption("required", "is required, because the appointment type has several prices for this length")
}

func invalidOption(rule, message string) error {
	return fault.InvalidFields(fault.Field{Field: "pricing_option_id", Rule: rule, Message: message})
}

// NewSlot is the date of an appointment to be stored, with its assignments.
type NewSlot struct {
	AppointmentSlot
	Booked  int32      // spaces
	Booking id.Booking // zero: not known yet
}

// Overlaps reports whether the two slots take the time of a staff member or of a unit of a room in common.
func (s *AppointmentSlot) Overlaps(other *AppointmentSlot) bool {
	for _, a := range s.Assignments() {
		for _, b := range other.Assignments() {
			if a.Resource == b.Resource && a.Unit == b.Unit && a.From.Before(b.Until) && b.From.Before(a.Until) {
				return true
			}
		}
	}
	return false
}

// Assignments returns the staff member and the rooms.
func (s *AppointmentSlot) Assignments() []Assignment {
	var all []Assignment
	if s.Staff != nil {
		all = append(all, *s.Staff)
	}
	return append(all, s.Rooms...)
}
