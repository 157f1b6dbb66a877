package slots_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/slots"
)

// centres are days around which the clocks of one of the zones change, and the zones.
func centres() [][2]string {
	return [][2]string{
		{"2026-03-29", "Europe/London"}, {"2026-10-25", "Europe/London"},
		{"2026-03-08", "America/New_York"}, {"2026-11-01", "America/New_York"},
		{"2026-04-05", "Australia/Lord_Howe"}, {"2026-10-04", "Australia/Lord_Howe"},
		{"2026-07-15", "Asia/Kathmandu"}, {"2026-04-24", "Africa/Cairo"}, {"2026-11-01", "America/Havana"},
		{"2011-12-30", "Pacific/Apia"},
	}
}

// casesPerCentre is the number of random calendars around each clock change.
const casesPerCentre = 200

// TestEqualsNaiveModel compares random calendars with a model that looks at every minute (invariants 36
// to 38).
func TestEqualsNaiveModel(t *testing.T) {
	t.Parallel()
	var free, reasons int
	for i, centre := range centres() {
		c := newClocks(t, centre[0])
		for seed := range uint64(casesPerCentre) {
			g := &generator{t: t, r: rand.New(rand.NewPCG(uint64(i), seed)), clocks: c, zone: centre[1]}
			slotsFound, reasonsFound := g.compare(fmt.Sprintf("%s in %s, seed %d", centre[0], centre[1], seed))
			free, reasons = free+slotsFound, reasons|reasonsFound
			if t.Failed() {
				return
			}
		}
	}
	if free < 100*len(centres()) || reasons != 1<<len(order())-1 {
		t.Errorf("the calendars are too simple: %d slots, reasons %b", free, reasons)
	}
}

// FuzzNaiveModel looks for calendars about which the model disagrees.
func FuzzNaiveModel(f *testing.F) {
	var all []*clocks
	for _, centre := range centres() {
		all = append(all, newClocks(f, centre[0]))
	}
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		i := a % uint64(len(all))
		g := &generator{t: t, r: rand.New(rand.NewPCG(a, b)), clocks: all[i], zone: centres()[i][1]}
		g.compare(fmt.Sprintf("seeds %d and %d", a, b))
	})
}

// generator makes random calendars.
type generator struct {
	t      testing.TB
	r      *rand.Rand
	clocks *clocks
	zone   string // whose clocks change
}

func pick[T any](g *generator, values ...T) T { return values[g.r.IntN(len(values))] }

// loc returns the zone whose clocks change, or another one.
func (g *generator) loc() *time.Location {
	if g.r.IntN(3) > 0 {
		return mustLoad(g.t, g.zone)
	}
	return mustLoad(g.t, pick(g, zones()...))
}

// near returns a minute at most some days from the centre of the window.
func (g *generator) near(days float64) time.Time {
	minutes := (g.r.Float64()*2 - 1) * days * 24 * 60
	return g.clocks.base.AddDate(0, 0, windowDays).Add(time.Duration(minutes) * time.Minute)
}

func (g *generator) id() (u [16]byte) {
	for i := range u {
		u[i] = byte(g.r.IntN(256))
	}
	return u
}

func (g *generator) span(days float64, maxMinutes int) slots.Span {
	from := g.near(days).Add(time.Duration(g.r.IntN(4)*15) * time.Minute)
	return slots.Span{From: from, Until: from.Add(time.Duration(1+g.r.IntN(maxMinutes)) * time.Minute)}
}

func (g *generator) date(days int) slots.Date {
	return slots.DateOf(g.clocks.base.AddDate(0, 0, windowDays-days+g.r.IntN(2*days+1)))
}

func (g *generator) shift() slots.Shift {
	s := slots.Shift{Weekday: int16(1 + g.r.IntN(7)), Loc: g.loc()}
	s.Starts = int32(pick(g, 0, 60, 90, 120, 8*60, 22*60, 23*60+59, g.r.IntN(24*60)))
	s.Ends = s.Starts + int32(pick(g, 1, 60, 8*60, 24*60, 1+g.r.IntN(24*60)))
	if g.r.IntN(8) == 0 {
		s.Weekday, s.Date = 0, g.date(2)
		if g.r.IntN(3) == 0 {
			s.Starts, s.Ends = 0, 0
		}
	}
	return s
}

