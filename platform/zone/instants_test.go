package zone

import (
	"testing"
	"time"
)

func TestInstants(t *testing.T) {
	tests := []struct{ behaviour, zone, wall, first, last string }{
		{"a time that occurs once has one instant", "Europe/London", "2026-07-01T09:30:00Z", "2026-07-01T08:30:00Z", "2026-07-01T08:30:00Z"},
		{"a repeated time has two instants", "Europe/London", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"a skipped time moves forward by the gap", "Europe/London", "2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"},
		{"a skipped time moves forward by a gap of half an hour", "Australia/Lord_Howe", "2026-10-04T02:10:00Z", "2026-10-03T15:40:00Z", "2026-10-03T15:40:00Z"},
		{"a time on a skipped day moves forward by a day", "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T22:00:00Z", "2011-12-30T22:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			loc, err := Load(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			wall, err := time.Parse(time.RFC3339, tt.wall)
			if err != nil {
				t.Fatal(err)
			}
			first, last := Instants(wall, loc)
			if first.Format(time.RFC3339) != tt.first || last.Format(time.RFC3339) != tt.last {
				t.Errorf("got %s and %s, want %s and %s", first, last, tt.first, tt.last)
			}
			if at := Instant(wall, loc); !at.Equal(first) {
				t.Errorf("Instant returns %s, not the first", at)
			}
		})
	}
	t.Run("a day without midnight starts at the clock change", func(t *testing.T) {
		loc, err := Load("Africa/Cairo")
		if err != nil {
			t.Fatal(err)
		}
		if at := StartOfDay(2026, 4, 24, loc); at.Format(time.RFC3339) != "2026-04-23T22:00:00Z" {
			t.Errorf("got %s", at)
		}
	})
}
