package recurrence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

// naive expands rules in a different way: it goes through all days one by one, and selects the days
// and times of each period that match the rule. It supports DAILY, WEEKLY, MONTHLY and YEARLY.
type naive struct {
	freq                         string
	interval, count              int
	weekStart                    time.Weekday
	months, monthDays, positions []int
	days                         []string // MO, 2TU, -1FR
	hours, minutes               []int
	until                        time.Time
}

var weekdays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func (n *naive) String() string {
	var out []string
	add := func(name string, list []int) {
		if len(list) > 0 {
			out = append(out, name+"="+strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]"))
		}
	}
	out = append(out, "FREQ="+n.freq, fmt.Sprintf("INTERVAL=%d", n.interval), "WKST="+weekdays[n.weekStart])
	add("BYMONTH", n.months)
	add("BYMONTHDAY", n.monthDays)
	add("BYHOUR", n.hours)
	add("BYMINUTE", n.minutes)
	add("BYSETPOS", n.positions)
	if len(n.days) > 0 {
		out = append(out, "BYDAY="+strings.Join(n.days, ","))
	}
	if n.count > 0 {
		out = append(out, fmt.Sprintf("COUNT=%d", n.count))
	} else {
		out = append(out, "UNTIL="+n.until.Format("20060102T150405"))
	}
	return strings.Join(out, ";")
}

// period returns the number of the rule's period that contains d. The days of a period are one set.
func (n *naive) period(d, start time.Time) int {
	weekOf := func(t time.Time) int {
		back := (int(t.Weekday()) - int(n.weekStart) + 7) % 7
		return int(t.AddDate(0, 0, -back).Unix() / (7 * secondsOfDay))
	}
	switch n.freq {
	case "DAILY":
		return int(d.Unix()/secondsOfDay - start.Unix()/secondsOfDay)
	case "WEEKLY":
		return weekOf(d) - weekOf(start)
	case "MONTHLY":
		return 12*(d.Year()-start.Year()) + int(d.Month()) - int(start.Month())
	}
	return d.Year() - start.Year()
}

func (n *naive) wants(d, start time.Time) bool {
	month := time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if len(n.months) > 0 && !slices.Contains(n.months, int(d.Month())) {
		return false
	}
	if len(n.monthDays) > 0 && !slices.Contains(n.monthDays, d.Day()) && !slices.Contains(n.monthDays, d.Day()-month-1) {
		return false
	}
	if len(n.days) > 0 {
		return slices.ContainsFunc(n.days, func(text string) bool {
			if !strings.HasSuffix(text, weekdays[d.Weekday()]) {
				return false
			}
			nth, _ := strconv.Atoi(text[:len(text)-2])
			fromStart, fromEnd := (d.Day()-1)/7+1, -((month-d.Day())/7 + 1)
			return nth == 0 || nth == fromStart || nth == fromEnd
		})
	}
	if len(n.monthDays) > 0 {
		return true
	}
	switch n.freq {
	case "WEEKLY":
		return d.Weekday() == start.Weekday()
	case "MONTHLY":
		return d.Day() == start.Day()
	case "YEARLY":
		return d.Day() == start.Day() && (len(n.months) > 0 || d.Month() == start.Month())
	}
	return true
}

