package booking

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
)

// dateChange is what a request says about a date: one of the event's to change,
// or one to add.
type dateChange struct {
	at       string // where it stands in the request, with a dot at the end
	id       id.EventDate
	adds     bool      // a date of its own; otherwise it changes the one with id
	startsAt time.Time // zero: not said
	local    string    // the start as wall time instead; "": not said
	minutes  *int32
	capacity *int32
	// unlimited takes the capacity away.
	unlimited bool
}

// check reports what is wrong whatever the event is.
func (c *dateChange) check(f *fields) {
	switch {
	case c.local != "" && !c.startsAt.IsZero():
		f.add(c.at+"local_start", "exclusive", "does not go with starts_at")
	case c.local != "":
		if wall, ok := parseWall(c.local); !ok {
			f.add(c.at+"local_start", "format", "must be a local time such as 2026-03-29T09:30:00")
		} else if !storable(wall) {
			f.add(c.at+"local_start", "range", "must be in the years 1 to 9999")
		}
	case !c.startsAt.IsZero() || c.adds:
		f.second(c.at+"starts_at", c.startsAt)
	}
	c.checkSize(f)
}

func (c *dateChange) checkSize(f *fields) {
	if m := c.minutes; m == nil && c.adds || m != nil && (*m < 1 || *m > maxMinutes) {
		f.add(c.at+"duration_minutes", "range", fmt.Sprintf("must be 1 to %d", maxMinutes))
	}
	switch {
	case c.capacity != nil && c.unlimited:
		f.add(c.at+"unlimited", "exclusive", "does not go with a capacity")
	case c.capacity != nil && *c.capacity < 0:
		f.add(c.at+"capacity", "min", "must be 0 or more")
	}
}

// start is the instant of a checked change; zero: it says none.
func (c *dateChange) start(loc *time.Location) time.Time {
	if c.local == "" {
		return c.startsAt
	}
	wall, _ := parseWall(c.local)
	return wallIn(wall, loc)
}

// date is the date that a checked change adds.
func (c *dateChange) date(at time.Time) EventDate {
	d := EventDate{StartsAt: at, Capacity: c.capacity, Status: Scheduled}
	if c.minutes != nil {
		d.Minutes = *c.minutes
	}
	return d
}

// byRule is where a date stands in a request that a rule gives.
const byRule = "recurrence."

// recurring adds the dates of a rule in a zone, each after the model of one.
func recurring(r *Recurrence, model dateChange, timezone string) (*eventChange, error) {
	loc, err := zone.Load(timezone)
	if err != nil {
		return nil, err
	}
	var faults fields
	again := *r // a transaction may be repeated
	again.Exceptions = slices.Clone(r.Exceptions)
	c := &eventChange{}
	for _, at := range faults.recurrence(&again, timezone) {
		// A fault of one names the rule, and what it gives by its wall time.
		model.at, model.startsAt, model.local = byRule, time.Time{}, at.In(loc).Format(wallLayout)
		c.dates = append(c.dates, model)
	}
	return c, faults.err()
}

// added makes dates of changes that add, whose starts must differ.
func (f *fields) added(changes []dateChange, loc *time.Location) []EventDate {
	starts := make(map[time.Time]bool, len(changes))
	dates := make([]EventDate, len(changes))
	for i := range changes {
		at := changes[i].start(loc)
		if !at.IsZero() && starts[at] {
			f.startTaken(&changes[i])
		}
		starts[at] = true
		dates[i] = changes[i].date(at)
	}
	return dates
}

func (f *fields) startTaken(c *dateChange) {
	member := "starts_at"
	if c.local != "" {
		member = "local_start"
	}
	if c.at == byRule {
		f.add("recurrence.rule", "unique", "gives "+c.local+", at which the event takes place already")
		return
	}
	f.add(c.at+member, "unique", "is the start of another date of the event")
}

// difference is what a change does to a date.
type difference struct {
	date    EventDate // as it will be
	changed bool
}

// change applies a checked change to a date. What is booked stays within the
// capacity.
func (c *dateChange) change(d *EventDate, loc *time.Location, f *fields) (difference, *fault.Error) {
	before := *d
	if at := c.start(loc); !at.IsZero() {
		d.StartsAt = at
	}
	if c.minutes != nil {
		d.Minutes = *c.minutes
	}
	if c.unlimited {
		d.Capacity = nil
	}
	if c.capacity != nil {
		d.Capacity = c.capacity
		if *c.capacity < d.Booked {
			f.add(c.at+"capacity", "min", fmt.Sprintf("must be at least %d, which are booked", d.Booked))
		}
	}
	done := difference{date: *d}
	done.changed = d.places() != before.places() || !d.StartsAt.Equal(before.StartsAt) || d.Minutes != before.Minutes
	if done.changed && before.Status == DateCancelled {
		return done, fault.Refuse(ReasonEventCancelled, "the event date is cancelled").With("event_date_id", d.ID.String())
	}
	return done, nil
}

// places is how many a date holds.
func (d *EventDate) places() int64 {
	if d.Capacity == nil {
		return unlimited + 1
	}
	return int64(*d.Capacity)
}

// alone applies a checked change to the only date of e that was read.
func (c *dateChange) alone(e *Event) (difference, error) {
	loc, err := zone.Load(e.Timezone)
	if err != nil {
		return difference{}, err
	}
	var faults fields
	done, refusal := c.change(&e.Dates[0], loc, &faults)
	if refusal != nil {
		return done, refusal
	}
	if err := faults.err(); err != nil {
		return done, err
	}
	if done.changed && e.Status == Cancelled {
		return done, eventCancelledFault()
	}
	return done, nil
}
