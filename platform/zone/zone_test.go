package zone

import (
	"testing"
	"time"
)

func TestDay(t *testing.T) {
	at := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"UTC": "2026-03-28", "Europe/Paris": "2026-03-29", "America/New_York": "2026-03-28", "Mars/Olympus": "2026-03-28",
	} {
		t.Run("returns the calendar day in "+name, func(t *testing.T) {
			if got := Day(at, name); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	for _, name := range []string{"Europe/London", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC", "EST5EDT"} {
		t.Run("loads "+name, func(t *testing.T) {
			for range 2 { // first from the database, then from the cache
				if loc, err := Load(name); err != nil || loc.String() != name {
					t.Fatalf("got %v, %v", loc, err)
				}
			}
		})
	}
	for _, name := range []string{
		"", "Local", "localtime", "posixrules", "Mars/Olympus", "europe london", "zone.tab", "/etc/localtime", "\x00",
		// Files that a machine can have: other zones, or other names of the same zones.
		"right/Europe/London", "posix/Europe/London", "Europe//London", "Europe/./London", "Europe/../Europe/London", "./UTC", "UTC/",
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if loc, err := Load(name); err == nil {
				t.Fatalf("got %v", loc)
			}
		})
	}
}

func TestStoredDay(t *testing.T) {
	t.Parallel()
	at, tokyo := time.Date(2026, 3, 1, 3, 30, 0, 0, time.UTC), time.FixedZone("", 9*3600)
	for _, tt := range []struct {
		behaviour, earlier, want string
		day                      *time.Time
	}{
		{"a stored day counts", "America/New_York", "2025-01-01", new(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))},
		{"without a day, the earlier zone counts", "America/New_York", "2026-02-28", nil},
		{"without an earlier zone, the present one counts", "", "2026-03-01", nil},
	} {
		if got := StoredDay(tt.day, at, tt.earlier, tokyo); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.behaviour, got, tt.want)
		}
	}
}