func (n *naive) expand(start time.Time) []time.Time {
	var all, set []time.Time
	var current int
	flush := func() {
		for i, t := range set {
			if len(n.positions) == 0 || slices.Contains(n.positions, i+1) || slices.Contains(n.positions, i-len(set)) {
				if !t.Before(start) && (n.until.IsZero() || !t.After(n.until)) && (n.count == 0 || len(all) < n.count) {
					all = append(all, t)
				}
			}
		}
		set = nil
	}
	hours, minutes := orDefault(n.hours, start.Hour()), orDefault(n.minutes, start.Minute())
	slices.Sort(hours)
	slices.Sort(minutes)
	first := start.AddDate(-1, 0, 0).Truncate(24 * time.Hour)
	first = time.Date(first.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	for d := first; d.Before(start.AddDate(12, 0, 0)) && (n.until.IsZero() || d.Before(n.until.AddDate(1, 1, 0))) && (n.count == 0 || len(all) < n.count); d = d.AddDate(0, 0, 1) {
		p := n.period(d, start)
		if p != current {
			flush()
			current = p
		}
		if p < 0 || p%n.interval != 0 || !n.wants(d, start) {
			continue
		}
		for _, h := range hours {
			for _, m := range minutes {
				set = append(set, d.Add(time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(start.Second())*time.Second))
			}
		}
	}
	flush()
	return all
}

// naiveInstant advances a clock in loc minute by minute until it shows wall or has skipped it.
func naiveInstant(wall time.Time, loc *time.Location) time.Time {
	shown := func(at time.Time) time.Time {
		l := at.In(loc)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	}
	near := wall.Add(-15 * time.Hour)
	for shown(near.Add(3 * time.Hour)).Before(wall) {
		near = near.Add(time.Hour)
	}
	for at := near; ; at = at.Add(time.Minute) {
		switch now := shown(at); {
		case now.Equal(wall):
			return at
		case now.After(wall):
			// The clock time without the change would be wall.
			before := at.Add(-time.Minute)
			return before.Add(wall.Sub(shown(before)))
		}
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// some returns no, one or several elements of list, in order and without duplicates.
func some(r *rand.Rand, list ...int) []int {
	if r.IntN(3) > 0 {
		return nil
	}
	var out []int
	for range 1 + r.IntN(3) {
		out = append(out, pick(r, list...))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func randomRule(r *rand.Rand, start time.Time) *naive {
	n := &naive{
		freq: pick(r, "DAILY", "WEEKLY", "MONTHLY", "YEARLY"), interval: 1 + r.IntN(4), weekStart: time.Weekday(r.IntN(7)),
		months: some(r, 1, 2, 3, 4, 10, 11, 12), hours: some(r, 0, 1, 2, 3, 9, 23), minutes: some(r, 0, 15, 30, 45),
	}
	if n.freq != "WEEKLY" {
		n.monthDays = some(r, 1, 2, 13, 28, 29, 30, 31, -1, -2, -31)
	}
	for range r.IntN(4) {
		d := pick(r, weekdays...)
		// With BYMONTH, the days of a year are numbered within their month.
		if n.freq == "MONTHLY" || n.freq == "YEARLY" && len(n.months) > 0 {
			d = pick(r, "", "", "1", "+2", "5", "-1", "-5") + d
		}
		if !slices.Contains(n.days, d) {
			n.days = append(n.days, d)
		}
	}
	if len(n.days)+len(n.monthDays)+len(n.hours) > 0 {
		n.positions = some(r, 1, 2, 3, -1, -2)
	}
	if r.IntN(2) == 0 {
		n.count = 1 + r.IntN(60)
	} else {
		n.until = start.Add(time.Duration(r.IntN(900*24)) * time.Hour)
	}
	return n
}

func TestDatesAgainstCountingDays(t *testing.T) {
	for _, name := range []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"} {
		t.Run("rules give the same dates as counting days, and wall time does not change, in "+name+" (invariant 12)", func(t *testing.T) {
			loc, err := zone.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			compared := 0
			for range 120 {
				start := time.Date(2024+r.IntN(3), time.Month(1+r.IntN(12)), 1+r.IntN(31), pick(r, 0, 1, 2, 9, 23), pick(r, 0, 15, 30), 0, 0, time.UTC)
				n := randomRule(r, start)
				var faults check.Fields
				got := (&Recurrence{Rule: n.String(), Start: start.Format(isotime.LocalLayout)}).Dates(name, &faults)
				walls := n.expand(start)
				var want []time.Time
				for _, wall := range walls {
					at := naiveInstant(wall, loc)
					want = append(want, at)
					if shown := at.In(loc).Format(isotime.LocalLayout); shown != wall.Format(isotime.LocalLayout) && shown < wall.Format(isotime.LocalLayout) {
						t.Fatalf("%s became the earlier %s", wall, shown)
					}
				}
				slices.SortFunc(want, time.Time.Compare)
				want = slices.CompactFunc(want, time.Time.Equal)
				if n.count > 0 && len(walls) < n.count || len(want) > MaxDates || len(want) == 0 {
					if faults.Len() == 0 && n.count == 0 {
						t.Fatalf("%s from %s gives %d dates, not %d", n, start, len(got), len(want))
					}
					continue // it needs more time than the naive expansion covers, or has too many dates
				}
				if faults.Len() > 0 || !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Fatalf("%s from %s gives %v %v\nwant %v", n, start, got, faults.List(), want)
				}
				compared++
			}
			if compared < 60 {
				t.Errorf("only %d rules were compared", compared)
			}
		})
	}
}

// expanded returns the dates of a rule as local times in the zone.
func expanded(t *testing.T, timezone, start, rule string, except ...string) []string {
	t.Helper()
	var faults check.Fields
	dates := (&Recurrence{Rule: rule, Start: start, Exceptions: except}).Dates(timezone, &faults)
	if faults.Len() > 0 {
		t.Fatalf("%s: %v", rule, faults.List())
	}
	loc, err := zone.Load(timezone)
	if err != nil {
		t.Fatal(err)
	}
	shown := make([]string, len(dates))
	for i, d := range dates {
		shown[i] = d.In(loc).Format("01-02 15:04 -0700")
	}
	return shown
}

func TestDates(t *testing.T) {
	tests := []struct {
		behaviour, zone, start, rule string
		except                       []string
		want                         []string
	}{
		{"09:30 stays 09:30 when summer time starts", "Europe/London", "2026-03-22T09:30:00", "FREQ=WEEKLY;COUNT=3", nil,
			[]string{"03-22 09:30 +0000", "03-29 09:30 +0100", "04-05 09:30 +0100"}},
		{"a skipped time moves forward by the gap", "Europe/London", "2026-03-28T01:30:00", "FREQ=DAILY;COUNT=3", nil,
			[]string{"03-28 01:30 +0000", "03-29 02:30 +0100", "03-30 01:30 +0100"}},
		{"a repeated time means its first instant", "Europe/London", "2026-10-24T01:30:00", "FREQ=DAILY;COUNT=3", nil,
			[]string{"10-24 01:30 +0100", "10-25 01:30 +0100", "10-26 01:30 +0000"}},
		{"a gap of half an hour moves a time by half an hour", "Australia/Lord_Howe", "2026-10-04T02:15:00", "FREQ=DAILY;COUNT=2", nil,
			[]string{"10-04 02:45 +1100", "10-05 02:15 +1100"}},
		{"a repeated half hour means its first instant", "Australia/Lord_Howe", "2026-04-05T01:45:00", "FREQ=DAILY;COUNT=2", nil,
			[]string{"04-05 01:45 +1100", "04-06 01:45 +1030"}},
		{"two wall times that a clock change makes one instant are one date", "Europe/London", "2026-03-28T01:30:00", "FREQ=DAILY;BYHOUR=1,2;COUNT=4", nil,
			[]string{"03-28 01:30 +0000", "03-28 02:30 +0000", "03-29 02:30 +0100"}},
		{"an excluded day is left out, but counts", "UTC", "2026-01-05T09:00:00", "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4", []string{"2026-01-07"},
			[]string{"01-05 09:00 +0000", "01-12 09:00 +0000", "01-14 09:00 +0000"}},
		{"one time of a day can be excluded", "UTC", "2026-01-05T09:00:00", "FREQ=DAILY;BYHOUR=9,17;COUNT=3", []string{"2026-01-05T17:00:00", "2030-01-01"},
			[]string{"01-05 09:00 +0000", "01-06 09:00 +0000"}},
		{"an end that is a day includes the whole day", "America/New_York", "2026-01-05T23:00:00", "FREQ=DAILY;UNTIL=20260106", nil,
			[]string{"01-05 23:00 -0500", "01-06 23:00 -0500"}},
		{"a local end is in the event's zone", "America/New_York", "2026-01-05T23:00:00", "FREQ=DAILY;UNTIL=20260106T225959", nil,
			[]string{"01-05 23:00 -0500"}},
		{"an end can be an instant", "America/New_York", "2026-01-05T23:00:00", "FREQ=DAILY;UNTIL=20260107T040000Z", nil,
			[]string{"01-05 23:00 -0500", "01-06 23:00 -0500"}},
		{"the 31st occurs only in months that have it", "UTC", "2026-01-31T09:00:00", "FREQ=MONTHLY;COUNT=3", nil,
			[]string{"01-31 09:00 +0000", "03-31 09:00 +0000", "05-31 09:00 +0000"}},
		{"the last working day of a month", "UTC", "2026-01-01T09:00:00", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3", nil,
			[]string{"01-30 09:00 +0000", "02-27 09:00 +0000", "03-31 09:00 +0000"}},
		{"leap days", "UTC", "2024-02-29T09:00:00", "FREQ=YEARLY;COUNT=2", nil,
			[]string{"02-29 09:00 +0000", "02-29 09:00 +0000"}},
		{"a week of the year uses the weekday of the start", "UTC", "2026-01-05T09:00:00", "FREQ=YEARLY;BYWEEKNO=20;COUNT=2", nil,
			[]string{"05-11 09:00 +0000", "05-17 09:00 +0000"}},
		{"every hour of selected hours", "UTC", "2026-01-05T09:00:00", "FREQ=HOURLY;BYHOUR=9,10,16;COUNT=4", nil,
			[]string{"01-05 09:00 +0000", "01-05 10:00 +0000", "01-05 16:00 +0000", "01-06 09:00 +0000"}},
		{"every 45 minutes through midnight", "UTC", "2026-01-05T23:00:00", "FREQ=MINUTELY;INTERVAL=45;COUNT=3", nil,
			[]string{"01-05 23:00 +0000", "01-05 23:45 +0000", "01-06 00:30 +0000"}},
		{"every second that is a full hour on a Monday", "UTC", "2026-01-04T23:00:00", "FREQ=SECONDLY;BYDAY=MO;BYMINUTE=0;BYSECOND=0;COUNT=2", nil,
			[]string{"01-05 00:00 +0000", "01-05 01:00 +0000"}},
		{"the last of the selected minutes of an hour", "UTC", "2026-01-05T09:00:00", "FREQ=HOURLY;BYMINUTE=10,20,30;BYSETPOS=-1;COUNT=2", nil,
			[]string{"01-05 09:30 +0000", "01-05 10:30 +0000"}},
		{"hours before 1970", "UTC", "1969-12-31T22:10:00", "FREQ=HOURLY;BYHOUR=0,23;COUNT=2", nil,
			[]string{"12-31 23:10 +0000", "01-01 00:10 +0000"}},
		{"accepts lower case and the RRULE prefix", "UTC", " 2026-01-05T09:00 ", " rrule:freq=daily;count=1; ", nil, []string{"01-05 09:00 +0000"}},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour+" (invariant 12)", func(t *testing.T) {
			if got := expanded(t, tt.zone, tt.start, tt.rule, tt.except...); !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
	t.Run("weeks of the year follow ISO 8601", func(t *testing.T) {
		var want []string
		for d := time.Date(2020, 1, 1, 9, 0, 0, 0, time.UTC); d.Year() < 2045; d = d.AddDate(0, 0, 1) {
			if _, week := d.ISOWeek(); week == 53 || week == 1 {
				want = append(want, d.Format("01-02 15:04 -0700"))
			}
		}
		got := expanded(t, "UTC", "2020-01-01T09:00:00", "FREQ=YEARLY;BYWEEKNO=1,53;BYDAY=MO,TU,WE,TH,FR,SA,SU;UNTIL=20441231")
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
}

func TestRefusals(t *testing.T) {
	ok := Recurrence{Rule: "FREQ=DAILY;COUNT=2", Start: "2026-01-05T09:00:00"}
	with := func(change func(*Recurrence)) Recurrence { r := ok; change(&r); return r }
	rule := func(text string) Recurrence { return with(func(r *Recurrence) { r.Rule = text }) }
	tests := []struct {
		behaviour, field, fault string
		r                       Recurrence
	}{
		{"no rule", "recurrence.rule", "required", rule(" ")},
		{"no frequency", "recurrence.rule", "required", rule("COUNT=3")},
		{"no end", "recurrence.rule", "required", rule("FREQ=DAILY")},
		{"two ends", "recurrence.rule", "required", rule("FREQ=DAILY;COUNT=3;UNTIL=20270101")},
		{"no dates", "recurrence.rule", "required", rule("FREQ=DAILY;UNTIL=20250101")},
		{"no dates after the exceptions", "recurrence.rule", "required", with(func(r *Recurrence) { r.Exceptions = []string{"2026-01-05", "2026-01-06"} })},
		{"a day that does not exist", "recurrence.rule", "range", rule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=1")},
		{"a day that does not exist, with FREQ=DAILY", "recurrence.rule", "range", rule("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31;COUNT=1")},
		{"an hour that is never reached", "recurrence.rule", "range", rule("FREQ=HOURLY;INTERVAL=24;BYHOUR=10;COUNT=1")},
		{"a second that is never reached", "recurrence.rule", "range", rule("FREQ=SECONDLY;INTERVAL=2;BYSECOND=1;COUNT=1")},
		{"a BYSETPOS position that never exists", "recurrence.rule", "range", rule("FREQ=SECONDLY;BYDAY=MO;BYSETPOS=2;COUNT=1")},
		{"a BYSETPOS position beyond a day's times", "recurrence.rule", "range", rule("FREQ=DAILY;BYHOUR=1;BYSETPOS=2;COUNT=1")},
		{"a BYSETPOS position beyond all minutes and seconds of an hour", "recurrence.rule", "range",
			rule("FREQ=HOURLY;COUNT=1;BYSETPOS=366;BYMINUTE=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17;BYSECOND=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17")},
		{"a BYSETPOS position beyond all times of a week", "recurrence.rule", "range",
			rule("FREQ=YEARLY;BYWEEKNO=9;COUNT=1;BYDAY=MO;BYSETPOS=366;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17;BYMINUTE=0,1,2,3,4,5,6,7,8,9")},
		{"too many dates", "recurrence.rule", "range", rule("FREQ=DAILY;COUNT=1001")},
		{"too many dates before UNTIL", "recurrence.rule", "max_items", rule("FREQ=DAILY;UNTIL=20281231")},
		{"too many dates with FREQ=SECONDLY", "recurrence.rule", "max_items", rule("FREQ=SECONDLY;UNTIL=20281231")},
		{"an UNTIL that is too late", "recurrence.rule", "range", rule("FREQ=YEARLY;UNTIL=99990101")},
		{"a COUNT that takes too many years", "recurrence.rule", "range", rule("FREQ=YEARLY;COUNT=1000")},
		{"more times per day than dates", "recurrence.rule", "max_items",
			rule("FREQ=DAILY;COUNT=1;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17;BYMINUTE=0,1,2,3,4,5,6,7,8,9;BYSECOND=0,1,2,3,4,5")},
		{"an unknown frequency", "recurrence.rule", "enum", rule("FREQ=OFTEN;COUNT=1")},
		{"an unknown part", "recurrence.rule", "enum", rule("FREQ=DAILY;COUNT=1;BYEASTER=1")},
		{"a repeated part", "recurrence.rule", "unique", rule("FREQ=DAILY;COUNT=1;COUNT=2")},
		{"a part without value", "recurrence.rule", "format", rule("FREQ=DAILY;COUNT=")},
		{"an interval of 0", "recurrence.rule", "range", rule("FREQ=DAILY;COUNT=1;INTERVAL=0")},
		{"an interval above the maximum", "recurrence.rule", "range", rule("FREQ=WEEKLY;COUNT=2;INTERVAL=9223372036854775807")},
		{"hour 24", "recurrence.rule", "range", rule("FREQ=DAILY;COUNT=1;BYHOUR=24")},
		{"month 13", "recurrence.rule", "range", rule("FREQ=DAILY;COUNT=1;BYMONTH=13")},
		{"day 0", "recurrence.rule", "range", rule("FREQ=MONTHLY;COUNT=1;BYMONTHDAY=0")},
		{"a list of words", "recurrence.rule", "format", rule("FREQ=DAILY;COUNT=1;BYHOUR=nine")},
		{"an unknown day", "recurrence.rule", "enum", rule("FREQ=WEEKLY;COUNT=1;BYDAY=XX")},
		{"a numbered day with FREQ=WEEKLY", "recurrence.rule", "format", rule("FREQ=WEEKLY;COUNT=1;BYDAY=1MO")},
		{"a sixth Monday of a month", "recurrence.rule", "range", rule("FREQ=MONTHLY;COUNT=1;BYDAY=6MO")},
		{"BYWEEKNO with FREQ=MONTHLY", "recurrence.rule", "format", rule("FREQ=MONTHLY;COUNT=1;BYWEEKNO=1")},
		{"BYYEARDAY with FREQ=WEEKLY", "recurrence.rule", "format", rule("FREQ=WEEKLY;COUNT=1;BYYEARDAY=1")},
		{"BYMONTHDAY with FREQ=WEEKLY", "recurrence.rule", "format", rule("FREQ=WEEKLY;COUNT=1;BYMONTHDAY=1")},
		{"BYSETPOS without another BY part", "recurrence.rule", "format", rule("FREQ=DAILY;COUNT=1;BYSETPOS=1")},
		{"a malformed UNTIL", "recurrence.rule", "format", rule("FREQ=DAILY;UNTIL=2026-12-31")},
		{"a rule that is too long", "recurrence.rule", "max_length", rule("FREQ=DAILY;COUNT=1;BYHOUR=1" + strings.Repeat(",1", 250))},
		{"control characters", "recurrence.rule", "characters", rule("FREQ=DAILY;\x00COUNT=1")},
		{"no start", "recurrence.local_start", "required", with(func(r *Recurrence) { r.Start = "" })},
		{"a start with an offset", "recurrence.local_start", "format", with(func(r *Recurrence) { r.Start = "2026-01-05T09:00:00Z" })},
		{"a start without a time", "recurrence.local_start", "format", with(func(r *Recurrence) { r.Start = "2026-01-05" })},
		{"a start in the year 1", "recurrence.local_start", "range", with(func(r *Recurrence) { r.Start = "0001-01-01T00:00:00" })},
		{"a malformed exception", "recurrence.exceptions[1]", "format", with(func(r *Recurrence) { r.Exceptions = []string{"2026-01-05", "5 Jan"} })},
		{"too many exceptions", "recurrence.exceptions", "max_items", with(func(r *Recurrence) { r.Exceptions = make([]string, 1001) })},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour+" is refused (invariant 12)", func(t *testing.T) {
			var faults check.Fields
			dates := tt.r.Dates("Europe/London", &faults)
			if faults.Len() != 1 || faults.List()[0].Field != tt.field || faults.List()[0].Rule != tt.fault {
				t.Errorf("got %v and %d dates", faults.List(), len(dates))
			}
		})
	}
}

// FuzzDates looks for a rule that panics, gives a wrong number of dates, or takes a long time.
func FuzzDates(f *testing.F) {
	for _, rule := range []string{
		"FREQ=SECONDLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYMONTH=2;BYMONTHDAY=31;COUNT=1000", "FREQ=SECONDLY;INTERVAL=86401;BYHOUR=9;BYMINUTE=0;BYSECOND=1;COUNT=9",
		"FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;BYHOUR=3;BYMINUTE=1;COUNT=999", "FREQ=HOURLY;INTERVAL=24;BYHOUR=1;UNTIL=21251231",
		"FREQ=YEARLY;BYDAY=53MO,-53SU,TU;BYSETPOS=-366,366;COUNT=5", "FREQ=YEARLY;BYMONTH=1,2;BYDAY=5MO,-5FR;COUNT=5",
		"FREQ=YEARLY;BYWEEKNO=53,-53,1,-1;WKST=SU;COUNT=50", "FREQ=YEARLY;BYYEARDAY=366,-366;BYWEEKNO=9;COUNT=2",
		"FREQ=DAILY;INTERVAL=1000000;COUNT=2", "FREQ=MONTHLY;BYMONTHDAY=-31,31;BYDAY=-5SU;BYSETPOS=1;UNTIL=20991231T235959Z",
		"FREQ=WEEKLY;WKST=TH;BYDAY=SU,MO;BYSETPOS=-2;COUNT=10", "FREQ=DAILY;BYHOUR=1,2;BYMINUTE=0,30;BYSETPOS=-4;COUNT=1000",
	} {
		for _, zone := range []string{"Europe/London", "Australia/Lord_Howe"} {
			f.Add(rule, "2026-01-31T09:30:00", zone, "2026-02-01")
		}
	}
	f.Fuzz(func(t *testing.T, rule, start, timezone, except string) {
		began := time.Now()
		var faults check.Fields
		r := &Recurrence{Rule: rule, Start: start, Exceptions: []string{except}}
		dates := r.Dates(timezone, &faults)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		if _, err := zone.Load(timezone); err != nil {
			return
		}
		if (len(dates) == 0) == (faults.Len() == 0) || len(dates) > MaxDates {
			t.Fatalf("%d dates, %v", len(dates), faults.List())
		}
		for i := 1; i < len(dates); i++ {
			if !dates[i-1].Before(dates[i]) {
				t.Fatalf("%s comes before %s", dates[i-1], dates[i])
			}
		}
		if len(dates) == 0 {
			return
		}
		again := *r
		if more := again.Dates(timezone, &faults); !slices.EqualFunc(more, dates, time.Time.Equal) || again.Rule != r.Rule || again.Start != r.Start {
			t.Fatalf("its normal form %v gives %d dates, not %d", again, len(more), len(dates))
		}
	})
}
