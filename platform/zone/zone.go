// Package zone loads IANA time zones and converts their local times to instants. The binary
// includes the zone database, so it also works on machines without one.
package zone

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zone database, for machines without one
)

// loaded caches zones by name. It cannot grow beyond the names of IANA.
var loaded sync.Map

// Load returns the zone with an IANA name, for example "Europe/London". Unlike
// time.LoadLocation, it refuses names that depend on the machine, such as "Local".
func Load(name string) (*time.Location, error) {
	if loc, ok := loaded.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if !isIANA(name) {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loaded.Store(name, loc)
	return loc, nil
}

// Day returns the calendar day of an instant in the zone with an IANA name, as YYYY-MM-DD.
// If the name is unknown, Day uses UTC.
func Day(at time.Time, name string) string {
	loc, err := Load(name)
	if err != nil {
		loc = time.UTC
	}
	return at.In(loc).Format(time.DateOnly)
}

// StoredDay returns a stored day as YYYY-MM-DD. If none is stored, it returns that of an instant in the zone with the name
// earlier, or in present if earlier is "" or unknown.
func StoredDay(stored *time.Time, at time.Time, earlier string, present *time.Location) string {
	if stored != nil {
		return stored.Format(time.DateOnly)
	}
	if loc, err := Load(earlier); err == nil && earlier != "" {
		present = loc
	}
	return at.In(present).Format(time.DateOnly)
}

// isIANA reports whether name can be an IANA name. It refuses names of the machine's own
// zone ("localtime"), copies that only some machines have (those below "right" count leap
// seconds), and alternative spellings of a file's path ("Europe//London").
func isIANA(name string) bool {
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "", "Local", "localtime", "posixrules", "posix", "right":
		return false
	}
	return path.Clean(name) == name
}
