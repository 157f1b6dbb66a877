package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
	"reservation.dev/services/booking/recurrence"
)

// DateChange is a request to change a date of an event or to add one.
type DateChange struct {
	At       string // path in the request, with a dot at the end
	ID       id.EventDate
	Adds     bool      // true: adds a date; false: changes the date with id
	StartsAt time.Time // zero: not given
	Local    string    // the start as wall time instead; "": not given
	EndsAt   time.Time // zero: not given
	LocalEnd string    // the end as wall time instead; "": not given
	Minutes  *int32
	Capacity *int32
	// Unlimited removes the capacity.
	Unlimited bool
	// StaffAndRooms replaces who teaches and where; nil: no change.
	StaffAndRooms *StaffAndRooms
	// CopiesLast gives an added date the duration and the capacity of the event's last date, if the
	// change does not give them.
	CopiesLast bool
}

// check reports the faults that do not depend on the event.
func (c *DateChange) check(f *fields) {
	if c.Adds || c.Local != "" || !c.StartsAt.IsZero() {
		f.time(c.At, "starts_at", "local_start", c.StartsAt, c.Local)
	}
	c.checkSize(f)
}

// time checks a time that is given as an instant or as wall time.
func (f *fields) time(at, instant, local string, when time.Time, text string) {
	switch {
	case text != "" && !when.IsZero():
		f.Add(at+local, "exclusive", "cannot be combined with "+instant)
	case text != "":
		if wall, ok := isotime.ParseLocal(text); !ok {
			f.Add(at+local, "format", "must be a local time such as 2026-03-29T09:30:00")
		} else if !check.Storable(wall) {
			f.Add(at+local, "range", "must be in the years 1 to 9999")
		}
	default:
		f.Second(at+instant, when)
	}
}

// checkSize checks the duration, the end and the capacity.
func (c *DateChange) checkSize(f *fields) {
	if c.Ends() {
		f.time(c.At, "ends_at", "local_end", c.EndsAt, c.LocalEnd)
	}
	if m := c.Minutes; m == nil && c.Adds && !c.CopiesLast && !c.Ends() || m != nil && (*m < 1 || *m > maxMinutes) {
		f.Add(c.At+"duration_minutes", "range", fmt.Sprintf("must be 1 to %d", maxMinutes))
	}
	switch {
	case c.Capacity != nil && c.Unlimited:
		f.Add(c.At+"unlimited", "exclusive", "cannot be combined with a capacity")
	case c.Capacity != nil && *c.Capacity < 0:
		f.Add(c.At+"capacity", "min", "must be 0 or more")
	}
}

// Ends reports whether the change gives an end.
func (c *DateChange) Ends() bool { return c.LocalEnd != "" || !c.EndsAt.IsZero() }

// sizes reports whether the change sets or removes the capacity.
func (c *DateChange) sizes() bool { return c.Capacity != nil || c.Unlimited }

// start returns the start of a checked change; zero if it gives none.
func (c *DateChange) start(loc *time.Location) time.Time { return instantIn(c.StartsAt, c.Local, loc) }

// end returns the end of a checked change; zero if it gives none.
func (c *DateChange) end(loc *time.Location) time.Time { return instantIn(c.EndsAt, c.LocalEnd, loc) }

// instantIn returns at, or the instant of a checked wall time.
func instantIn(at time.Time, local string, loc *time.Location) time.Time {
	if local == "" {
		return at
	}
	wall, _ := isotime.ParseLocal(local)
	return zone.Instant(wall, loc)
}

// length returns the duration in minutes that a checked change gives a date with this start; nil if
// it gives none.
func (c *DateChange) length(start time.Time, loc *time.Location, f *fields) *int32 {
	if !c.Ends() {
		return c.Minutes
	}
	member := "ends_at"
	if c.LocalEnd != "" {
		member = "local_end"
	}
	between := c.end(loc).Sub(start)
	if between <= 0 || between%time.Minute != 0 || between > maxMinutes*time.Minute {
		f.Add(c.At+member, "min", "must be a whole number of minutes after the start, at most a year")
		return c.Minutes
	}
	minutes := int32(between / time.Minute)
	if c.Minutes != nil && *c.Minutes != minutes {
		f.Add(c.At+"duration_minutes", "mismatch", fmt.Sprintf("must be %d, the minutes from the start to the end, or be left out", minutes))
	}
	return &minutes
}

// date returns the date that a checked change adds at an instant.
func (c *DateChange) date(at time.Time, loc *time.Location, f *fields) EventDate {
	d := EventDate{StartsAt: at, Capacity: c.Capacity, Status: Scheduled}
	if minutes := c.length(at, loc, f); minutes != nil {
		d.Minutes = *minutes
	}
	return d
}

// after returns the date that a checked change adds to an event whose last date is last.
func (c *DateChange) after(last EventDate, loc *time.Location, f *fields) EventDate {
	d := c.date(c.start(loc), loc, f)
	if !c.CopiesLast {
		return d
	}
	if c.Minutes == nil && !c.Ends() {
		d.Minutes = last.Minutes
	}
	if !c.sizes() {
		d.Capacity = last.Capacity
	}
	return d
}

