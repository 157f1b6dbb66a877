package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

// Limits of working hours.
const (
	maxWeeklyHours = 100
	maxDateHours   = 1000
	maxDayHours    = 10 // shifts that begin on one calendar day
	dayMinutes     = 1440
)

// HoursRange is a shift in wall time.
type HoursRange struct {
	Starts   int32 // minutes after midnight
	Ends     int32 // minutes after the same midnight: more than 1440 is on the next day
	Location string
	Timezone string
}

// NewHoursRange is a shift as a request gives it: both times are HH:MM.
type NewHoursRange struct{ Starts, Ends, Location, Timezone string }

// WeeklyHours is a shift that begins on the same weekday of every week.
type WeeklyHours struct {
	Weekday int32 // ISO 8601: 1 is Monday
	HoursRange
}

// DateHours replaces the weekly shifts that begin on one calendar day.
type DateHours struct {
	Date   string // YYYY-MM-DD
	Ranges []HoursRange
}

// WorkingHours is when a staff member works.
type WorkingHours struct {
	Staff     id.StaffMember
	Weekly    []WeeklyHours // by weekday, then start
	Dates     []DateHours   // by date; ranges by start
	UpdatedAt time.Time     // of the staff member
	Version   int64
}

// NewWorkingHours is the working hours of a request.
type NewWorkingHours struct {
	Weekly []NewWeeklyHours
	Dates  []NewDateHours
}

// NewWeeklyHours is a weekly shift of a request.
type NewWeeklyHours struct {
	Weekday int32
	Range   NewHoursRange
}

// NewDateHours is the hours of a calendar day of a request.
type NewDateHours struct {
	Date   string
	Ranges []NewHoursRange
}

// Read checks the hours of a request and returns them in their order. timezone is the default.
func (n *NewWorkingHours) Read(timezone string) (*WorkingHours, error) {
	var f check.Fields
	h := &WorkingHours{}
	if f.Count("weekly", len(n.Weekly), 0, maxWeeklyHours) {
		for i := range n.Weekly {
			at := fmt.Sprintf("weekly[%d].", i)
			f.Range(at+"weekday", int64(n.Weekly[i].Weekday), 1, 7)
			h.Weekly = append(h.Weekly, WeeklyHours{Weekday: n.Weekly[i].Weekday, HoursRange: n.Weekly[i].Range.read(&f, at+"range.", timezone)})
		}
	}
	if f.Count("dates", len(n.Dates), 0, maxDateHours) {
		h.Dates = n.readDates(&f, timezone)
	}
	h.sort()
	return h, f.Err()
}

func (n *NewWorkingHours) readDates(f *check.Fields, timezone string) []DateHours {
	var dates []DateHours
	seen := make(map[string]bool, len(n.Dates))
	for i, d := range n.Dates {
		at := fmt.Sprintf("dates[%d].", i)
		if Day(f, at+"date", d.Date); seen[d.Date] {
			f.Add(at+"date", "unique", "is in the list twice")
		}
		seen[d.Date] = true
		hours := DateHours{Date: d.Date}
		if f.Count(at+"ranges", len(d.Ranges), 0, maxDayHours) {
			for j := range d.Ranges {
				hours.Ranges = append(hours.Ranges, d.Ranges[j].read(f, fmt.Sprintf("%sranges[%d].", at, j), timezone))
			}
		}
		dates = append(dates, hours)
	}
	return dates
}

// read checks a shift. An end that is not after the start is on the next day.
func (n *NewHoursRange) read(f *check.Fields, at, timezone string) HoursRange {
	r := HoursRange{Location: f.Line(at+"location", n.Location, 0, maxLocation), Timezone: n.Timezone}
	if r.Timezone == "" {
		r.Timezone = timezone
	}
	f.Timezone(at+"timezone", r.Timezone)
	r.Starts = wallTime(f, at+"starts", n.Starts, dayMinutes-1, "must be HH:MM, 00:00 to 23:59")
	r.Ends = wallTime(f, at+"ends", n.Ends, dayMinutes, "must be HH:MM, 00:00 to 24:00")
	if r.Ends <= r.Starts {
		r.Ends += dayMinutes
	}
	return r
}

// wallTime reads HH:MM as minutes after midnight, at most latest.
func wallTime(f *check.Fields, field, text string, latest int32, phrase string) int32 {
	if text == "" {
		f.Add(field, "required", "is required")
		return 0
	}
	minutes, ok := minutesOf(text)
	if !ok || minutes > latest {
		f.Add(field, "format", phrase)
	}
	return minutes
}

// minutesOf reads HH:MM. Hours can be more than 23.
func minutesOf(text string) (minutes int32, ok bool) {
	if len(text) != len("HH:MM") || text[2] != ':' {
		return 0, false
	}
	hours, err := strconv.ParseUint(text[:2], 10, 7)
	if err != nil {
		return 0, false
	}
	rest, err := strconv.ParseUint(text[3:], 10, 7)
	return int32(hours*60 + rest), err == nil && rest < 60
}

// WallStart returns the start of the shift as HH:MM.
func (r *HoursRange) WallStart() string { return hhmm(r.Starts) }

// WallEnd returns the end of the shift as HH:MM, on the next day if it is not after the start. Midnight at
// the end of the first day is 24:00.
func (r *HoursRange) WallEnd() string {
	if r.Ends > dayMinutes {
		return hhmm(r.Ends - dayMinutes)
	}
	return hhmm(r.Ends)
}

func hhmm(minutes int32) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func (h *WorkingHours) sort() {
	slices.SortFunc(h.Weekly, func(a, b WeeklyHours) int {
		return cmp.Or(cmp.Compare(a.Weekday, b.Weekday), a.compare(&b.HoursRange))
	})
	slices.SortFunc(h.Dates, func(a, b DateHours) int { return cmp.Compare(a.Date, b.Date) })
	for _, d := range h.Dates {
		slices.SortFunc(d.Ranges, func(a, b HoursRange) int { return a.compare(&b) })
	}
}

func (r *HoursRange) compare(other *HoursRange) int {
	return cmp.Or(cmp.Compare(r.Starts, other.Starts), cmp.Compare(r.Ends, other.Ends),
		cmp.Compare(r.Location, other.Location), cmp.Compare(r.Timezone, other.Timezone))
}

// Equal reports whether the shifts of both are the same.
func (h *WorkingHours) Equal(other *WorkingHours) bool {
	return slices.Equal(h.Weekly, other.Weekly) && slices.EqualFunc(h.Dates, other.Dates, func(a, b DateHours) bool {
		return a.Date == b.Date && slices.Equal(a.Ranges, b.Ranges)
	})
}

// Of sets whose hours they are, and their version.
func (h *WorkingHours) Of(m *StaffMember) {
	h.Staff, h.UpdatedAt, h.Version = m.ID, m.UpdatedAt, m.Version
}
