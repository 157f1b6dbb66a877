package model

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/id"
)

// AppointmentTypeChange is a request to change an appointment type. Fields that are nil do not change.
type AppointmentTypeChange struct {
	// Event changes the event. Its options are the prices.
	Event                     EventChange
	Notice, Advance           *int32
	Lengths                   []int32
	BufferBefore, BufferAfter *int32
	SlotMinutes               *int32
	Staff                     []id.StaffMember
	Rooms                     [][]id.Room
	SetStaff, SetRooms        bool // whether Staff and Rooms replace the lists
	Active                    *bool
}

// AppointmentTypePlan is the result of a change: the type after it, and the parts to store.
type AppointmentTypePlan struct {
	*AppointmentType
	Event *EventPlan
	// Changed is true if there is anything to store.
	Changed                    bool
	StaffChanged, RoomsChanged bool
}

// Apply applies the change to t and returns the plan to store it. It does not check that new staff and rooms
// exist.
func (c *AppointmentTypeChange) Apply(t *AppointmentType, currency string, now time.Time) (*AppointmentTypePlan, error) {
	before := *t
	before.Lengths = slices.Clone(t.Lengths)
	old := slices.Clone(t.Event.Options)
	p := &AppointmentTypePlan{AppointmentType: t}
	var faults fields
	c.changeFields(t, &faults)
	c.checkLengths(old, before.Lengths, t, &faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var err error
	if p.Event, err = c.Event.Apply(&t.Event, currency, now); err != nil {
		return nil, TypeFault(err)
	}
	// Existing appointments keep their zone.
	p.Event.Rezones = false
	if t.checkPriced(&faults); faults.Len() > 0 {
		return nil, faults.Err()
	}
	p.StaffChanged = !slices.Equal(t.Staff, before.Staff)
	p.RoomsChanged = !slices.EqualFunc(t.Rooms, before.Rooms, slices.Equal[[]id.Room])
	p.Changed = p.Event.EventChanged || p.StaffChanged || p.RoomsChanged || !slices.Equal(t.Lengths, before.Lengths) ||
		t.BufferBefore != before.BufferBefore || t.BufferAfter != before.BufferAfter || t.SlotMinutes != before.SlotMinutes || t.Active != before.Active ||
		t.Notice != before.Notice || t.Advance != before.Advance
	return p, nil
}

// changeFields changes and checks the fields that are the type's own.
func (c *AppointmentTypeChange) changeFields(t *AppointmentType, f *fields) {
	if len(c.Lengths) > 0 {
		t.Lengths = slices.Clone(c.Lengths)
	}
	setNumber(&t.BufferBefore, c.BufferBefore)
	setNumber(&t.BufferAfter, c.BufferAfter)
	setNumber(&t.SlotMinutes, c.SlotMinutes)
	setNumber(&t.Notice, c.Notice)
	setNumber(&t.Advance, c.Advance)
	if c.Active != nil {
		t.Active = *c.Active
	}
	t.check(f)
	if c.SetStaff {
		t.Staff = slices.Clone(c.Staff)
		t.checkStaff(f, "staff.staff_ids")
		t.SortStaff()
	}
	if c.SetRooms {
		t.Rooms = slices.Clone(c.Rooms)
		t.checkRooms(f, "rooms.rooms")
	}
}

// checkLengths checks the lengths of the prices of the request, and that no price is left without its length.
// old are the options before the change.
func (c *AppointmentTypeChange) checkLengths(old []PricingOption, lengths []int32, t *AppointmentType, f *fields) {
	ends := make(map[id.PricingOption]bool, len(c.Event.Options))
	for i := range c.Event.Options {
		o := &c.Event.Options[i]
		if o.Adds {
			t.checkPrice(f, i, o.Length)
			continue
		}
		ends[o.ID] = o.Ends
		at := slices.IndexFunc(old, func(p PricingOption) bool { return p.ID == o.ID })
		if at >= 0 && o.Length != 0 && o.Length != old[at].Length {
			f.Add(fmt.Sprintf("prices[%d].length_minutes", i), "immutable", "can only be set when the price is added. Add another price instead")
		}
	}
	for i := range old {
		o := &old[i]
		if o.Length != 0 && slices.Contains(lengths, o.Length) && !slices.Contains(t.Lengths, o.Length) && !ends[o.ID] {
			f.Add("lengths", "in_use", fmt.Sprintf("must include %d, which has a price of its own: end that price in the same request", o.Length))
		}
	}
}

func setNumber(to, from *int32) {
	if from != nil {
		*to = *from
	}
}
