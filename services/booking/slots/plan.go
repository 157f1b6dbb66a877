package slots

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/model"
)

// plan is a calendar in the form in which starts are tried.
type plan struct {
	calendar              *Calendar
	query                 Query
	length, before, after int64 // seconds
	// noticed is the first second at which an appointment can start, if the notice counts.
	noticed int64
	people  []person
	rooms   map[id.Room]*room
	// ordered has the people by the rule of choice on day.
	ordered []*person
	day     Date
}

// person is a staff member whose calendar is lanes of time.
type person struct {
	id            id.StaffMember
	worked        lane // shifts, also on holidays
	open          lane // shifts, except on holidays
	off, taken    lane
	byDay, byWeek map[Date]int64 // minutes of dates; the key of a week is its Monday
}

// room is a room whose calendar is lanes of time.
type room struct {
	off   lane
	units []lane
}

// plan prepares the calendar for starts in s.
func (c *Calendar) plan(s span, q Query) *plan {
	p := &plan{
		calendar: c, query: q, length: int64(q.Length / time.Second),
		before: int64(c.Type.Before) * 60, after: int64(c.Type.After) * 60,
		noticed: q.Now.Add(time.Duration(c.Type.Notice)*time.Minute + time.Second - 1).Unix(),
		rooms:   make(map[id.Room]*room, len(c.Rooms)),
	}
	s.until += p.length
	holidays := make(map[Date]bool, len(c.Holidays))
	for _, day := range c.Holidays {
		holidays[day] = true
	}
	for i := range c.Staff {
		if who := &c.Staff[i]; q.Staff.IsZero() || who.ID == q.Staff {
			p.people = append(p.people, newPerson(who, s, holidays, c.Type.Loc))
		}
	}
	for which, r := range c.Rooms {
		p.rooms[which] = newRoom(r)
	}
	return p
}

func newPerson(who *Staff, s span, holidays map[Date]bool, loc *time.Location) person {
	worked, open := who.shifts(s, holidays)
	p := person{
		id: who.ID, worked: newLane(worked), open: newLane(open), off: laneOf(who.TimeOff),
		byDay: map[Date]int64{}, byWeek: map[Date]int64{},
	}
	taken := make([]span, len(who.Taken))
	for i, t := range who.Taken {
		taken[i] = t.seconds()
		day := DateOf(t.Starts.In(loc))
		p.byDay[day] += int64(t.Minutes)
		p.byWeek[day.monday()] += int64(t.Minutes)
	}
	p.taken = newLane(taken)
	return p
}

func newRoom(r *Room) *room {
	units := make([][]span, r.Capacity)
	for _, t := range r.Taken {
		if t.Unit >= 1 && t.Unit <= r.Capacity {
			units[t.Unit-1] = append(units[t.Unit-1], t.seconds())
		}
	}
	made := &room{off: laneOf(r.TimeOff)}
	for _, spans := range units {
		made.units = append(made.units, newLane(spans))
	}
	return made
}

// byChoice returns the people in the order in which those who are free are chosen on a day (invariant
// 38).
func (p *plan) byChoice(day Date) []*person {
	if p.ordered != nil && p.day == day {
		return p.ordered
	}
	p.day, p.ordered = day, make([]*person, len(p.people))
	for i := range p.people {
		p.ordered[i] = &p.people[i]
	}
	week := day.monday()
	slices.SortFunc(p.ordered, func(a, b *person) int {
		return cmp.Or(cmp.Compare(a.byWeek[week], b.byWeek[week]), cmp.Compare(a.byDay[day], b.byDay[day]), bytes.Compare(a.id[:], b.id[:]))
	})
	return p.ordered
}

// try applies the rules to a start, on a day in the zone of the type. It returns how far the start came,
// and appends the people who are free to into, in the order of choice. It does not apply the grid.
func (p *plan) try(start int64, day Date, into []id.StaffMember) (stage, []id.StaffMember) {
	switch {
	case len(p.people) == 0:
		return atNoStaff, into
	case start <= p.query.Now.Unix():
		return atPast, into
	case !p.waivesNotice() && p.beyondHorizon(start):
		return atBeyondHorizon, into
	}
	furthest, before := atNoHours, len(into)
	for _, who := range p.byChoice(day) {
		reached := p.tryWith(who, start)
		if furthest = max(furthest, reached); reached == free {
			into = append(into, who.id)
		}
	}
	if furthest < free {
		return furthest, into
	}
	if !p.hasRooms(start) {
		return atRoomBusy, into[:before]
	}
	return free, into
}

// tryWith applies the rules that depend on the person. It returns free if only a room is left to find.
func (p *plan) tryWith(who *person, start int64) stage {
	appointment := span{from: start, until: start + p.length}
	switch {
	case !p.waivesHours() && !who.worked.contains(appointment):
		return atNoHours
	case !p.waivesHours() && !who.open.contains(appointment):
		return atHoliday
	case who.off.overlaps(p.buffered(start)):
		return atTimeOff
	case !p.waivesNotice() && start < p.noticed:
		return atTooShortNotice
	case who.taken.overlaps(p.buffered(start)):
		return atStaffBusy
	}
	return free
}

func (p *plan) waivesHours() bool  { return p.query.WaiveHours && !p.query.Staff.IsZero() }
func (p *plan) waivesNotice() bool { return p.query.WaiveNotice || p.waivesHours() }

// buffered returns the time that an appointment takes, with its buffers.
func (p *plan) buffered(start int64) span {
	return span{from: start - p.before, until: start + p.length + p.after}
}

// beyondHorizon reports whether booking has not opened yet for a start. The booking rules of events
// decide, and the starts that are days away from the horizon are decided without them.
func (p *plan) beyondHorizon(start int64) bool {
	const margin = 3 * secondsPerDay
	horizon := p.calendar.Type.Horizon
	about := start - int64(horizon)*secondsPerDay - p.query.Now.Unix()
	if horizon == 0 || about < -margin {
		return false
	}
	if about > margin {
		return true
	}
	rules := model.BookingRules{MaximumAdvance: horizon}
	opens, _ := rules.Window(time.Unix(start, 0), p.calendar.Type.Loc.String())
	return p.query.Now.Before(opens)
}
