package model

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// roomOf returns a need of a unit for an hour.
func roomOf(room id.Room, from time.Time) Need {
	return Need{Kind: RoomResource, Resource: room.UUID(), From: from, Until: from.Add(time.Hour)}
}

func TestUnits(t *testing.T) {
	room, from := id.New[id.Room](), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	other, own := id.New[id.EventDate](), id.New[id.EventDate]()
	for behaviour, tt := range map[string]struct {
		own, units int32
		taken      []int32
		within     map[int32]time.Duration // offset of an hour that the same change takes, by unit
		want       int32
		by         id.EventDate
	}{
		"the lowest free unit":                                       {units: 3, taken: []int32{1, 3}, want: 2},
		"its own unit, if it is free":                                {own: 3, units: 3, taken: []int32{2}, want: 3},
		"another unit, if its own is taken":                          {own: 1, units: 3, taken: []int32{1}, want: 2},
		"another unit, if the room has no such unit any more":        {own: 3, units: 2, want: 1},
		"no unit, if all are taken":                                  {units: 2, taken: []int32{1, 2}, by: other},
		"a unit that the same change takes right before":             {units: 1, within: map[int32]time.Duration{1: -time.Hour}, want: 1},
		"a unit that the same change takes right after":              {units: 1, within: map[int32]time.Duration{1: time.Hour}, want: 1},
		"no unit, if the same change takes it":                       {units: 1, within: map[int32]time.Duration{1: 59 * time.Minute}, by: own},
		"the unit that neither others nor the same change have":      {units: 3, taken: []int32{1}, within: map[int32]time.Duration{2: 0}, want: 3},
		"no unit, if others and the same change take all, by others": {units: 2, taken: []int32{1}, within: map[int32]time.Duration{2: 0}, by: other},
	} {
		t.Run(behaviour, func(t *testing.T) {
			taken, o := intervals{}, Occupied{Units: tt.taken}
			if len(tt.taken) > 0 {
				o.By = other
			}
			for unit, offset := range tt.within {
				taken.take(room.UUID(), unit, interval{from.Add(offset), from.Add(offset + time.Hour), own})
			}
			n := roomOf(room, from)
			unit, by, free := n.unit(tt.own, KnownResource{Units: tt.units}, &o, taken)
			if unit != tt.want || free != (tt.want > 0) || !free && by != tt.by {
				t.Errorf("got %d, %s, %v", unit, by, free)
			}
		})
	}
}

func TestIntervalsStayInOrder(t *testing.T) {
	room, from := id.New[id.Room]().UUID(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return from.Add(time.Duration(hours) * time.Hour) }
	taken := intervals{}
	for _, hours := range []int{8, 2, 6, 0, 4} {
		taken.take(room, 1, interval{at(hours), at(hours + 1), id.EventDate{}})
	}
	for hours := range 9 {
		if _, clash := taken.clash(room, 1, at(hours), at(hours+1)); clash != (hours%2 == 0) {
			t.Errorf("after %d hours: %v", hours, clash)
		}
	}
	if _, clash := taken.clash(room, 2, at(0), at(9)); clash {
		t.Error("another unit is taken")
	}
}

func TestDatesWithOtherStaffKeepTheirs(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	ann, bob, cat := id.New[id.StaffMember](), id.New[id.StaffMember](), id.New[id.StaffMember]()
	assigned := func(substitutes id.StaffMember, staff ...id.StaffMember) []Assignment {
		var all []Assignment
		for i, s := range staff {
			all = append(all, Assignment{Kind: StaffResource, Resource: s.UUID(), Position: int32(i), Active: true, SubstitutesFor: substitutes,
				From: now.Add(time.Hour), Until: now.Add(2 * time.Hour)})
		}
		return all
	}
	none := id.StaffMember{}
	for behaviour, tt := range map[string]struct {
		start   time.Duration
		status  DateStatus
		had     []Assignment
		changes bool
	}{
		"a date to come with the old default gets the new one": {time.Hour, Scheduled, assigned(none, ann), true},
		"a date with another teacher keeps it":                 {time.Hour, Scheduled, assigned(none, bob), false},
		"a date with one more teacher keeps both":              {time.Hour, Scheduled, assigned(none, ann, bob), false},
		"a date with a substitute keeps it":                    {time.Hour, Scheduled, assigned(cat, ann), false},
		"a date without teachers stays without":                {time.Hour, Scheduled, nil, false},
		"a date that has started keeps its teacher":            {-time.Minute, Scheduled, assigned(none, ann), false},
		"a cancelled date keeps its teacher":                   {time.Hour, DateCancelled, assigned(none, ann), false},
	} {
		t.Run(behaviour, func(t *testing.T) {
			d := EventDate{ID: id.New[id.EventDate](), StartsAt: now.Add(tt.start), Minutes: 60, Status: tt.status}
			before := &Event{Dates: []EventDate{d}, StaffAndRooms: StaffAndRooms{Staff: []id.StaffMember{ann}}}
			p := &EventPlan{Event: before.Clone(), Restaffs: true}
			p.StaffAndRooms = StaffAndRooms{Staff: []id.StaffMember{cat}}
			s := p.Staff(before, now)
			if err := s.Prepare(map[id.EventDate][]Assignment{d.ID: tt.had}); err != nil {
				t.Fatal(err)
			}
			if changes := len(s.Reassigned()) > 0; changes != tt.changes {
				t.Errorf("changes %v", changes)
			}
		})
	}
}

func TestPlaceRefusesWhoIsMissing(t *testing.T) {
	e := &Event{StaffAndRooms: StaffAndRooms{Rooms: []id.Room{id.New[id.Room]()}}}
	s := e.StaffNew()
	if err := s.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	if f := fault.From(s.Place(nil, nil)); f == nil || f.Kind != fault.Invalid || f.Fields[0].Field != "staff_and_rooms.room_ids[0]" {
		t.Errorf("got %v", f)
	}
}
