package admin

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// weekSlot is a date in the column of its day. Dates that overlap are side by side.
type weekSlot struct {
	slot
	placed
	// Side is the number of dates to the left of this one, Sides the number of dates that share the width.
	Side, Sides int
}

// Fullness returns how full the date is, in few words.
func (s weekSlot) Fullness() fullness {
	f := s.slot.Fullness()
	f.Short = true
	return f
}

// weekDay is a day of the week, with its column.
type weekDay struct {
	At    time.Time
	Today bool
	Slots []weekSlot
	// Sides is the largest number of dates that are side by side.
	Sides int
	Now   placed // without rows on other days
}

// weekPage is the calendar of a week.
type weekPage struct {
	Days           []weekDay
	Marks          []hourMark
	From, To       time.Time
	Previous, Next time.Time
	Cut            bool
	Empty          bool
}

func (weekPage) head() (*message, string) { return msg("desk.week.title"), "week" }

func (r *request) week() error {
	from := r.chosenDay("from")
	from = r.midnight(from, -r.dayOfWeek(from))
	if !r.plain {
		return r.to("/week?from=" + from.Format(time.DateOnly))
	}
	slots, cut, err := r.slots(from, r.midnight(from, 7))
	if err != nil {
		return err
	}
	page := weekPage{From: from, To: r.midnight(from, 6), Previous: r.midnight(from, -7), Next: r.midnight(from, 7), Cut: cut, Empty: len(slots) == 0}
	var days []interval
	for i := range 7 {
		days = append(days, r.daySpan(r.midnight(from, i)))
	}
	hours := r.weekHours(slots, days)
	page.Marks = hours.marks(r.texts)
	for _, span := range days {
		page.Days = append(page.Days, r.weekDay(slots, span, hours))
	}
	return r.render("week", page)
}

// span returns the time that a date takes.
func (s slot) span() interval {
	starts := s.GetDate().GetStartsAt().AsTime()
	return interval{starts, starts.Add(time.Duration(s.GetDate().GetDurationMinutes()) * time.Minute)}
}

// weekHours returns the hours that the columns of the days have in common. They include the present.
func (r *request) weekHours(slots []slot, days []interval) hourRange {
	hours := usualHours
	for _, day := range days {
		hours.widen(interval{r.now(), r.now().Add(time.Second)}, day)
		for _, s := range slots {
			if _, ok := startingIn(s, day); ok {
				hours.widen(s.span(), day)
			}
		}
	}
	return hours
}

// startingIn returns when a date starts; ok is false if that is on another day.
func startingIn(s slot, day interval) (at time.Time, ok bool) {
	at = s.GetDate().GetStartsAt().AsTime()
	return at, !at.Before(day.from) && at.Before(day.until)
}

// marks returns the hours of the axis that the days of a week share. It shows wall time, so that it fits also a day
// on which the clocks change.
func (h hourRange) marks(x *texts) []hourMark {
	var marks []hourMark
	for hour := h.first; hour < h.last; hour++ {
		marks = append(marks, hourMark{(hour - h.first) * hourRows, x.format("hour", time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC))})
	}
	return marks
}

// hourRows is the number of rows of an hour.
const hourRows = int(time.Hour / agendaStep)

// place returns the place of a span on the axis of a week; ok is false if the hours of a day do not include any of it.
// A span during which the clocks go back keeps its length.
func (h hourRange) place(s, day interval) (p placed, ok bool) {
	part, ok := s.within(h.column(day))
	if !ok {
		return p, false
	}
	first, last := int(h.below(part.from, day)/agendaStep), rowsOf(h.below(part.until, day))
	rows := max(1, last-first, rowsOf(part.until.Sub(part.from)))
	return placed{first, min(rows, (h.last-h.first)*hourRows-first)}, true
}

// below returns how far an instant of a day is below the first hour, by the clock.
func (h hourRange) below(at time.Time, day interval) time.Duration {
	if !at.Before(day.until) {
		return time.Duration(24-h.first) * time.Hour
	}
	wall := at.In(day.from.Location())
	return time.Duration(wall.Hour()-h.first)*time.Hour + time.Duration(wall.Minute())*time.Minute + time.Duration(wall.Second())*time.Second
}

// rowsOf returns the number of rows that show a time completely.
func rowsOf(d time.Duration) int { return int((d + agendaStep - 1) / agendaStep) }

// weekDay returns a day with the dates that start on it. Its column shows the given hours.
func (r *request) weekDay(slots []slot, span interval, hours hourRange) weekDay {
	d := weekDay{At: span.from, Today: !r.now().Before(span.from) && r.now().Before(span.until)}
	if d.Today {
		d.Now, _ = hours.place(interval{r.now(), r.now().Add(time.Second)}, span)
	}
	for _, s := range slots {
		if _, ok := startingIn(s, span); !ok {
			continue
		}
		at := s.span()
		at.until = later(at.until, at.from.Add(weekLeast))
		place, _ := hours.place(at, span)
		d.Slots = append(d.Slots, weekSlot{slot: s, placed: place})
	}
	// When the clocks go back, a later date can have an earlier place.
	slices.SortStableFunc(d.Slots, func(a, b weekSlot) int { return a.Row - b.Row })
	d.Sides = putSideBySide(d.Slots)
	return d
}

// weekLeast is the time that a shorter date takes in the week, so that its text has space.
const weekLeast = 15 * time.Minute

// weekSides is the largest number of dates next to each other. If more overlap, the others share the last
// place.
const weekSides = 12

// putSideBySide sets the sides of dates, which are in the order of their rows, and returns the largest number
// of dates that share a width.
func putSideBySide(all []weekSlot) int {
	most := 1
	for first := 0; first < len(all); {
		last, until := first, 0
		var ends []int // the row after the last date of each side
		for ; last < len(all) && (last == first || all[last].Row < until); last++ {
			s := &all[last]
			s.Side = slices.IndexFunc(ends, func(end int) bool { return end <= s.Row })
			if s.Side < 0 {
				s.Side = len(ends)
				ends = append(ends, 0)
			}
			ends[s.Side] = s.Row + s.Rows
			until = max(until, ends[s.Side])
		}
		for i := first; i < last; i++ {
			all[i].Sides, all[i].Side = min(len(ends), weekSides), min(all[i].Side, weekSides-1)
		}
		most, first = max(most, min(len(ends), weekSides)), last
	}
	return most
}

// weekStyle writes the style sheet with the places of dates that are side by side, for windows that are wide
// enough for the columns of a week.
func weekStyle(b *bytes.Buffer) {
	b.WriteString("@media (min-width: 72rem) {\n")
	for sides := 2; sides <= weekSides; sides++ {
		fmt.Fprintf(b, ".of%d{width:calc(100%%/%d)}.timed .sides%d{flex:%d 0 %.1frem}", sides, sides, sides, sides, 5.5*float64(sides))
		for side := 1; side < sides; side++ {
			fmt.Fprintf(b, ".of%d.o%d{margin-inline-start:calc(100%%*%d/%d)}", sides, side, side, sides)
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
}
