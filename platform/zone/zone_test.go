package zone

import "testing"

func TestLoad(t *testing.T) {
	for _, name := range []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		t.Run("knows "+name, func(t *testing.T) {
			loc, err := Load(name)
			if err != nil || loc.String() != name {
				t.Fatalf("Load(%q) = %v, %v", name, loc, err)
			}
			again, err := Load(name)
			if err != nil || again != loc {
				t.Fatalf("a second Load(%q) made another zone", name)
			}
		})
	}
	for _, name := range []string{"", "Local", "local", "Europe/Londonn", "../etc/passwd", "Europe/London\x00", "/etc/localtime"} {
		t.Run("refuses "+name, func(t *testing.T) {
			if loc, err := Load(name); err == nil {
				t.Fatalf("Load(%q) = %v, want an error", name, loc)
			}
		})
	}
}
