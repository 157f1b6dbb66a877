// Package zone loads IANA time zones and finds the instants that their clocks show. The
// zone database is part of the binary, for machines that have none.
package zone

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zone database, for machines that have none
)

// loaded caches zones by name; there are as many as IANA has named.
var loaded sync.Map

// Load returns the zone of an IANA name ("Europe/London"). Unlike
// time.LoadLocation it knows no name that means another zone on another machine.
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

// Day returns the calendar day of an instant in the zone of an IANA name, as
// YYYY-MM-DD. It is the day in UTC if the name is unknown.
func Day(at time.Time, name string) string {
	loc, err := Load(name)
	if err != nil {
		loc = time.UTC
	}
	return at.In(loc).Format(time.DateOnly)
}

// isIANA reports whether name can be one of IANA's: not one of the machine's own
// zone ("localtime"), none of the copies that some machines keep (those below
// "right" count leap seconds), and no other spelling of the path of a zone's file.
func isIANA(name string) bool {
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "", "Local", "localtime", "posixrules", "posix", "right":
		return false
	}
	return path.Clean(name) == name
}
