package slots_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/slots"
)

// The naive model knows nothing of the package but its types. It looks at every minute of a window of 18
// days, and converts wall time by looking for the minute at which a clock shows it.

// windowDays is the length of a window on each side of its centre.
const windowDays = 9

// clock is what the clocks of a zone show in a window.
type clock struct {
	shown []int64         // the wall time at each minute, as minutes since 1970
	first map[int64]int64 // the first minute at which each wall time is shown
}

type clocks struct {
	base time.Time // the first minute of the window
	of   map[string]*clock
}

func newClocks(t testing.TB, centre string) *clocks {
	middle, err := time.Parse(time.DateOnly, centre)
	if err != nil {
		t.Fatal(err)
	}
	c := &clocks{base: middle.AddDate(0, 0, -windowDays), of: map[string]*clock{}}
	for _, name := range zones() {
		loc := mustLoad(t, name)
		of := &clock{first: map[int64]int64{}}
		for m := range int64(2 * windowDays * 24 * 60) {
			at := c.base.Add(time.Duration(m) * time.Minute).In(loc)
			wall := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC).Unix() / 60
			of.shown = append(of.shown, wall)
			if _, ok := of.first[wall]; !ok {
				of.first[wall] = m
			}
		}
		c.of[name] = of
	}
	return c
}