func (g *generator) staff(before, after int) slots.Staff {
	who := slots.Staff{ID: g.id()}
	for range g.r.IntN(14) {
		who.Shifts = append(who.Shifts, g.shift())
	}
	if g.r.IntN(3) == 0 { // works at every hour, in two shifts that touch
		for day := range int16(7) {
			who.Shifts = append(who.Shifts,
				slots.Shift{Weekday: day + 1, Starts: 0, Ends: 12 * 60, Loc: g.loc()}, slots.Shift{Weekday: day + 1, Starts: 12 * 60, Ends: 24 * 60, Loc: g.loc()})
		}
	}
	for range g.r.IntN(3) {
		who.TimeOff = append(who.TimeOff, g.span(2, 36*60))
	}
	for range g.r.IntN(12) {
		s := g.span(pick(g, 2.0, 7.0), pick(g, 60, 6*60))
		who.Taken = append(who.Taken, slots.Taken{Starts: s.From, Minutes: int32(s.Until.Sub(s.From) / time.Minute), Span: slots.Span{
			From: s.From.Add(-time.Duration(before) * time.Minute), Until: s.Until.Add(time.Duration(after) * time.Minute)}})
	}
	return who
}

func (g *generator) room() *slots.Room {
	r := &slots.Room{ID: g.id(), Capacity: int32(1 + g.r.IntN(3))}
	for range g.r.IntN(12) {
		r.Taken = append(r.Taken, slots.TakenUnit{Unit: 1 + g.r.Int32N(r.Capacity), Span: g.span(2, 8*60)})
	}
	if g.r.IntN(3) == 0 {
		r.TimeOff = append(r.TimeOff, g.span(2, 36*60))
	}
	return r
}

func (g *generator) calendar() *slots.Calendar {
	before, after := pick(g, 0, 0, 15, 480), pick(g, 0, 0, 10, 480)
	c := &slots.Calendar{Rooms: map[id.Room]*slots.Room{}, Type: slots.Type{
		Loc: g.loc(), Lengths: []int32{30, 60, 24 * 60}, Before: int32(before), After: int32(after),
		Grid: int32(pick(g, 5, 7, 15, 20, 30, 45, 60, 90, 1440)), Notice: int32(pick(g, 0, 0, 60, 600, 1600)), Horizon: int32(pick(g, 0, 0, 1, 2)),
	}}
	for range g.r.IntN(4) {
		c.Staff = append(c.Staff, g.staff(before, after))
	}
	for range pick(g, 0, 0, 1, 2) {
		var rooms []id.Room
		for range 1 + g.r.IntN(2) {
			room := g.room()
			c.Rooms[room.ID] = room
			rooms = append(rooms, room.ID)
		}
		c.Requirements = append(c.Requirements, rooms)
	}
	for range pick(g, 0, 0, 1, 2) {
		c.Holidays = append(c.Holidays, g.date(2))
	}
	return c
}

func (g *generator) query(c *slots.Calendar) slots.Query {
	q := slots.Query{
		Length: time.Duration(pick(g, 30, 30, 60, 60, 24*60)) * time.Minute, WaiveNotice: g.r.IntN(6) == 0,
		Now: g.near(3).Add(-36 * time.Hour).Add(time.Duration(g.r.IntN(3)) * 29 * time.Second),
	}
	if len(c.Staff) > 0 && g.r.IntN(3) == 0 {
		q.Staff = pick(g, c.Staff...).ID
		q.WaiveHours = g.r.IntN(3) == 0
	}
	for which := range c.Rooms {
		if len(c.Rooms) == 1 {
			q.Keep = append(q.Keep, slots.Unit{Room: which, Unit: int32(1 + g.r.IntN(4))})
		}
	}
	return q
}

// compare makes a calendar and compares its days, and some of its starts. It returns the number of slots
// and the set of the reasons.
func (g *generator) compare(name string) (found, reasons int) {
	c := g.calendar()
	q := g.query(c)
	n := newNaive(g.clocks, c, q)
	asker := g.loc()
	from := g.date(1)
	days := c.Days(from, from+slots.Date(g.r.IntN(2)), asker, q)
	for _, d := range days {
		wantSlots, wantReason := n.day(d.Date.String(), asker.String())
		want := slots.Day{Date: d.Date, Slots: wantSlots, Reason: wantReason}
		if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
			g.t.Errorf("%s: Days differ from the model (-want +got):\n%s", name, diff)
		}
		found += len(d.Slots)
		for i, r := range order() {
			if r == d.Reason {
				reasons |= 1 << i
			}
		}
		for _, slot := range d.Slots[:min(3, len(d.Slots))] {
			g.compareChoice(name, c, n, slot.Start, q)
		}
	}
	for range 10 {
		g.compareChoice(name, c, n, g.near(2).Truncate(time.Duration(pick(g, 1, 5, 15, 60))*time.Minute), q)
	}
	return found, reasons
}

func (g *generator) compareChoice(name string, c *slots.Calendar, n *naive, start time.Time, q slots.Query) {
	choice, reason := c.Choose(start, q)
	wantChoice, wantReason := n.choose(start)
	if diff := cmp.Diff(wantChoice, choice, cmpopts.EquateEmpty()); diff != "" || reason != wantReason {
		g.t.Errorf("%s: Choose(%s) returns %q instead of %q:\n%s", name, start, reason, wantReason, diff)
	}
}
