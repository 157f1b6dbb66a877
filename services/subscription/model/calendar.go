package model

import (
	"time"

	"reservation.dev/platform/zone"
)

// StartOfDay returns the first instant of a day in a zone. If a clock change skips midnight, it is the
// instant of the change.
func StartOfDay(day time.Time, loc *time.Location) time.Time {
	y, m, d := day.Date()
	return zone.StartOfDay(y, m, d, loc)
}

// DayOf returns the day at an instant in a zone, as midnight UTC.
func DayOf(at time.Time, loc *time.Location) time.Time {
	y, m, d := at.In(loc).Date()
	return date(y, m, d)
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func addDays(day time.Time, n int) time.Time { return day.AddDate(0, 0, n) }

// daysBetween returns the number of days from one day to another; negative if to is earlier.
func daysBetween(from, to time.Time) int { return int(to.Sub(from) / (24 * time.Hour)) }

// later returns at, moved by calendar days in a zone. The time of day stays the same, so that midnight
// remains midnight when the clocks change.
func later(at time.Time, n int32, loc *time.Location) time.Time {
	if n == 0 {
		return at
	}
	t := at.In(loc)
	y, m, d := t.Date()
	return zone.Instant(time.Date(y, m, d+int(n), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), loc)
}

// monthDay returns a day of the month that is n months after the month of day. A day that the month does
// not have becomes its last day.
func monthDay(day time.Time, n, dayOfMonth int) time.Time {
	y, m, _ := day.Date()
	last := date(y, m+time.Month(n)+1, 0)
	return date(last.Year(), last.Month(), min(dayOfMonth, last.Day()))
}

// grid is the boundaries of periods on the calendar (invariant 2). They are counted from the anchor and
// never from each other: one month after 31 January is 28 or 29 February, and two months after it is
// 31 March. The day is kept separately from the anchor because the month of the anchor may not have it.
type grid struct {
	anchor time.Time
	day    int32 // day of the month; 0 for weeks
	unit   Unit
	count  int32
}

// newGrid returns the grid of periods with these terms that begin on a day.
func newGrid(first time.Time, t Terms) grid {
	g := grid{anchor: first, unit: t.Unit, count: t.Count}
	if t.Unit != Week {
		g.day = int32(first.Day())
	}
	return g
}

// boundary returns the day on which the period with an index begins; index 0 is the anchor.
func (g grid) boundary(index int32) time.Time {
	n := int(g.count) * int(index)
	switch g.unit {
	case Week:
		return addDays(g.anchor, 7*n)
	case Year:
		n *= 12
	}
	return monthDay(g.anchor, n, int(g.day))
}

// period returns the period with an index: its days and its place on the grid.
func (g grid) period(index int32) Period {
	p := Period{Anchor: g.anchor, AnchorDay: g.day, AnchorIndex: index, Unit: g.unit, Count: g.count}
	p.FirstDay, p.LastDay = p.planned()
	return p
}

// grid returns the grid on which the period lies.
func (p *Period) grid() grid {
	return grid{anchor: p.Anchor, day: p.AnchorDay, unit: p.Unit, count: p.Count}
}

// planned returns the first and the last day that follow from the place on the grid, without cuts.
func (p *Period) planned() (first, last time.Time) {
	first, last = p.grid().boundary(p.AnchorIndex), addDays(p.grid().boundary(p.AnchorIndex+1), -1)
	if p.Trial {
		last = addDays(first, int(p.TrialDays)-1)
	}
	return first, addDays(last, int(p.PausedDays))
}

// next returns the grid and the index of the period after p, if it has the terms t. After a trial, a pause
// or a cut, boundaries are counted from the day after p. A change of plan at the end of a period keeps the
// day of the month, so that renewals on the 31st do not move to the 28th.
func (p *Period) next(t Terms) (grid, int32) {
	first := addDays(p.LastDay, 1)
	g := newGrid(first, t)
	if p.Trial || p.CutShort || p.PausedDays != 0 {
		return g, 0
	}
	if p.Unit == t.Unit && p.Count == t.Count {
		return p.grid(), p.AnchorIndex + 1
	}
	if p.Unit != Week && t.Unit != Week {
		g.day = p.AnchorDay
	}
	return g, 0
}