func mustLoad(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func zones() []string {
	return []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo", "America/Havana", "Pacific/Apia", "UTC"}
}

// minute returns the minute at which a wall time is shown for the first time. A skipped time comes as long
// after the last time before it that is shown as the difference between the two.
func (c *clock) minute(wall int64) (int64, bool) {
	for back := range int64(2 * 24 * 60) {
		if m, ok := c.first[wall-back]; ok {
			return m + back, true
		}
	}
	return 0, false
}

// naive is the model of one calendar and query.
type naive struct {
	clocks   *clocks
	calendar *slots.Calendar
	query    slots.Query
	zone     *clock // of the type
	people   []*naivePerson
}

type naivePerson struct {
	*slots.Staff
	worked, open, off, taken []bool // at each minute of the window
}

func newNaive(c *clocks, calendar *slots.Calendar, q slots.Query) *naive {
	n := &naive{clocks: c, calendar: calendar, query: q, zone: c.of[calendar.Type.Loc.String()]}
	for i := range calendar.Staff {
		who := &calendar.Staff[i]
		if !q.Staff.IsZero() && who.ID != q.Staff {
			continue
		}
		p := &naivePerson{Staff: who, worked: make([]bool, len(n.zone.shown)), open: make([]bool, len(n.zone.shown)),
			off: n.minutesOf(who.TimeOff), taken: make([]bool, len(n.zone.shown))}
		for _, taken := range who.Taken {
			n.mark(p.taken, taken.Span)
		}
		n.work(p)
		n.people = append(n.people, p)
	}
	return n
}

func (n *naive) minutesOf(spans []slots.Span) []bool {
	marked := make([]bool, len(n.zone.shown))
	for _, s := range spans {
		n.mark(marked, s)
	}
	return marked
}

func (n *naive) mark(marked []bool, s slots.Span) {
	for at := s.From; at.Before(s.Until); at = at.Add(time.Minute) {
		if m := n.index(at); m >= 0 && m < int64(len(marked)) {
			marked[m] = true
		}
	}
}

func (n *naive) index(at time.Time) int64 { return int64(at.Sub(n.clocks.base) / time.Minute) }

// work marks the minutes of a person's shifts.
func (n *naive) work(p *naivePerson) {
	holidays := map[int64]bool{}
	for _, h := range n.calendar.Holidays {
		holidays[dayNumber(h.String())] = true
	}
	for day := range 2 * windowDays {
		date := n.clocks.base.AddDate(0, 0, day)
		replaced := slices.ContainsFunc(p.Shifts, func(s slots.Shift) bool {
			return s.Weekday == 0 && s.Date.String() == date.Format(time.DateOnly)
		})
		for _, s := range p.Shifts {
			isoDay := (int16(date.Weekday())+6)%7 + 1
			onDate := s.Weekday == 0 && s.Date.String() == date.Format(time.DateOnly) && s.Ends > 0
			if !onDate && (s.Weekday != isoDay || replaced) {
				continue
			}
			shown := n.clocks.of[s.Loc.String()]
			from, ok := shown.minute(date.Unix()/60 + int64(s.Starts))
			until, ok2 := shown.minute(date.Unix()/60 + int64(s.Ends))
			for m := from; ok && ok2 && m < until && m < int64(len(p.worked)); m++ {
				p.worked[m] = true
				if !holidays[shown.shown[m]/(24*60)] {
					p.open[m] = true
				}
			}
		}
	}
}

func all(marked []bool, from, until int64) bool {
	for m := from; m < until; m++ {
		if !marked[m] {
			return false
		}
	}
	return true
}

func anyOf(marked []bool, from, until int64) bool {
	for m := from; m < until; m++ {
		if marked[m] {
			return true
		}
	}
	return false
}

// order is the order in which the rules of NoSlotsReason are applied.
func order() []slots.Reason {
	return []slots.Reason{slots.NoStaff, slots.Past, slots.BeyondHorizon, slots.NoHours, slots.Holiday, slots.TimeOff,
		slots.TooShortNotice, slots.StaffBusy, slots.RoomBusy, ""}
}

func furthest(a, b slots.Reason) slots.Reason {
	if slices.Index(order(), a) > slices.Index(order(), b) {
		return a
	}
	return b
}

// at returns who is free at the minute m, in the order of choice, or the furthest reason.
func (n *naive) at(m int64) ([]*naivePerson, slots.Reason) {
	reason := slots.NoStaff
	var free []*naivePerson
	for _, p := range n.people {
		got := n.with(p, m)
		if got == "" {
			if _, ok := n.units(m); !ok {
				got = slots.RoomBusy
			}
		}
		if got == "" {
			free = append(free, p)
		}
		reason = furthest(reason, got)
	}
	slices.SortFunc(free, func(a, b *naivePerson) int {
		for _, layout := range []func(time.Time) int{weekOf, dayOf} {
			if d := n.minutesIn(a, m, layout) - n.minutesIn(b, m, layout); d != 0 {
				return d
			}
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	return free, reason
}

func (n *naive) with(p *naivePerson, m int64) slots.Reason {
	t, start := &n.calendar.Type, n.clocks.base.Add(time.Duration(m)*time.Minute)
	end := m + int64(n.query.Length/time.Minute)
	waivesHours := n.query.WaiveHours && !n.query.Staff.IsZero()
	waivesNotice := waivesHours || n.query.WaiveNotice
	opens, known := n.zone.minute(n.zone.shown[m] - int64(t.Horizon)*24*60)
	switch {
	case !start.After(n.query.Now):
		return slots.Past
	case !waivesNotice && t.Horizon > 0 && known && n.query.Now.Before(n.clocks.base.Add(time.Duration(opens)*time.Minute)):
		return slots.BeyondHorizon
	case !waivesHours && !all(p.worked, m, end):
		return slots.NoHours
	case !waivesHours && !all(p.open, m, end):
		return slots.Holiday
	case anyOf(p.off, m-int64(t.Before), end+int64(t.After)):
		return slots.TimeOff
	case !waivesNotice && start.Before(n.query.Now.Add(time.Duration(t.Notice)*time.Minute)):
		return slots.TooShortNotice
	case anyOf(p.taken, m-int64(t.Before), end+int64(t.After)):
		return slots.StaffBusy
	}
	return ""
}

// units returns the units for an appointment at the minute m.
func (n *naive) units(m int64) ([]slots.Unit, bool) {
	t := &n.calendar.Type
	from, until := m-int64(t.Before), m+int64(n.query.Length/time.Minute)+int64(t.After)
	var chosen []slots.Unit
	for _, rooms := range n.calendar.Requirements {
		var candidates []slots.Unit
		for _, kept := range n.query.Keep {
			if slices.Contains(rooms, kept.Room) && kept.Unit >= 1 && kept.Unit <= n.calendar.Rooms[kept.Room].Capacity {
				candidates = append(candidates, kept)
			}
		}
		for _, room := range rooms {
			for unit := range n.calendar.Rooms[room].Capacity {
				candidates = append(candidates, slots.Unit{Room: room, Unit: unit + 1})
			}
		}
		i := slices.IndexFunc(candidates, func(u slots.Unit) bool { return n.unitIsFree(u, from, until) })
		if i < 0 {
			return nil, false
		}
		chosen = append(chosen, candidates[i])
	}
	return chosen, true
}

func (n *naive) unitIsFree(u slots.Unit, from, until int64) bool {
	begin, end := n.clocks.base.Add(time.Duration(from)*time.Minute), n.clocks.base.Add(time.Duration(until)*time.Minute)
	overlap := func(s slots.Span) bool { return s.From.Before(end) && s.Until.After(begin) }
	room := n.calendar.Rooms[u.Room]
	for _, taken := range room.Taken {
		if taken.Unit == u.Unit && overlap(taken.Span) {
			return false
		}
	}
	return !slices.ContainsFunc(room.TimeOff, overlap)
}

// dayNumber returns the number of days from 1970 to a day.
func dayNumber(date string) int64 {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return at.Unix() / (24 * 60 * 60)
}

func weekOf(wall time.Time) int { y, w := wall.ISOWeek(); return y*100 + w }
func dayOf(wall time.Time) int  { return wall.Year()*1000 + wall.YearDay() }

// minutesIn returns the minutes of a person's dates in the week or on the day of the minute m.
func (n *naive) minutesIn(p *naivePerson, m int64, of func(time.Time) int) (minutes int) {
	want := of(n.clocks.base.Add(time.Duration(m) * time.Minute).In(n.calendar.Type.Loc))
	for _, taken := range p.Taken {
		if of(taken.Starts.In(n.calendar.Type.Loc)) == want {
			minutes += int(taken.Minutes)
		}
	}
	return minutes
}

// isOnGrid reports whether the clock shows a multiple of the grid at the minute m.
func (n *naive) isOnGrid(m int64) bool {
	return n.zone.shown[m]%(24*60)%int64(n.calendar.Type.Grid) == 0
}

// day returns the slots of a calendar day in a zone, and why there are none.
func (n *naive) day(date string, zone string) (found []slots.Slot, reason slots.Reason) {
	reason = slots.NoStaff
	grid, over, number := false, false, dayNumber(date)
	for m, wall := range n.clocks.of[zone].shown {
		m := int64(m)
		if wall/(24*60) != number || !n.isOnGrid(m) {
			continue
		}
		grid = true
		free, got := n.at(m)
		for _, p := range n.people {
			over = over || got == slots.Past && all(p.worked, m, m+int64(n.query.Length/time.Minute))
		}
		if reason = furthest(reason, got); got == "" {
			slot := slots.Slot{Start: n.clocks.base.Add(time.Duration(m) * time.Minute)}
			for _, p := range free {
				slot.Staff = append(slot.Staff, p.ID)
			}
			found = append(found, slot)
		}
	}
	if !grid && len(n.people) > 0 {
		reason = slots.NoHours
	}
	if reason == slots.NoHours && over {
		reason = slots.Past
	}
	return found, reason
}

// choose returns what Choose must return.
func (n *naive) choose(start time.Time) (slots.Choice, slots.Reason) {
	m := n.index(start)
	switch {
	case len(n.people) == 0:
		return slots.Choice{}, slots.NoStaff
	case !slices.Contains(n.calendar.Type.Lengths, int32(n.query.Length/time.Minute)):
		return slots.Choice{}, slots.Length
	case !start.After(n.query.Now):
		return slots.Choice{}, slots.Past
	case (!n.query.WaiveHours || n.query.Staff.IsZero()) && !n.isOnGrid(m):
		return slots.Choice{}, slots.OffGrid
	}
	free, reason := n.at(m)
	if reason != "" {
		return slots.Choice{}, reason
	}
	units, _ := n.units(m)
	return slots.Choice{Staff: free[0].ID, Rooms: units}, ""
}
