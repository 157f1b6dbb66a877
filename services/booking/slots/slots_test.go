package slots_test

import (
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/slots"
)

const london, newYork, lordHowe = "Europe/London", "America/New_York", "Australia/Lord_Howe"

// ann and bob are staff members; ann has the lower identifier.
var ann, bob = id.StaffMember{1}, id.StaffMember{2}

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func day(t testing.TB, text string) slots.Date {
	t.Helper()
	d, err := slots.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// span reads "2026-03-29 09:00 to 2026-03-29 10:00" in UTC.
func span(t testing.TB, text string) slots.Span {
	t.Helper()
	from, until, _ := strings.Cut(text, " to ")
	return slots.Span{From: utc(t, from), Until: utc(t, until)}
}

// onDate is a shift on one day, in hours after midnight.
func onDate(t testing.TB, zone, date string, starts, ends float64) slots.Shift {
	return slots.Shift{Date: day(t, date), Starts: int32(starts * 60), Ends: int32(ends * 60), Loc: mustLoad(t, zone)}
}

// hourly is the calendar of ann, who has the shifts, for an appointment of an hour on every full hour.
func hourly(t testing.TB, zone string, shifts ...slots.Shift) *slots.Calendar {
	return &slots.Calendar{
		Type:  slots.Type{Loc: mustLoad(t, zone), Lengths: []int32{30, 60}, Grid: 60},
		Staff: []slots.Staff{{ID: ann, Shifts: shifts}},
	}
}

func hour() slots.Query {
	return slots.Query{Length: time.Hour, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// starts returns the starts of a day's slots in UTC: "09:00 10:00", or the reason why there are none.
func starts(t testing.TB, c *slots.Calendar, date string, q slots.Query) string {
	t.Helper()
	d := c.Days(day(t, date), day(t, date), c.Type.Loc, q)[0]
	var all []string
	for _, s := range d.Slots {
		all = append(all, s.Start.Format("15:04"))
	}
	return strings.Join(all, " ") + string(d.Reason)
}

func TestDays(t *testing.T) {
	tests := []struct {
		behaviour, date, want string
		calendar              func(t *testing.T) *slots.Calendar
		query                 func(q *slots.Query)
	}{
		{"a shift has the starts whose appointment ends within it", "2026-06-01", "08:00 09:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 9, 11.5))
		}, nil},
		{"the day is over after the last shift", "2026-06-01", "past", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
		}, func(q *slots.Query) { q.Now = time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC) }},
		{"a day without a shift has no hours, also in its evening", "2026-06-01", "no_hours", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 9, 9.5), onDate(t, london, "2026-06-02", 9, 11))
		}, func(q *slots.Query) { q.Now = time.Date(2026, 6, 1, 18, 0, 0, 0, time.UTC) }},
		{"two shifts that touch count as one", "2026-06-01", "08:00 09:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 9, 9.5), onDate(t, london, "2026-06-01", 9.5, 11))
		}, nil},
		{"a shift in London that begins before the clocks go forward loses an hour", "2026-03-29", "00:00 01:00 02:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-03-29", 0, 4))
		}, nil},
		{"a shift in London that begins before the clocks go back gains an hour, and 01:00 occurs twice", "2026-10-25", "23:00 00:00 01:00 02:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-10-25", 0, 3))
		}, nil},
		{"New York skips 02:00", "2026-03-08", "06:00 07:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, newYork, onDate(t, newYork, "2026-03-08", 1, 4))
		}, nil},
		{"Lord Howe repeats half an hour, which the grid of half hours has twice", "2026-04-05", "14:00 14:30 15:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, lordHowe, onDate(t, lordHowe, "2026-04-05", 1, 2.5))
			c.Type.Grid = 30
			return c
		}, nil},
		{"Lord Howe skips half an hour, and a shift that begins in it begins after it", "2026-10-04", "16:00 17:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, lordHowe, onDate(t, lordHowe, "2026-10-04", 2.25, 5))
		}, nil},
		{"a shift over midnight serves the next day", "2026-06-02", "23:00 00:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 22, 26))
		}, nil},
		{"an appointment can last over midnight", "2026-06-01", "21:00 22:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 22, 25))
			c.Type.Lengths = []int32{120}
			return c
		}, func(q *slots.Query) { q.Length = 2 * time.Hour }},
		{"a holiday cuts the shift of the evening before at midnight", "2026-06-02", "holiday", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 22, 26))
			c.Holidays = []slots.Date{day(t, "2026-06-02")}
			return c
		}, nil},
		{"a buffer of the last appointment of yesterday reaches over midnight", "2026-06-02", "00:00 01:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-02", 0, 3))
			c.Staff[0].Taken = []slots.Taken{{Span: span(t, "2026-06-01 22:00 to 2026-06-01 23:15")}}
			return c
		}, nil},
		{"a buffer before the first appointment of today reaches over midnight", "2026-06-02", "00:00 01:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-02", 0, 3))
			c.Type.Before = 15
			c.Staff[0].Taken = []slots.Taken{{Span: span(t, "2026-06-01 22:00 to 2026-06-01 22:50")}}
			return c
		}, nil},
		{"a buffer can lie outside the shift", "2026-06-01", "08:00 09:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
			c.Type.Before, c.Type.After = 60, 60
			return c
		}, nil},
		{"time off takes the starts that it overlaps", "2026-06-01", "08:00 10:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 12))
			c.Staff[0].TimeOff = []slots.Span{span(t, "2026-06-01 09:59 to 2026-06-01 10:00")}
			return c
		}, nil},
		{"time off takes the starts whose buffers it overlaps", "2026-06-01", "08:00 11:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 13))
			c.Staff[0].TimeOff = []slots.Span{span(t, "2026-06-01 09:30 to 2026-06-01 10:30")}
			c.Type.Before, c.Type.After = 20, 30
			return c
		}, nil},
		{"hours of a date replace the weekly ones", "2026-06-01", "13:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, slots.Shift{Weekday: 1, Starts: 9 * 60, Ends: 17 * 60, Loc: mustLoad(t, london)}, onDate(t, london, "2026-06-01", 14, 15))
		}, nil},
		{"a date without hours is a day off", "2026-06-01", "no_hours", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, slots.Shift{Weekday: 1, Starts: 9 * 60, Ends: 17 * 60, Loc: mustLoad(t, london)}, onDate(t, london, "2026-06-01", 0, 0))
		}, nil},
		{"an appointment can be booked until exactly the notice", "2026-06-01", "09:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
			c.Type.Notice = 90
			return c
		}, func(q *slots.Query) { q.Now = time.Date(2026, 6, 1, 7, 30, 0, 0, time.UTC) }},
		{"a start that is now has passed, also without notice", "2026-06-01", "09:00", func(t *testing.T) *slots.Calendar {
			return hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
		}, func(q *slots.Query) { q.Now, q.WaiveNotice = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), true }},
		{"the horizon is wall time, over a clock change", "2026-03-30", "08:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-03-30", 9, 11))
			c.Type.Horizon = 2
			return c
		}, func(q *slots.Query) { q.Now = time.Date(2026, 3, 28, 9, 0, 0, 0, time.UTC) }},
		{"a day far beyond the horizon has no slots", "2026-06-01", "beyond_horizon", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
			c.Type.Horizon = 60
			return c
		}, nil},
		{"a day far within the horizon has slots", "2026-06-01", "08:00 09:00", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
			c.Type.Horizon = 365
			return c
		}, nil},
		{"a requirement without an active room has no slots", "2026-06-01", "room_busy", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
			c.Requirements = [][]id.Room{nil}
			return c
		}, nil},
		{"the reason is that of the person who came furthest", "2026-06-01", "staff_busy", func(t *testing.T) *slots.Calendar {
			c := hourly(t, london)
			c.Staff = append(c.Staff, slots.Staff{ID: bob, Shifts: []slots.Shift{onDate(t, london, "2026-06-01", 9, 10)},
				Taken: []slots.Taken{{Span: span(t, "2026-06-01 08:30 to 2026-06-01 08:31")}}})
			return c
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			q := hour()
			if tt.query != nil {
				tt.query(&q)
			}
			if got := starts(t, tt.calendar(t), tt.date, q); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnitIsFreeThroughout(t *testing.T) {
	big, small := id.Room{1}, id.Room{2}
	at := utc(t, "2026-06-01 08:00")
	taken := func(unit int32, text string) slots.TakenUnit {
		return slots.TakenUnit{Unit: unit, Span: span(t, text)}
	}
	calendar := func(rooms ...*slots.Room) *slots.Calendar {
		c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
		c.Type.After, c.Requirements, c.Rooms = 15, [][]id.Room{nil}, map[id.Room]*slots.Room{}
		for _, r := range rooms {
			c.Requirements[0], c.Rooms[r.ID] = append(c.Requirements[0], r.ID), r
		}
		return c
	}
	tests := []struct {
		behaviour string
		rooms     []*slots.Room
		keep      []slots.Unit
		want      slots.Unit
	}{
		{"no customer changes units", []*slots.Room{{ID: big, Capacity: 2, Taken: []slots.TakenUnit{
			taken(1, "2026-06-01 08:00 to 2026-06-01 08:30"), taken(2, "2026-06-01 08:30 to 2026-06-01 09:00")}}}, nil, slots.Unit{}},
		{"the lowest free unit is chosen", []*slots.Room{{ID: big, Capacity: 3, Taken: []slots.TakenUnit{
			taken(1, "2026-06-01 08:00 to 2026-06-01 08:30")}}}, nil, slots.Unit{Room: big, Unit: 2}},
		{"a room that is taken during the buffer is not free", []*slots.Room{{ID: big, Capacity: 1, Taken: []slots.TakenUnit{
			taken(1, "2026-06-01 09:14 to 2026-06-01 09:30")}}, {ID: small, Capacity: 1}}, nil, slots.Unit{Room: small, Unit: 1}},
		{"the time off of a room is that of all its units, buffers included", []*slots.Room{{ID: big, Capacity: 2,
			TimeOff: []slots.Span{span(t, "2026-06-01 09:10 to 2026-06-01 12:00")}}}, nil, slots.Unit{}},
		{"the preferred room is chosen first", []*slots.Room{{ID: small, Capacity: 1}, {ID: big, Capacity: 1}}, nil, slots.Unit{Room: small, Unit: 1}},
		{"a unit to keep is chosen before the preferred one", []*slots.Room{{ID: small, Capacity: 1}, {ID: big, Capacity: 2}},
			[]slots.Unit{{Room: big, Unit: 2}}, slots.Unit{Room: big, Unit: 2}},
		{"a unit to keep that the room no longer has is not chosen", []*slots.Room{{ID: small, Capacity: 1}, {ID: big, Capacity: 1}},
			[]slots.Unit{{Room: big, Unit: 2}}, slots.Unit{Room: small, Unit: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			q := hour()
			q.Keep = tt.keep
			c := calendar(tt.rooms...)
			choice, reason := c.Choose(at, q)
			if tt.want == (slots.Unit{}) {
				if reason != slots.RoomBusy {
					t.Errorf("got %v, %q", choice, reason)
				}
			} else if reason != "" || len(choice.Rooms) != 1 || choice.Rooms[0] != tt.want {
				t.Errorf("got %v, %q, want %v", choice, reason, tt.want)
			}
			units, ok := c.Units(slots.Span{From: at, Until: at.Add(75 * time.Minute)}, tt.keep)
			if ok != (reason == "") || ok && units[0] != tt.want {
				t.Errorf("Units returns %v, %t", units, ok)
			}
		})
	}
}

func TestFairChoice(t *testing.T) {
	at := utc(t, "2026-06-03 08:00") // a Wednesday
	date := func(text string, minutes int32) slots.Taken {
		starts := utc(t, text)
		return slots.Taken{Starts: starts, Minutes: minutes, Span: slots.Span{From: starts, Until: starts.Add(time.Duration(minutes) * time.Minute)}}
	}
	tests := []struct {
		behaviour  string
		anns, bobs []slots.Taken
		want       id.StaffMember
	}{
		{"without dates, the lowest identifier is chosen", nil, nil, ann},
		{"fewer minutes in the week win", []slots.Taken{date("2026-06-01 08:00", 60)}, []slots.Taken{date("2026-06-05 08:00", 30)}, bob},
		{"minutes count, and not dates", []slots.Taken{date("2026-06-01 08:00", 60)}, []slots.Taken{date("2026-06-01 08:00", 31), date("2026-06-02 08:00", 30)}, ann},
		{"in an equal week, fewer minutes on the day win", []slots.Taken{date("2026-06-03 12:00", 60)}, []slots.Taken{date("2026-06-04 12:00", 60)}, bob},
		{"the Sunday before belongs to another week, in the zone of the type", []slots.Taken{date("2026-05-31 22:59", 60)}, []slots.Taken{date("2026-06-02 12:00", 1)}, ann},
		{"Monday begins at midnight in the zone of the type", []slots.Taken{date("2026-05-31 23:00", 60)}, []slots.Taken{date("2026-06-02 12:00", 59)}, bob},
		{"a date counts by its start", []slots.Taken{date("2026-05-31 20:00", 600)}, []slots.Taken{date("2026-06-02 12:00", 1)}, ann},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			shift := onDate(t, london, "2026-06-03", 9, 11)
			c := hourly(t, london, shift)
			c.Staff[0].Taken = tt.anns
			c.Staff = append(c.Staff, slots.Staff{ID: bob, Shifts: []slots.Shift{shift}, Taken: tt.bobs})
			choice, reason := c.Choose(at, hour())
			if reason != "" || choice.Staff != tt.want {
				t.Errorf("got %s, %q, want %s", choice.Staff, reason, tt.want)
			}
			first := c.Days(day(t, "2026-06-03"), day(t, "2026-06-03"), time.UTC, hour())[0].Slots[0]
			if first.Start != at || len(first.Staff) != 2 || first.Staff[0] != tt.want {
				t.Errorf("Days returns %v", first)
			}
		})
	}
}

