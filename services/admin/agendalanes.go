package admin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// span is a time from an instant to another.
type interval struct{ from, until time.Time }

// within returns the part of a span that is within another; ok is false if there is none.
func (s interval) within(of interval) (part interval, ok bool) {
	part = interval{later(s.from, of.from), earlier(s.until, of.until)}
	return part, part.from.Before(part.until)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// shiftsIn returns when a person works within a span, in order. Shifts that overlap are joined.
func shiftsIn(h *bookingv1.WorkingHours, of interval, company *time.Location) []interval {
	var all []interval
	for day := of.from.UTC().AddDate(0, 0, -2); day.Before(of.until.UTC().AddDate(0, 0, 2)); day = day.AddDate(0, 0, 1) {
		weekday := (int(day.Weekday())+6)%7 + 1
		for _, x := range hoursOn(h, day.Format(time.DateOnly), weekday) {
			if part, ok := shiftAt(x, day, company).within(of); ok {
				all = append(all, part)
			}
		}
	}
	return joined(all)
}

// shiftAt returns a shift that begins on a calendar day.
func shiftAt(h *bookingv1.HoursRange, day time.Time, company *time.Location) interval {
	loc, err := zone.Load(h.GetTimezone())
	if err != nil {
		loc = company
	}
	starts, ends := minutesOf(h.GetStarts()), minutesOf(h.GetEnds())
	if ends <= starts {
		ends += 24 * 60
	}
	at := func(minutes int) time.Time {
		return zone.Instant(time.Date(day.Year(), day.Month(), day.Day(), 0, minutes, 0, 0, time.UTC), loc)
	}
	return interval{at(starts), at(ends)}
}

// minutesOf returns the minutes after midnight of a wall time, HH:MM.
func minutesOf(text string) int {
	if text == "24:00" {
		return 24 * 60
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0
	}
	return t.Hour()*60 + t.Minute()
}

// joined sorts spans and joins those that overlap or touch.
func joined(all []interval) []interval {
	slices.SortFunc(all, func(a, b interval) int { return a.from.Compare(b.from) })
	var some []interval
	for _, s := range all {
		if n := len(some); n > 0 && !s.from.After(some[n-1].until) {
			some[n-1].until = later(some[n-1].until, s.until)
			continue
		}
		some = append(some, s)
	}
	return some
}

// gaps returns the parts of spans that none of the taken spans overlaps.
func gaps(all, taken []interval) []interval {
	var free []interval
	taken = joined(taken)
	for _, s := range all {
		at := s.from
		for _, x := range taken {
			if !x.until.After(at) || !x.from.Before(s.until) {
				continue
			}
			if x.from.After(at) {
				free = append(free, interval{at, x.from})
			}
			at = x.until
		}
		if at.Before(s.until) {
			free = append(free, interval{at, s.until})
		}
	}
	return free
}

// freeStep is the longest free place that the agenda shows as one link, and freeLeast the shortest.
const (
	freeStep  = time.Hour
	freeLeast = 15 * time.Minute
)

// freeGrid is the time between the instants at which the free time of a person is divided.
const freeGrid = 15 * time.Minute

// places divides free spans from an instant on at the full hours of a clock in loc. Each place begins at a
// quarter of an hour, as most appointments do.
func places(free []interval, from time.Time, loc *time.Location) []interval {
	var all []interval
	for _, s := range free {
		at := later(s.from, from).Add(freeGrid - 1).Truncate(freeGrid)
		for at.Before(s.until) {
			past := time.Duration(at.In(loc).Minute())*time.Minute + time.Duration(at.Second())*time.Second
			end := earlier(at.Add(freeStep-past), s.until)
			if end.Sub(at) >= freeLeast {
				all = append(all, interval{at, end})
			}
			at = end
		}
	}
	return all
}

// agendaStep is the time that a row of the agenda stands for.
const agendaStep = 5 * time.Minute

// agendaRows is the number of rows of a day of 25 hours, the longest.
const agendaRows = 25 * 12

// placed is the place of something in a column of the agenda: its first row, and its number of rows.
type placed struct{ Row, Rows int }

// placeIn returns the place of a span in a column that shows another span; ok is false if they do not
// overlap. Something short still has one row.
func placeIn(s, column interval) (p placed, ok bool) {
	part, ok := s.within(column)
	if !ok {
		return p, false
	}
	first := int(part.from.Sub(column.from) / agendaStep)
	last := int((part.until.Sub(column.from) + agendaStep - 1) / agendaStep)
	return placed{min(first, agendaRows-1), max(1, min(last, agendaRows)-first)}, true
}

// lineRows is the number of rows of the usual height that a line of text needs, and twoLineRows that of two
// lines.
const (
	lineRows    = 3
	twoLineRows = 5
)

// rowHeights are the classes of the heights of rows, by the number of rows that a line of text needs.
var rowHeights = [lineRows + 1]string{1: "highest-rows", 2: "high-rows"}

// spread chooses the height of the agenda's rows, so that the line of something short does not cover what
// follows it in its column. It returns the class of the height, moves free times below such a line, and
// limits items without space for two lines to one.
func spread(columns []agendaColumn) string {
	rows := lineRows
	for _, c := range columns {
		rows = min(rows, c.line())
	}
	for _, c := range columns {
		for i, a := range c.Items {
			c.Items[i].OneLine = a.Rows*lineRows < twoLineRows*rows
			for i, f := range c.Free {
				if distance := f.Row - a.Row; distance >= a.Rows && distance < rows {
					c.Free[i].placed = placed{a.Row + rows, f.Rows - rows + distance}
				}
			}
		}
	}
	return rowHeights[rows]
}

// line returns the number of rows that are free for the first line of each item: lineRows, or fewer if
// something follows earlier. A free time that is long enough can begin below the line.
func (c agendaColumn) line() int {
	rows := lineRows
	for _, a := range c.Items {
		for _, b := range c.Items {
			if distance := b.Row - a.Row; distance >= a.Rows {
				rows = min(rows, distance)
			}
		}
		for _, f := range c.Free {
			if distance := f.Row - a.Row; distance >= a.Rows && distance+f.Rows < 2*lineRows {
				rows = min(rows, distance)
			}
		}
	}
	return rows
}

// hourMark is a full hour of the agenda's axis.
type hourMark struct {
	Row  int
	Text string
}

// hourMarks returns the full hours of a column, as a clock in loc shows them.
func hourMarks(x *texts, column interval, loc *time.Location) []hourMark {
	var marks []hourMark
	for at := column.from; at.Before(column.until); at = at.Add(agendaStep) {
		if wall := at.In(loc); wall.Minute() == 0 {
			marks = append(marks, hourMark{int(at.Sub(column.from) / agendaStep), x.format("hour", wall)})
		}
	}
	return marks
}

// hourRange is the first and the last hour of the day that the agenda shows.
type hourRange struct{ first, last int }

// usualHours are the hours that the agenda always shows.
var usualHours = hourRange{8, 18}

// widen makes the range include a span of the day that begins at midnight.
func (h *hourRange) widen(s interval, day interval) {
	part, ok := s.within(day)
	if !ok {
		return
	}
	loc := day.from.Location()
	h.first = min(h.first, part.from.In(loc).Hour())
	if !part.until.Before(day.until) {
		h.last = 24
		return
	}
	wall := part.until.In(loc)
	h.last = max(h.last, wall.Hour()+cmp.Compare(wall.Minute(), 0))
}

// column returns the part of a day that the agenda shows.
func (h hourRange) column(day interval) interval {
	loc := day.from.Location()
	year, month, date := day.from.Date()
	at := func(hour int) time.Time {
		return zone.Instant(time.Date(year, month, date, hour, 0, 0, 0, time.UTC), loc)
	}
	return interval{later(day.from, at(h.first)), earlier(day.until, at(h.last))}
}

// agendaStyle returns the style sheet with the places of the agenda: r12 begins in the row after 12 rows, and
// n6 has 6 rows. The content security policy allows no styles in the pages.
func agendaStyle() []byte {
	var b bytes.Buffer
	for n := range agendaRows + 1 {
		fmt.Fprintf(&b, ".r%d{grid-row-start:%d}.n%d{grid-row-end:span %d}\n", n, n+1, n, max(1, n))
	}
	weekStyle(&b)
	return b.Bytes()
}
