package model

import (
	"cmp"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// notShown is the position of an assignment that its date no longer has.
const notShown = -1

// Staffing is what a change of an event does to the staff and rooms of its dates.
type Staffing struct {
	dates []staffedDate
	// given is who the request names, at the path field. They must exist.
	given StaffAndRooms
	field string
	needs []Need
	// closed refuses other staff or rooms; nil: they can change.
	closed *fault.Error
}

// staffedDate is a date whose staff, rooms or time a change can affect.
type staffedDate struct {
	before, after *EventDate     // before is nil if the date is added
	usual         *StaffAndRooms // of the event
	wanted        *StaffAndRooms // nil: the date keeps its own
	// instead means that wanted only replaces these, and no substitute.
	instead    *StaffAndRooms
	removed    []Assignment
	reassigned bool
}

// StaffNew returns the staffing of a new event.
func (e *Event) StaffNew() *Staffing {
	s := &Staffing{given: e.StaffAndRooms, field: "staff_and_rooms."}
	for i := range e.Dates {
		s.dates = append(s.dates, staffedDate{after: &e.Dates[i], usual: &e.StaffAndRooms, wanted: &e.StaffAndRooms})
	}
	return s
}

// Staff returns the staffing of the plan. before is the event before the change.
func (p *EventPlan) Staff(before *Event, now time.Time) *Staffing {
	s := &Staffing{field: "staff_and_rooms."}
	if p.Restaffs {
		s.given = p.StaffAndRooms
	}
	if p.Cancels {
		return s
	}
	old, changed := before.DatesByID(), map[id.EventDate]bool{}
	for _, d := range p.Changed() {
		changed[d] = true
	}
	for i := range p.Dates {
		d := staffedDate{before: old[p.Dates[i].ID], after: &p.Dates[i], usual: &p.StaffAndRooms}
		if p.Restaffs && d.after.toCome(now) {
			d.wanted, d.instead = &p.StaffAndRooms, &before.StaffAndRooms
		}
		if d.wanted != nil || changed[d.after.ID] {
			s.dates = append(s.dates, d)
		}
	}
	for i := range p.AddedDates {
		s.dates = append(s.dates, staffedDate{after: &p.AddedDates[i], usual: &p.StaffAndRooms, wanted: &p.StaffAndRooms})
	}
	return s
}

// Staff returns the staffing of a change of the only date of after. before is the event before the change.
func (c *DateChange) Staff(before, after *Event) *Staffing {
	d := staffedDate{before: &before.Dates[0], after: &after.Dates[0], usual: &after.StaffAndRooms, wanted: c.StaffAndRooms}
	s := &Staffing{dates: []staffedDate{d}, field: c.At + "staff_and_rooms."}
	if c.StaffAndRooms != nil {
		s.given = *c.StaffAndRooms
	}
	switch {
	case d.after.Status == DateCancelled:
		s.closed = dateIsCancelled(d.after.ID)
	case after.Status == Cancelled:
		s.closed = EventIsCancelled()
	}
	return s
}

// Stored returns the dates that exist already.
func (s *Staffing) Stored() []id.EventDate {
	var dates []id.EventDate
	for i := range s.dates {
		if d := &s.dates[i]; d.before != nil {
			dates = append(dates, d.before.ID)
		}
	}
	return dates
}

// Prepare decides who teaches each date, and where. current is the assignments of the stored dates. Before
// Place, the units of rooms that a date did not have are 0.
func (s *Staffing) Prepare(current map[id.EventDate][]Assignment) error {
	for i := range s.dates {
		d := &s.dates[i]
		if d.before != nil {
			d.before.Assigned = current[d.before.ID]
			d.after.Assigned = slices.Clone(d.before.Assigned)
		}
		s.needs = append(s.needs, d.prepare(i)...)
	}
	slices.SortStableFunc(s.needs, func(a, b Need) int { return a.From.Compare(b.From) })
	if s.closed != nil && len(s.Reassigned()) > 0 {
		return s.closed
	}
	return nil
}

// prepare sets the assignments of the date after the change, and returns the times that must be free.
func (d *staffedDate) prepare(at int) (needs []Need) {
	had := d.own()
	wanted := d.wanted
	if wanted == nil || d.instead != nil && !d.follows(had) {
		own := named(had)
		wanted = &own
		d.wanted = nil
	} else {
		own, after := named(had), *wanted
		after = after.over(&own)
		wanted = &after
	}
	var assigned []Assignment
	for i, a := range wanted.assignments(d.usual) {
		a.Date, a.Position, a.Active = d.after.ID, int32(i), true
		old, kept := find(had, a.Resource)
		if kept {
			a.Name, a.Color, a.Unit, a.Before, a.After = old.Name, old.Color, old.Unit, old.Before, old.After
			if d.wanted == nil {
				a.SubstitutesFor, a.Position = old.SubstitutesFor, old.Position
			}
		}
		a.From = d.after.StartsAt.Add(-time.Duration(a.Before) * time.Minute)
		a.Until = d.after.StartsAt.Add(time.Duration(d.after.Minutes+a.After) * time.Minute)
		if !kept || !old.From.Equal(a.From) || !old.Until.Equal(a.Until) {
			needs = append(needs, Need{date: at, index: len(assigned), added: !kept, Kind: a.Kind, Resource: a.Resource, From: a.From, Until: a.Until})
		}
		d.reassigned = d.reassigned || !kept || a.SubstitutesFor != old.SubstitutesFor || a.Position != old.Position
		assigned = append(assigned, a)
	}
	for _, a := range d.after.Assigned {
		if _, kept := find(assigned, a.Resource); kept {
			continue
		}
		if a.Active {
			a.Active, a.Position = false, notShown
			d.removed, d.reassigned = append(d.removed, a), true
		}
		assigned = append(assigned, a)
	}
	d.after.Assigned = assigned
	return needs
}

// own returns the assignments that the date has before the change.
func (d *staffedDate) own() []Assignment {
	if d.before == nil {
		return nil
	}
	return slices.Concat(d.before.Shown(StaffResource), d.before.Shown(RoomResource))
}

// follows reports whether a date has the usual staff and rooms of its event, and nobody as a substitute.
func (d *staffedDate) follows(had []Assignment) bool {
	own := named(had)
	return own.equal(d.instead) && !slices.ContainsFunc(had, func(a Assignment) bool { return !a.SubstitutesFor.IsZero() })
}

// named returns the staff and rooms of assignments, in their order.
func named(assigned []Assignment) (s StaffAndRooms) {
	assigned = slices.Clone(assigned)
	slices.SortStableFunc(assigned, func(a, b Assignment) int { return cmp.Compare(a.Position, b.Position) })
	for _, a := range assigned {
		if a.Kind == StaffResource {
			s.Staff = append(s.Staff, id.StaffMember(a.Resource))
		} else {
			s.Rooms = append(s.Rooms, id.Room(a.Resource))
		}
	}
	return s
}

// assignments returns the assignments of a date that has s. Its people replace those of usual whom s lacks,
// in their order.
func (s *StaffAndRooms) assignments(usual *StaffAndRooms) []Assignment {
	var replaced []id.StaffMember
	for _, u := range usual.Staff {
		if !slices.Contains(s.Staff, u) {
			replaced = append(replaced, u)
		}
	}
	var out []Assignment
	for _, m := range s.Staff {
		a := Assignment{Kind: StaffResource, Resource: m.UUID()}
		if !slices.Contains(usual.Staff, m) && len(replaced) > 0 {
			a.SubstitutesFor, replaced = replaced[0], replaced[1:]
		}
		out = append(out, a)
	}
	for _, r := range s.Rooms {
		out = append(out, Assignment{Kind: RoomResource, Resource: r.UUID()})
	}
	return out
}

func find(assigned []Assignment, resource id.UUID) (Assignment, bool) {
	at := slices.IndexFunc(assigned, func(a Assignment) bool { return a.Resource == resource })
	if at < 0 {
		return Assignment{}, false
	}
	return assigned[at], true
}

// Empty reports whether the change takes nobody's time and changes no staff and no rooms.
func (s *Staffing) Empty() bool {
	return len(s.needs)+len(s.given.Staff)+len(s.given.Rooms)+len(s.Reassigned()) == 0
}

// Reassigned returns the stored dates whose staff or rooms change.
func (s *Staffing) Reassigned() []id.EventDate {
	var dates []id.EventDate
	for i := range s.dates {
		if d := &s.dates[i]; d.before != nil && d.reassigned {
			dates = append(dates, d.after.ID)
		}
	}
	return dates
}

// Assignments returns the assignments to store.
func (s *Staffing) Assignments() []Assignment {
	var all []Assignment
	for i := range s.dates {
		d := &s.dates[i]
		for _, a := range d.after.Assigned {
			if a.Active && d.reassigned {
				all = append(all, a)
			}
		}
	}
	return all
}

// Removed returns the assignments that end.
func (s *Staffing) Removed() []Assignment {
	var all []Assignment
	for i := range s.dates {
		all = append(all, s.dates[i].removed...)
	}
	return all
}

// Moves reports whether the time of assignments changes.
func (s *Staffing) Moves() bool { return len(s.needs) > 0 }

// Announced returns the dates whose change is published: those that the plan changes, and those that get
// other staff or rooms.
func (p *EventPlan) Announced() []id.EventDate {
	dates := p.Changed()
	if p.Staffing == nil {
		return dates
	}
	changed := make(map[id.EventDate]bool, len(dates))
	for _, d := range dates {
		changed[d] = true
	}
	for _, d := range p.Staffing.Reassigned() {
		if !changed[d] {
			dates = append(dates, d)
		}
	}
	return dates
}