func TestChooseRefusals(t *testing.T) {
	calendar := func() *slots.Calendar {
		c := hourly(t, london, onDate(t, london, "2026-06-01", 9, 11))
		c.Type.Notice, c.Type.Horizon = 60, 30
		c.Staff[0].TimeOff = []slots.Span{span(t, "2026-06-01 09:00 to 2026-06-01 09:30")}
		return c
	}
	now := utc(t, "2026-06-01 06:00")
	tests := []struct {
		behaviour, start string
		query            slots.Query
		want             slots.Reason
	}{
		{"a free slot", "2026-06-01 08:00", slots.Query{}, ""},
		{"a person who does not offer the type", "2026-06-01 08:00", slots.Query{Staff: bob}, slots.NoStaff},
		{"a length that the type does not have", "2026-06-01 08:00", slots.Query{Length: 45 * time.Minute}, slots.Length},
		{"a length of seconds", "2026-06-01 08:00", slots.Query{Length: time.Hour + time.Second}, slots.Length},
		{"a start in the past", "2026-06-01 05:00", slots.Query{WaiveNotice: true}, slots.Past},
		{"a start that is not on the grid", "2026-06-01 08:15", slots.Query{}, slots.OffGrid},
		{"a start beyond the horizon", "2026-07-02 08:00", slots.Query{}, slots.BeyondHorizon},
		{"a start outside the hours beyond the horizon, which is waived", "2026-07-02 08:00", slots.Query{WaiveNotice: true}, slots.NoHours},
		{"a start during time off", "2026-06-01 09:00", slots.Query{}, slots.TimeOff},
		{"waived hours keep time off", "2026-06-01 09:15", slots.Query{Staff: ann, WaiveHours: true}, slots.TimeOff},
		{"waived hours accept any minute, and waive the notice and the horizon", "2026-08-01 03:07", slots.Query{Staff: ann, WaiveHours: true}, ""},
		{"waived hours need a staff member", "2026-06-01 03:00", slots.Query{WaiveHours: true, WaiveNotice: true}, slots.Past},
		{"waived hours without a staff member keep the hours", "2026-06-01 11:00", slots.Query{WaiveHours: true}, slots.NoHours},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			q := tt.query
			q.Now = now
			if q.Length == 0 {
				q.Length = time.Hour
			}
			if _, got := calendar().Choose(utc(t, tt.start), q); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParseDate(t *testing.T) {
	for _, text := range []string{"1969-12-31", "1970-01-01", "2026-03-29", "0001-01-02", "9999-12-30"} {
		if got := day(t, text).String(); got != text {
			t.Errorf("%s is read as %s", text, got)
		}
	}
	for _, text := range []string{"", "2026-02-30", "2026-3-1", "20260301"} {
		if _, err := slots.ParseDate(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
