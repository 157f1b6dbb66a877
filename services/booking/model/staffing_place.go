package model

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Need is a time at which a change needs a person, or a unit of a room.
type Need struct {
	date, index int  // of the assignment
	added       bool // the date did not have the person or room
	Kind        ResourceKind
	Resource    id.UUID
	From, Until time.Time
}

// KnownResource is a person or a room as a decision needs it.
type KnownResource struct {
	Kind        ResourceKind
	Name, Color string
	Active      bool
	Units       int32 // of a room
}

// Occupied is what already takes the time of a need.
type Occupied struct {
	Units []int32      // that other dates take; 0 for a person
	By    id.EventDate // the first of these dates
	Off   bool         // time off
}

// Needs returns the times that must be free.
func (s *Staffing) Needs() []Need { return s.needs }

// Resources returns the staff and rooms that the change needs or names.
func (s *Staffing) Resources() (staff []id.StaffMember, rooms []id.Room) {
	staff, rooms = slices.Clone(s.given.Staff), slices.Clone(s.given.Rooms)
	for _, n := range s.needs {
		if n.Kind == StaffResource {
			staff = append(staff, id.StaffMember(n.Resource))
		} else {
			rooms = append(rooms, id.Room(n.Resource))
		}
	}
	return Distinct(staff), Distinct(rooms)
}

// Place takes a time for every need, of rooms that of the lowest free unit. A room that a date already has
// keeps its unit if it is free. known has the staff and rooms; occupied what takes the time of each need,
// without the dates of s.
func (s *Staffing) Place(known map[id.UUID]KnownResource, occupied []Occupied) error {
	if err := s.given.missing(s.field, known); err != nil {
		return err
	}
	taken := s.unchanged()
	for i := range s.needs {
		n := &s.needs[i]
		d := &s.dates[n.date]
		a := &d.after.Assigned[n.index]
		r := known[n.Resource]
		switch {
		case n.added && !r.Active:
			return n.refuse(r, d, "inactive", id.EventDate{})
		case occupied[i].Off:
			return n.refuse(r, d, "time_off", id.EventDate{})
		}
		unit, by, free := n.unit(a.Unit, r, &occupied[i], taken)
		if !free {
			return n.refuse(r, d, string(n.Kind)+"_busy", s.storedOr(by))
		}
		d.reassigned = d.reassigned || unit != a.Unit
		a.Unit, a.Name, a.Color = unit, r.Name, r.Color
		taken.take(n.Resource, unit, interval{n.From, n.Until, a.Date})
	}
	return nil
}

// unchanged returns the times that the dates of s take and keep.
func (s *Staffing) unchanged() intervals {
	needed := make(map[[2]int]bool, len(s.needs))
	for _, n := range s.needs {
		needed[[2]int{n.date, n.index}] = true
	}
	taken := intervals{}
	for i := range s.dates {
		for j, a := range s.dates[i].after.Assigned {
			if a.Active && !needed[[2]int{i, j}] {
				taken.take(a.Resource, a.Unit, interval{a.From, a.Until, a.Date})
			}
		}
	}
	return taken
}

// unit returns the unit that n takes: own if it is free, or else the lowest free one. If none is free, by is
// the first date that is in the way.
func (n *Need) unit(own int32, r KnownResource, o *Occupied, taken intervals) (unit int32, by id.EventDate, free bool) {
	by = o.By
	isFree := func(unit int32) bool {
		if slices.Contains(o.Units, unit) {
			return false
		}
		other, clash := taken.clash(n.Resource, unit, n.From, n.Until)
		if clash && by.IsZero() {
			by = other
		}
		return !clash
	}
	if n.Kind == StaffResource {
		return 0, by, isFree(0)
	}
	if own >= 1 && own <= r.Units && isFree(own) {
		return own, by, true
	}
	for unit := int32(1); unit <= r.Units; unit++ {
		if isFree(unit) {
			return unit, by, true
		}
	}
	return 0, by, false
}

// storedOr returns date if callers can know it, and otherwise the zero identifier.
func (s *Staffing) storedOr(date id.EventDate) id.EventDate {
	for i := range s.dates {
		if s.dates[i].before == nil && s.dates[i].after.ID == date {
			return id.EventDate{}
		}
	}
	return date
}

// refuse returns the refusal of a need of a date.
func (n *Need) refuse(r KnownResource, d *staffedDate, why string, by id.EventDate) *fault.Error {
	start := d.after.StartsAt.UTC().Format(time.RFC3339)
	message := map[string]string{
		"inactive":   "%s is not active, so the date that starts at %s cannot be added",
		"time_off":   "%s has time off during the date that starts at %s",
		"staff_busy": "%s is taken during the date that starts at %s",
		"room_busy":  "%s has no free unit during the date that starts at %s",
	}[why]
	reason, key, resource := ReasonStaffBusy, "staff_id", id.StaffMember(n.Resource).String()
	if n.Kind == RoomResource {
		reason, key, resource = ReasonRoomBusy, "room_id", id.Room(n.Resource).String()
	}
	refusal := fault.Refuse(reason, fmt.Sprintf(message, r.Name, start)).With(key, resource).With("starts_at", start).With("why", why)
	if !by.IsZero() {
		refusal = refusal.With("event_date_id", by.String())
	}
	return refusal
}

// interval is a time that a date takes.
type interval struct {
	from, until time.Time
	date        id.EventDate
}

type unitOf struct {
	resource id.UUID
	unit     int32
}

// intervals are the times that are taken, by unit and in their order. Those of one unit do not overlap.
type intervals map[unitOf][]interval

// endedBy returns the number of intervals of a unit that end by at.
func endedBy(list []interval, at time.Time) int {
	n, _ := slices.BinarySearchFunc(list, at, func(i interval, at time.Time) int {
		if i.until.After(at) {
			return 1
		}
		return -1
	})
	return n
}

func (t intervals) clash(resource id.UUID, unit int32, from, until time.Time) (id.EventDate, bool) {
	list := t[unitOf{resource, unit}]
	if i := endedBy(list, from); i < len(list) && list[i].from.Before(until) {
		return list[i].date, true
	}
	return id.EventDate{}, false
}

func (t intervals) take(resource id.UUID, unit int32, i interval) {
	key := unitOf{resource, unit}
	t[key] = slices.Insert(t[key], endedBy(t[key], i.from), i)
}
