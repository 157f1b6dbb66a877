package model

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func TestWindow(t *testing.T) {
	const london, newYork, lordHowe = "Europe/London", "America/New_York", "Australia/Lord_Howe"
	const never = "10000-12-31T00:00:00Z"
	tests := []struct {
		behaviour        string
		zone, now        string
		start, end       string
		wantFrom, wantTo string
	}{
		{"a date is the whole day in the company's zone", london, "2026-07-01T00:00:00Z",
			"2026-06-15", "2026-06-15", "2026-06-14T23:00:00Z", "2026-06-15T22:59:59Z"},
		{"the day on which London's clocks go forward has 23 hours", london, "2026-07-01T00:00:00Z",
			"2026-03-29", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T22:59:59Z"},
		{"the day on which London's clocks go back has 25 hours", london, "2026-07-01T00:00:00Z",
			"2026-10-25", "2026-10-25", "2026-10-24T23:00:00Z", "2026-10-25T23:59:59Z"},
		{"the day on which New York's clocks go forward has 23 hours", newYork, "2026-07-01T00:00:00Z",
			"2026-03-08", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z"},
		{"the day on which New York's clocks go back has 25 hours", newYork, "2026-07-01T00:00:00Z",
			"2026-11-01", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z"},
		{"the day on which Lord Howe's clocks go back has 24.5 hours", lordHowe, "2026-07-01T00:00:00Z",
			"2026-04-05", "2026-04-05", "2026-04-04T13:00:00Z", "2026-04-05T13:29:59Z"},
		{"the day on which Lord Howe's clocks go forward has 23.5 hours", lordHowe, "2026-07-01T00:00:00Z",
			"2026-10-04", "2026-10-04", "2026-10-03T13:30:00Z", "2026-10-04T12:59:59Z"},
		{"a day whose midnight is skipped starts after the gap", "Africa/Cairo", "2026-07-01T00:00:00Z",
			"2026-04-24", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T20:59:59Z"},
		{"a day whose midnight occurs twice starts with the first", "America/Havana", "2026-07-01T00:00:00Z",
			"2026-11-01", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z"},
		{"a day that the zone skips is empty", "Pacific/Apia", "2026-07-01T00:00:00Z",
			"2011-12-30", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T09:59:59Z"},

		{"a local date-time is in the company's zone", newYork, "2026-07-01T00:00:00Z",
			"2026-06-15T09:30:00", "2026-06-15T09:30", "2026-06-15T13:30:00Z", "2026-06-15T13:30:00Z"},
		{"a skipped local time moves forward by the gap in London", london, "2026-07-01T00:00:00Z",
			"2026-03-29T01:30:00", "2026-03-29T01:59:59", "2026-03-29T01:30:00Z", "2026-03-29T01:59:59Z"},
		{"a skipped local time moves forward by half an hour on Lord Howe", lordHowe, "2026-07-01T00:00:00Z",
			"2026-10-04T02:10:00", "2026-10-04T02:29:00", "2026-10-03T15:40:00Z", "2026-10-03T15:59:00Z"},
		{"a repeated local time in London means its first instant as the start and its last as the end", london, "2026-12-01T00:00:00Z",
			"2026-10-25T01:30:00", "2026-10-25T01:30:00", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"a repeated local time in New York means its first instant as the start and its last as the end", newYork, "2026-12-01T00:00:00Z",
			"2026-11-01T01:00:00", "2026-11-01T01:00:00", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"},
		{"a repeated local time on Lord Howe means its first instant as the start and its last as the end", lordHowe, "2026-12-01T00:00:00Z",
			"2026-04-05T01:45:00", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"},

		{"an offset takes precedence over the company's zone", london, "2026-07-01T00:00:00Z",
			"2026-03-29T01:30:00+05:30", "2026-03-29T01:30:00-0800", "2026-03-28T20:00:00Z", "2026-03-29T09:30:00Z"},
		{"Z is UTC, and milliseconds are accepted", newYork, "2026-07-01T00:00:00Z",
			"2026-06-15T09:30:00.000Z", "2026-06-15T09:30:00.999Z", "2026-06-15T09:30:00Z", "2026-06-15T09:30:00Z"},
		{"a start between two seconds is rounded up", newYork, "2026-07-01T00:00:00Z",
			"2026-06-15T09:30:00.001Z", "", "2026-06-15T09:30:01Z", never},

		{"the default start is three months back, at the start of the day", london, "2026-11-21T15:04:05Z",
			"", "", "2026-08-20T23:00:00Z", never},
		{"the default counts from the date in the company's zone", lordHowe, "2026-06-30T14:00:00Z",
			"", "", "2026-03-31T13:00:00Z", never},
		{"the default clamps to the end of a shorter month", london, "2026-05-31T12:00:00Z",
			"", "", "2026-02-28T00:00:00Z", never},
		{"the default clamps to the leap day", london, "2028-05-31T12:00:00Z",
			"", "", "2028-02-29T00:00:00Z", never},
		{"the default crosses the turn of the year", newYork, "2026-02-28T12:00:00Z",
			"", "", "2025-11-28T05:00:00Z", never},
		{"an end before the default start gives an empty window", london, "2026-11-21T15:04:05Z",
			"", "2020-01-01", "2026-08-20T23:00:00Z", "2020-01-01T23:59:59Z"},
		{"accepts the first and the last year", london, "2026-11-21T15:04:05Z",
			"0001-01-01", "9999-12-31", "0001-01-01T00:01:15Z", "9999-12-31T23:59:59Z"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			w, err := NewWindow(given(tt.start), given(tt.end), utc(t, tt.now), location(t, tt.zone))
			if err != nil {
				t.Fatal(err)
			}
			want := EndOfTime()
			if tt.wantTo != never {
				want = utc(t, tt.wantTo)
			}
			if !w.From.Equal(utc(t, tt.wantFrom)) || !w.To.Equal(want) {
				t.Errorf("got %s to %s, want %s to %s",
					w.From.UTC().Format(time.RFC3339Nano), w.To.UTC().Format(time.RFC3339Nano), tt.wantFrom, tt.wantTo)
			}
		})
	}
}

func TestWindowRefusals(t *testing.T) {
	tests := []struct{ behaviour, start, end, field, rule string }{
		{"a start after the end", "2026-03-30", "2026-03-29", "start_date", "order"},
		{"a start after the end within a day", "2026-03-29T10:00:01", "2026-03-29T10:00:00", "start_date", "order"},
		{"a day after an instant", "2026-03-30", "2026-03-29T22:59:59Z", "start_date", "order"},
		{"an instant after a day", "2026-03-29T23:00:00Z", "2026-03-29", "start_date", "order"},
		{"a start that is not a date", "yesterday", "", "start_date", "format"},
		{"an empty start", "\x00", "", "start_date", "format"},
		{"an end that is not a date", "", "2026-02-30", "end_date", "format"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			_, err := NewWindow(given(tt.start), given(tt.end), utc(t, "2026-07-01T00:00:00Z"), location(t, "Europe/London"))
			var f *fault.Error
			if !errors.As(err, &f) || f.Reason != fault.ReasonInvalidParameter {
				t.Fatalf("got %v", err)
			}
			if f.Fields[0].Field != tt.field || f.Fields[0].Rule != tt.rule {
				t.Errorf("got %+v", f.Fields)
			}
			if strings.Contains(f.Fields[0].Message, "_date") {
				t.Errorf("the phrase %q names a field", f.Fields[0].Message)
			}
		})
	}
	t.Run("an empty text is refused, not treated as omitted", func(t *testing.T) {
		empty := ""
		if _, err := NewWindow(&empty, nil, time.Now(), time.UTC); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("a start at the latest possible time gives a window of one second", func(t *testing.T) {
		at := "2026-03-29T10:00:00Z"
		w, err := NewWindow(&at, &at, time.Now(), time.UTC)
		if err != nil || !w.From.Equal(w.To) {
			t.Errorf("got %v, %v", w, err)
		}
	})
}

// FuzzWindow looks for texts that pass the checks but make the database fail, and for local times
// that resolve to an instant with a different clock time.
func FuzzWindow(f *testing.F) {
	for _, seed := range []string{"2026-03-29", "2026-03-29T01:30:00", "2026-10-25T01:30", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.9-23:59", "8001-01-01"} {
		f.Add(seed, seed, uint8(1))
	}
	zones := []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Cairo", "America/Havana", "Asia/Kathmandu"}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, start, end string, pick uint8) {
		loc := location(t, zones[int(pick)%len(zones)])
		if w, err := NewWindow(&start, &end, now, loc); err == nil {
			for _, at := range []time.Time{w.From, w.To} {
				if at.Year() < -1 || at.Year() > 10001 || at.Nanosecond() != 0 {
					t.Errorf("%q to %q gave %s", start, end, at)
				}
			}
		}
		m, err := isotime.Parse(start)
		if err != nil {
			return
		}
		if m.Year() < 0 || m.Year() > 10000 {
			t.Errorf("%q is in year %d", start, m.Year())
		}
		if m.Form != isotime.Local {
			return
		}
		first, last := zone.Instants(m.Time, loc)
		if last.Before(first) {
			t.Errorf("%q: last %s is before first %s", start, last, first)
		}
		for _, at := range []time.Time{first, last} {
			shown := at.In(loc)
			fields := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), shown.Nanosecond(), time.UTC)
			if gap := fields.Sub(m.Time); gap < 0 || gap > 25*time.Hour {
				t.Errorf("%q in %s resolved to %s", start, loc, shown)
			}
		}
	})
}

func TestPage(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	tests := []struct {
		behaviour  string
		page, size *int32
		want       Page
	}{
		{"without parameters, the first thirty", nil, nil, Page{0, 30}},
		{"given values are used", number(2), number(50), Page{2, 50}},
		{"a size above the maximum means the maximum", nil, number(101), Page{0, 100}},
		{"the largest numbers do not overflow", number(1<<31 - 1), number(1<<31 - 1), Page{1<<31 - 1, 100}},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			got, err := NewPage(tt.page, tt.size)
			if err != nil || got != tt.want {
				t.Fatalf("got %v, %v", got, err)
			}
			if got.Offset() != int64(got.Number)*int64(got.Size) || got.Offset() < 0 {
				t.Errorf("the offset is %d", got.Offset())
			}
		})
	}
	for _, tt := range []struct {
		behaviour, field string
		page, size       *int32
	}{
		{"a negative page is refused", "page", number(-1), nil},
		{"a size of 0 is refused", "page_size", nil, number(0)},
		{"a negative size is refused", "page_size", nil, number(-5)},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			_, err := NewPage(tt.page, tt.size)
			var f *fault.Error
			if !errors.As(err, &f) || f.Reason != fault.ReasonInvalidParameter || f.Fields[0].Field != tt.field {
				t.Fatalf("got %v", err)
			}
		})
	}
}
