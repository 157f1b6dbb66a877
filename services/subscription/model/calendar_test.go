package model

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/zone"
)

func day(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestBoundaries(t *testing.T) { // invariant 2
	t.Parallel()
	for _, c := range []struct {
		behaviour  string
		anchor     string
		dayOfMonth int32
		unit       Unit
		count      int32
		want       []string
	}{
		{"a day that a month does not have becomes its last day, and comes back", "2028-01-31", 31, Month, 1,
			[]string{"2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"}},
		{"a month without a leap day", "2027-01-30", 30, Month, 1, []string{"2027-01-30", "2027-02-28", "2027-03-30"}},
		{"several months", "2027-12-31", 31, Month, 2, []string{"2027-12-31", "2028-02-29", "2028-04-30", "2028-06-30", "2028-08-31"}},
		{"a leap day is 28 February in other years", "2028-02-29", 29, Year, 1,
			[]string{"2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"}},
		{"weeks have 7 days across a leap day", "2028-02-21", 0, Week, 1, []string{"2028-02-21", "2028-02-28", "2028-03-06"}},
		{"several weeks", "2027-12-27", 0, Week, 4, []string{"2027-12-27", "2028-01-24", "2028-02-21", "2028-03-20"}},
		{"an anchor in a month that does not have the day", "2027-02-28", 31, Month, 1, []string{"2027-02-28", "2027-03-31", "2027-04-30"}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			g := grid{anchor: day(c.anchor), day: c.dayOfMonth, unit: c.unit, count: c.count}
			var got []string
			for i := range c.want {
				got = append(got, g.boundary(int32(i)).Format(time.DateOnly))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestStartOfDay(t *testing.T) { // invariant 2
	t.Parallel()
	for _, c := range []struct{ behaviour, zone, day, want string }{
		{"is midnight", "Europe/London", "2028-01-01", "2028-01-01T00:00:00Z"},
		{"is midnight before the clocks change at night", "Europe/London", "2028-03-26", "2028-03-26T00:00:00Z"},
		{"is the instant of a change that skips midnight", "Africa/Cairo", "2028-04-28", "2028-04-27T22:00:00Z"},
		{"is the second of the hours before a midnight that the clocks repeat", "Africa/Cairo", "2028-10-27", "2028-10-26T22:00:00Z"},
		{"is midnight before a change of half an hour", "Australia/Lord_Howe", "2028-10-01", "2028-09-30T13:30:00Z"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			if got := StartOfDay(day(c.day), zoneOf(t, c.zone)).UTC().Format(time.RFC3339); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour, zone, at string
		days                int32
		want                string
	}{
		{"midnight stays midnight when the clocks change", "America/New_York", "2028-03-11T00:00:00-05:00", 2, "2028-03-13T04:00:00Z"},
		{"a time that is skipped moves by the gap", "America/New_York", "2028-03-11T02:30:00-05:00", 1, "2028-03-12T07:30:00Z"},
		{"0 days is the same instant, also the second of two", "Europe/London", "2028-10-29T01:30:00Z", 0, "2028-10-29T01:30:00Z"},
		{"keeps fractions of a second", "Europe/London", "2028-03-25T09:00:00.123456Z", 1, "2028-03-26T08:00:00.123456Z"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := later(at, c.days, zoneOf(t, c.zone)).UTC().Format(time.RFC3339Nano); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// FuzzCalendar checks what holds for all boundaries and days.
func FuzzCalendar(f *testing.F) {
	f.Add(int32(21_000), uint8(31), uint8(1), uint8(1), uint16(13), int32(90_000))
	f.Add(int32(21_213), uint8(29), uint8(2), uint8(1), uint16(4), int32(7))
	f.Add(int32(-20_000), uint8(0), uint8(0), uint8(52), uint16(600), int32(0))
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/London", "Australia/Lord_Howe", "Africa/Cairo", "America/Asuncion", "America/New_York"} {
		zones = append(zones, zoneOf(f, name))
	}
	f.Fuzz(func(t *testing.T, number int32, dayOfMonth, unit, count uint8, index uint16, second int32) {
		anchor := addDays(day("1970-01-01"), int(number%40_000))
		terms := Terms{Unit: []Unit{Week, Month, Year}[unit%3]}
		terms.Count = 1 + int32(count)%int32(maxCount(terms.Unit))
		g := newGrid(anchor, terms)
		if d := int32(dayOfMonth%31) + 1; g.day != 0 && monthDay(anchor, 0, int(d)).Equal(anchor) {
			g.day = d
		}
		checkGrid(t, g, int32(index%700))
		checkDay(t, g.boundary(int32(index%700)), zones[int(index)%len(zones)], time.Duration(second%86_400)*time.Second, int32(count))
	})
}

// checkGrid checks the boundary at an index: it follows the one before, and lies on the day of the month or, if
// the month does not have it, on the last day.
func checkGrid(t *testing.T, g grid, index int32) {
	if got := g.boundary(0); !got.Equal(g.anchor) {
		t.Fatalf("boundary 0 of %+v is %v", g, got)
	}
	first, next := g.boundary(index), g.boundary(index+1)
	shortest, longest := map[Unit]int{Week: 7, Month: 28, Year: 365}[g.unit], map[Unit]int{Week: 7, Month: 31, Year: 366}[g.unit]
	if n := daysBetween(first, next); n < shortest*int(g.count) || n > longest*int(g.count) {
		t.Errorf("%+v: %d days from %v to %v", g, n, first, next)
	}
	if last := addDays(first, 1).Day() == 1; g.day != 0 && int32(first.Day()) != g.day && (!last || int32(first.Day()) > g.day) {
		t.Errorf("%+v: %v is neither day %d nor the last day of the month", g, first, g.day)
	}
	p := g.period(index)
	if again, i := p.next(Terms{Unit: g.unit, Count: g.count}); !again.boundary(i).Equal(next) {
		t.Errorf("%+v: the period after %v begins on %v", g, first, again.boundary(i))
	}
}

// checkDay checks that a day begins at its first instant, and that later keeps the day and the time of day.
func checkDay(t *testing.T, d time.Time, loc *time.Location, into time.Duration, n int32) {
	start := StartOfDay(d, loc)
	if !DayOf(start, loc).Equal(d) || !DayOf(start.Add(-1), loc).Before(d) {
		t.Errorf("%v begins at %v in %s", d, start.In(loc), loc)
	}
	at := start.Add(into)
	moved := later(at, n, loc)
	if want := addDays(DayOf(at, loc), int(n)); !DayOf(moved, loc).Equal(want) {
		t.Errorf("%d days after %v is %v", n, at.In(loc), moved.In(loc))
	}
	from, to := at.In(loc).Format(time.TimeOnly), moved.In(loc).Format(time.TimeOnly)
	if gap := moved.Sub(at) - time.Duration(n)*24*time.Hour; from != to && (gap > 2*time.Hour || gap < -2*time.Hour) {
		t.Errorf("%d days after %v is %v", n, at.In(loc), moved.In(loc))
	}
}