// byRule is the path of dates that a rule generates.
const byRule = "recurrence."

// occurrences returns the dates that a rule generates, in order of time, with the duration and
// capacity of model. The wall time between start and end is the same for all dates, so a night on
// which the clocks change is longer or shorter than others.
func (f *fields) occurrences(r *recurrence.Recurrence, model DateChange, loc *time.Location, timezone string) []DateChange {
	starts := r.Dates(timezone, &f.Fields)
	if len(starts) == 0 {
		return nil
	}
	if !model.EndsAt.IsZero() {
		f.Add(model.At+"ends_at", "local", "must be a local time without an offset if recurrence is given")
		return nil
	}
	first, _ := isotime.ParseLocal(r.Start)
	last, _ := isotime.ParseLocal(model.LocalEnd)
	before := f.Len()
	if model.length(zone.Instant(first, loc), loc, f); f.Len() > before {
		return nil
	}
	dates := make([]DateChange, len(starts))
	for i, at := range starts {
		// Faults of this date are reported for the rule, with the date's wall time.
		wall := at.In(loc)
		dates[i] = model
		dates[i].At, dates[i].StartsAt, dates[i].Local = byRule, time.Time{}, wall.Format(isotime.LocalLayout)
		if model.LocalEnd != "" {
			shown := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
			dates[i].LocalEnd = shown.Add(last.Sub(first)).Format(isotime.LocalLayout)
			end := dates[i]
			end.At = model.At
			if end.length(at, loc, f); f.Len() > before {
				return nil // one date whose duration contradicts its end is enough
			}
		}
	}
	return dates
}

// added returns the dates of changes that add dates. Their starts must differ.
func (f *fields) added(changes []DateChange, loc *time.Location) []EventDate {
	starts := make(map[time.Time]bool, len(changes))
	dates := make([]EventDate, len(changes))
	for i := range changes {
		at := changes[i].start(loc)
		if !at.IsZero() && starts[at] {
			f.startTaken(&changes[i])
		}
		starts[at] = true
		dates[i] = changes[i].date(at, loc, f)
	}
	return dates
}

func (f *fields) startTaken(c *DateChange) {
	member := "starts_at"
	if c.Local != "" {
		member = "local_start"
	}
	if c.At == byRule {
		f.Add("recurrence.rule", "unique", "gives "+c.Local+", at which the event already takes place")
		return
	}
	f.Add(c.At+member, "unique", "is already used by another date of the event")
}

// DateDifference is the effect of a change on a date.
type DateDifference struct {
	Date    EventDate // after the change
	Changed bool
}

// change applies a checked change to a date. The capacity cannot be less than the booked spaces.
func (c *DateChange) change(d *EventDate, loc *time.Location, f *fields) (DateDifference, *fault.Error) {
	before := *d
	if at := c.start(loc); !at.IsZero() {
		d.StartsAt = at
	}
	if minutes := c.length(d.StartsAt, loc, f); minutes != nil {
		d.Minutes = *minutes
	}
	if c.Unlimited {
		d.Capacity = nil
	}
	if c.Capacity != nil {
		d.Capacity = c.Capacity
		if *c.Capacity < d.Booked {
			f.Add(c.At+"capacity", "min", fmt.Sprintf("must be at least %d, the number of booked spaces", d.Booked))
		}
	}
	done := DateDifference{Date: *d, Changed: before.differs(d)}
	if done.Changed && before.Status == DateCancelled {
		return done, dateIsCancelled(d.ID)
	}
	return done, nil
}

// Staffed adds the effect of a staffing of the only date of e.
func (d DateDifference) Staffed(e *Event, s *Staffing) DateDifference {
	return DateDifference{Date: e.Dates[0], Changed: d.Changed || len(s.Reassigned()) > 0}
}

func dateIsCancelled(date id.EventDate) *fault.Error {
	return fault.Refuse(ReasonEventCancelled, "the event date is cancelled").With("event_date_id", date.String())
}

// differs reports whether the dates have a different start, duration or capacity.
func (d *EventDate) differs(other *EventDate) bool {
	return d.spaceLimit() != other.spaceLimit() || !d.StartsAt.Equal(other.StartsAt) || d.Minutes != other.Minutes
}

// spaceLimit returns the number of spaces of a date.
func (d *EventDate) spaceLimit() int64 {
	if d.Capacity == nil {
		return unlimited + 1
	}
	return int64(*d.Capacity)
}

// ApplyToOnlyDate applies a checked change to the only date of e that was read.
func (c *DateChange) ApplyToOnlyDate(e *Event) (DateDifference, error) {
	loc, err := zone.Load(e.Timezone)
	if err != nil {
		return DateDifference{}, err
	}
	var faults fields
	done, refusal := c.change(&e.Dates[0], loc, &faults)
	if refusal != nil {
		return done, refusal
	}
	if err := faults.Err(); err != nil {
		return done, err
	}
	if done.Changed && e.Status == Cancelled {
		return done, EventIsCancelled()
	}
	return done, nil
}

// Checked returns the faults of a change that do not depend on its event.
func (c *DateChange) Checked() error {
	var faults fields
	c.check(&faults)
	return faults.Err()
}
