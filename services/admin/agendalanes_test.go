package admin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// written prints spans in a zone: "Sun 01:00-03:00 +0100".
func written(all []interval, loc *time.Location) []string {
	return views(all, func(s interval) string {
		return s.from.In(loc).Format("Mon 15:04") + "-" + s.until.In(loc).Format("15:04 -0700")
	})
}

func TestShiftsOfADay(t *testing.T) {
	t.Parallel()
	zoneNamed := func(name string) *time.Location {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	london := zoneNamed("Europe/London")
	shift := func(weekday int32, from, to, zone string) *bookingv1.WeeklyHours {
		return &bookingv1.WeeklyHours{Weekday: weekday, Range: &bookingv1.HoursRange{Starts: from, Ends: to, Timezone: zone}}
	}
	for _, c := range []struct {
		name  string
		day   time.Time
		hours *bookingv1.WorkingHours
		want  []string
	}{
		{"joins shifts that overlap", time.Date(2026, 11, 23, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(1, "13:00", "17:00", ""), shift(1, "09:00", "13:30", "")}}, []string{"Mon 09:00-17:00 +0000"}},
		{"divides a shift at midnight", time.Date(2026, 11, 24, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(1, "22:00", "02:00", ""), shift(2, "22:00", "02:00", "")}},
			[]string{"Tue 00:00-02:00 +0000", "Tue 22:00-00:00 +0000"}},
		{"ends a shift at its wall time when clocks go forward", time.Date(2026, 3, 29, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(6, "23:00", "03:00", "")}}, []string{"Sun 00:00-03:00 +0100"}},
		{"reads the zone of a shift", time.Date(2026, 11, 23, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(1, "09:00", "12:00", "America/New_York")}}, []string{"Mon 14:00-17:00 +0000"}},
		{"replaces the weekly shifts on an exception", time.Date(2026, 11, 23, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(1, "09:00", "12:00", "")}, Dates: []*bookingv1.DateHours{{Date: "2026-11-23"}}}, []string{}},
		{"takes 24:00 as midnight", time.Date(2026, 11, 23, 0, 0, 0, 0, london),
			&bookingv1.WorkingHours{Weekly: []*bookingv1.WeeklyHours{shift(1, "20:00", "24:00", "")}}, []string{"Mon 20:00-00:00 +0000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			next := c.day.AddDate(0, 0, 1)
			got := written(shiftsIn(c.hours, interval{c.day, next}, london), london)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFreePlaces(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	free := gaps([]interval{{at(9, 0), at(13, 0)}}, []interval{{at(11, 55), at(14, 0)}, {at(8, 0), at(9, 30)}, {at(10, 20), at(10, 45)}, {at(10, 30), at(11, 0)}})
	want := []string{"Mon 09:30-10:20 +0000", "Mon 11:00-11:55 +0000"}
	if diff := cmp.Diff(want, written(free, time.UTC)); diff != "" {
		t.Error(diff)
	}
	want = []string{"Mon 09:45-10:00 +0000", "Mon 10:00-10:20 +0000", "Mon 11:00-11:55 +0000"}
	if diff := cmp.Diff(want, written(places(free, at(9, 40), time.UTC), time.UTC)); diff != "" {
		t.Error(diff)
	}
	if got := places([]interval{{at(9, 0), at(9, 5)}}, at(0, 0), time.UTC); len(got) > 0 {
		t.Errorf("5 minutes are a place: %v", got)
	}
}

func TestPlacesInAColumn(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	column := interval{at(8, 0), at(18, 0)}
	for _, c := range []struct {
		name string
		s    interval
		want placed
		ok   bool
	}{
		{"counts rows of five minutes", interval{at(9, 0), at(9, 30)}, placed{12, 6}, true},
		{"rounds outwards", interval{at(9, 1), at(9, 31)}, placed{12, 7}, true},
		{"cuts what is outside", interval{at(7, 0), at(19, 0)}, placed{0, 120}, true},
		{"gives something short one row", interval{at(9, 0), at(9, 1)}, placed{12, 1}, true},
		{"leaves out what is elsewhere", interval{at(6, 0), at(8, 0)}, placed{}, false},
	} {
		if got, ok := placeIn(c.s, column); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, ok)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	items := func(all ...placed) (some []agendaItem) {
		for _, p := range all {
			some = append(some, agendaItem{placed: p})
		}
		return some
	}
	for _, c := range []struct {
		behaviour string
		items     []agendaItem
		free      []placed
		height    string
		oneLine   []bool
		freeAt    []placed
	}{
		{"keeps the usual height for appointments of 15 minutes", items(placed{0, 3}, placed{3, 6}), []placed{{9, 12}}, "", []bool{true, false}, []placed{{9, 12}}},
		{"keeps it for a short appointment on its own", items(placed{0, 1}, placed{3, 5}), nil, "", []bool{true, false}, nil},
		{"makes rows higher for 10 minutes", items(placed{0, 2}, placed{2, 4}), nil, "high-rows", []bool{true, false}, nil},
		{"makes rows highest for 5 minutes", items(placed{6, 6}, placed{12, 1}, placed{13, 2}), nil, "highest-rows", []bool{false, true, false}, nil},
		{"looks at items in any order", items(placed{13, 12}, placed{12, 1}), nil, "highest-rows", []bool{false, true}, nil},
		{"leaves out what overlaps", items(placed{0, 24}, placed{1, 6}), nil, "", []bool{false, false}, nil},
		{"places a long free time below the line", items(placed{0, 1}), []placed{{1, 11}}, "", []bool{true}, []placed{{3, 9}}},
		{"makes rows higher for a short free time", items(placed{1, 2}), []placed{{3, 3}}, "high-rows", []bool{true}, []placed{{3, 3}}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			column := agendaColumn{Items: c.items}
			for _, p := range c.free {
				column.Free = append(column.Free, freePlace{placed: p})
			}
			if got := spread([]agendaColumn{{}, column}); got != c.height {
				t.Errorf("the height is %q", got)
			}
			var oneLine []bool
			for _, x := range column.Items {
				oneLine = append(oneLine, x.OneLine)
			}
			var freeAt []placed
			for _, x := range column.Free {
				freeAt = append(freeAt, x.placed)
			}
			if diff := cmp.Diff([]any{c.oneLine, c.freeAt}, []any{oneLine, freeAt}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHoursOfTheAgenda(t *testing.T) {
	t.Parallel()
	lordHowe, err := time.LoadLocation("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 10, 4, 0, 0, 0, 0, lordHowe)
	day := interval{midnight, time.Date(2026, 10, 5, 0, 0, 0, 0, lordHowe)}
	shown := usualHours
	shown.widen(interval{midnight.Add(time.Hour), midnight.Add(20 * time.Hour)}, day)
	// The clocks go forward by 30 minutes at 2:00, so 20 hours after midnight it is 20:30.
	if shown != (hourRange{1, 21}) {
		t.Fatalf("%v", shown)
	}
	column := shown.column(day)
	if got := column.until.Sub(column.from); got != 19*time.Hour+30*time.Minute {
		t.Errorf("the column has %v", got)
	}
	marks := hourMarks(textsIn(t, "en-GB"), column, lordHowe)
	if len(marks) != 19 || marks[0].Text != "01:00" || marks[1].Text != "03:00" || marks[1].Row != 18 {
		t.Errorf("%v", marks)
	}
	shown.widen(interval{midnight.Add(20 * time.Hour), midnight.Add(30 * time.Hour)}, day)
	if shown.last != 24 || !shown.column(day).until.Equal(day.until) {
		t.Errorf("%v", shown)
	}
}
