package admin

import (
	"testing"
	"time"
)

func TestDaysWithoutMidnight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, starts string }{
		{"America/Santiago", "2027-09-05", "2027-09-05T01:00:00-03:00"},
		{"America/Santiago", "2027-09-06", "2027-09-06T00:00:00-03:00"},
		{"America/Havana", "2027-03-14", "2027-03-14T01:00:00-04:00"},
		{"Europe/London", "2027-03-28", "2027-03-28T00:00:00Z"},
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"}, // midnight occurs twice
		{"Australia/Lord_Howe", "2026-10-04", "2026-10-04T00:00:00+10:30"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dayOf(c.day, zone)
		if err != nil || got.Format(time.RFC3339) != c.starts {
			t.Errorf("%s in %s starts at %s, %v, want %s", c.day, c.zone, got.Format(time.RFC3339), err, c.starts)
		}
		if next := startOf(got.Year(), got.Month(), got.Day()+1, zone); next.Day() == got.Day() {
			t.Errorf("the day after %s in %s is %s", c.day, c.zone, next)
		}
	}
}

func TestNewDatesStartAtNine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	event.Dates = nil
	for today, want := range map[string]string{
		"2027-03-27": "2027-03-28T09:00", "2027-10-30": "2027-10-31T09:00", // the clocks change in London
		"2027-12-31": "2028-01-01T09:00", "2028-02-28": "2028-02-29T09:00",
	} {
		w.atNoon(today)
		for _, path := range []string{"/events/new", "/events/evt_1/dates/new"} {
			w.get(path).must(t, `value="`+want+`"`)
		}
	}
}
