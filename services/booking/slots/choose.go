package slots

import (
	"slices"
	"time"

	"reservation.dev/platform/id"
)

// Choose decides who and what an appointment uses that starts at an instant, or why it cannot be booked.
// If several people are free, invariant 38 says who is chosen.
func (c *Calendar) Choose(start time.Time, q Query) (Choice, Reason) {
	at := start.Unix()
	p := c.plan(span{from: at, until: at + 1}, q)
	if reached := p.tryRequest(start); reached != free {
		return Choice{}, reached.reason()
	}
	reached, staff := p.try(at, DateOf(start.In(c.Type.Loc)), nil)
	if reached != free {
		return Choice{}, reached.reason()
	}
	units, _ := p.units(p.buffered(at))
	return Choice{Staff: staff[0], Rooms: units}, ""
}

// tryRequest applies the rules that FindSlots keeps by itself.
func (p *plan) tryRequest(start time.Time) stage {
	t := &p.calendar.Type
	switch {
	case len(p.people) == 0:
		return atNoStaff
	case !slices.Contains(t.Lengths, int32(p.query.Length/time.Minute)) || p.query.Length%time.Minute != 0:
		return atLength
	case start.Unix() <= p.query.Now.Unix():
		return atPast
	case !p.waivesHours() && !onGrid(start, t.Loc, t.Grid):
		return atOffGrid
	}
	return free
}

// Days returns the slots of the calendar days from and to, and those between them, in loc. Each start is
// on the day that it shows in loc.
func (c *Calendar) Days(from, to Date, loc *time.Location, q Query) []Day {
	days := make([]Day, 0, to-from+1)
	p := c.plan(span{from: from.Start(loc).Unix(), until: (to + 1).Start(loc).Unix()}, q)
	for date := from; date <= to; date++ {
		days = append(days, p.on(date, loc))
	}
	return days
}

// on returns the slots of a calendar day in loc.
func (p *plan) on(date Date, loc *time.Location) Day {
	day := Day{Date: date}
	t, whole := &p.calendar.Type, span{from: date.Start(loc).Unix(), until: (date + 1).Start(loc).Unix()}
	furthest := atNoHours
	if len(p.people) == 0 {
		furthest = atNoStaff
	}
	var people []id.StaffMember // of all slots of the day
	first := true
	gridStarts(whole, t.Loc, t.Grid, func(start int64, in Date) {
		before := len(people)
		reached, all := p.try(start, in, people)
		if people = all; reached == free {
			day.Slots = append(day.Slots, Slot{Start: time.Unix(start, 0).UTC(), Staff: people[before:len(people):len(people)]})
		}
		if first {
			furthest, first = reached, false
		}
		furthest = max(furthest, reached)
	})
	if furthest == atNoHours && p.worked(whole) {
		furthest = atPast
	}
	day.Reason = furthest.reason()
	return day
}

// worked reports whether one of the starts in s that are over was during a shift of one of the people.
func (p *plan) worked(s span) (over bool) {
	s.until = min(s.until, p.query.Now.Unix()+1)
	gridStarts(s, p.calendar.Type.Loc, p.calendar.Type.Grid, func(start int64, _ Date) {
		for i := range p.people {
			over = over || p.people[i].worked.contains(span{from: start, until: start + p.length})
		}
	})
	return over
}
