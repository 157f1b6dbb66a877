package model

import (
	"cmp"
	"slices"
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

// SlotUnavailable refuses a slot. why is a reason of package slots.
func SlotUnavailable(why string) *fault.Error {
	return fault.Refuse(ReasonSlotUnavailable, "the slot is not free").With("why", why)
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
		faults.Add("slot.starts_at", "required", "is required, unless local_start is given")
	} else {
		checkStart(&faults, "slot.", r.StartsAt, r.Local)
	}
	checkLength(&faults, "slot.", r.Minutes)
	if r.WaiveHours && r.Staff.IsZero() {
		faults.Add("slot.staff_id", "required", "is required with waive_hours")
	}
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

// OfferedType is an appointment type with its event, locked against changes.
type OfferedType struct {
	ID              id.AppointmentType
	Title, Location string
	Timezone        string
	Active          bool
	Listed          bool
	Rules           BookingRules
	Lengths         []int32 // minutes, ascending
	Before, After   int32   // buffers in minutes
	Staff           []id.StaffMember
	Rooms           []id.Room
	Prices          []LengthPrice
}

// LengthPrice is a price of an appointment type.
type LengthPrice struct {
	PricingOption
	Length int32 // minutes; 0: all lengths
}

// WantedSlot is the slot that a request asks for.
type WantedSlot struct {
	StartsAt time.Time
	Minutes  int32
}

// Length returns how long the slot is.
func (w *WantedSlot) Length() time.Duration { return time.Duration(w.Minutes) * time.Minute }

// Taken returns the time that the slot takes, with the buffers of the type.
func (t *OfferedType) Taken(w WantedSlot) (from, until time.Time) {
	return w.StartsAt.Add(-time.Duration(t.Before) * time.Minute), w.StartsAt.Add(w.Length() + time.Duration(t.After)*time.Minute)
}

// Wanted returns the slot that a checked request asks for.
func (t *OfferedType) Wanted(r *SlotRequest) (WantedSlot, error) {
	start, err := startIn(r.StartsAt, r.Local, t.Timezone, "slot.local_start")
	return WantedSlot{StartsAt: start, Minutes: cmp.Or(r.Minutes, t.shortest())}, err
}

func (t *OfferedType) shortest() int32 {
	if len(t.Lengths) == 0 {
		return MinLength
	}
	return t.Lengths[0]
}

// Date returns the date of an appointment to be booked. The date has one space.
func (t *OfferedType) Date(which id.EventDate, w WantedSlot, waiveRules bool) *OfferedDate {
	one := int32(1)
	d := &OfferedDate{
		BookedDate: BookedDate{
			ID: which, StartsAt: w.StartsAt, Timezone: t.Timezone, Minutes: w.Minutes,
			Event: id.Event(t.ID), EventTitle: t.Title, EventType: Appointment,
		},
		Status: Scheduled, EventStatus: Published, Rules: t.Rules, Capacity: &one,
	}
	if !t.Active {
		d.EventStatus = Draft
	}
	if waiveRules {
		d.Rules = BookingRules{}
	}
	return d
}

// Refuses returns why the date cannot be booked now; nil if it can.
func (d *OfferedDate) Refuses(now time.Time) error {
	if refusal := d.refuses(now); refusal != nil {
		return refusal
	}
	return nil
}

// Options returns the prices of appointments of a length. It refuses an option of another length, and no
// option if there is not exactly one.
func (t *OfferedType) Options(minutes int32, asked id.PricingOption) ([]PricingOption, error) {
	var options []PricingOption
	for _, p := range t.Prices {
		switch {
		case p.Length == 0 || p.Length == minutes:
			options = append(options, p.PricingOption)
		case p.ID == asked:
			return nil, invalidOption("length", "is the price of another length")
		}
	}
	known := slices.ContainsFunc(options, func(o PricingOption) bool { return o.ID == asked })
	switch {
	case known, asked.IsZero() && len(options) == 1:
		return options, nil
	case !asked.IsZero():
		missing := fault.Missing("pricing option")
		missing.Fields = []fault.Field{{Field: "pricing_option_id", Rule: "exists", Message: "does not exist"}}
		return nil, missing
	case len(options) == 0:
		return nil, invalidOption("required", "is required, because no price is for "+strconv.Itoa(int(minutes))+" minutes")
	}
	return nil, invalidOption("required", "is required, because the appointment type has several prices for this length")
}

func invalidOption(rule, message string) error {
	return fault.InvalidFields(fault.Field{Field: "pricing_option_id", Rule: rule, Message: message})
}

