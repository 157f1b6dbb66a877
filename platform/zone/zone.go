// Package zone loads IANA time zones once. The zone database is part of the
// binary, so that every replica knows the same zones wherever it runs.
package zone

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // the zone database, for machines that have none
)

// loaded caches zones by name; there are as many as IANA has named.
var loaded sync.Map

// Load returns the zone of an IANA name ("Europe/London"). Unlike
// time.LoadLocation it knows neither "" nor "Local", which mean another zone on
// another machine.
func Load(name string) (*time.Location, error) {
	if loc, ok := loaded.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loaded.Store(name, loc)
	return loc, nil
}
