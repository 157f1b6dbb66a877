package booking

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reservation.dev/platform/eventdates"
)

// echoWindow is how long a caller may take from reading an event to sending it back.
// A date that starts in that time is no longer in the sums of the dates to come.
const echoWindow = time.Hour

// datesSummary is what callers see of the dates of an event together.
type datesSummary struct {
	eventdates.Summary
	// capacities are the sums within the echoWindow; nil: unlimited.
	capacities []*int64
}

// summarizeDates sums up dates as callers see them now and saw them within the
// echoWindow.
func summarizeDates(dates []EventDate, now time.Time) datesSummary {
	dates = slices.Clone(dates)
	sortDates(dates)
	s := datesSummary{Summary: eventdates.Of(summedDates(dates), now)}
	s.capacities = []*int64{s.Capacity}
	var sum int64
	limited := true
	for _, d := range slices.Backward(dates) {
		if d.Status != Scheduled || d.StartsAt.Before(now.Add(-echoWindow)) {
			continue
		}
		if limited = limited && d.Capacity != nil; limited {
			sum += int64(*d.Capacity)
		}
		if !d.StartsAt.After(now) {
			s.capacities = append(s.capacities, sumOf(sum, limited))
		}
	}
	return s
}

func summedDates(dates []EventDate) []eventdates.Date {
	out := make([]eventdates.Date, len(dates))
	for i, d := range dates {
		out[i] = eventdates.Date{
			StartsAt: d.StartsAt, Minutes: d.Minutes, Capacity: d.Capacity, Booked: d.Booked, Cancelled: d.Status == DateCancelled,
		}
	}
	return out
}

// sumOf is a sum of capacities; nil: one of them has no limit.
func sumOf(sum int64, limited bool) *int64 {
	if !limited {
		return nil
	}
	return &sum
}

// hasCapacity reports whether a change names one of the summary's capacities.
func (s *datesSummary) hasCapacity(c *dateChange) bool {
	return slices.ContainsFunc(s.capacities, func(sum *int64) bool {
		if sum == nil || c.capacity == nil {
			return sum == nil && c.unlimited
		}
		return min(*sum, math.MaxInt32) == int64(*c.capacity)
	})
}

// lendDuration gives dates to be added that have no duration the one of the dates
// together.
func (c *eventChange) lendDuration() {
	for i := range c.dates {
		if d := &c.dates[i]; d.adds && d.minutes == nil && !d.ends() {
			d.minutes = c.together.minutes
		}
	}
}

// withoutEchoes returns what a request changes of the dates together: a caller may
// send back what it has read, so values that equal the summary before or after the
// other changes of the request are left out. A caller that has read an event with
// several dates names them; without names, a duration or a capacity is a new value
// for every date, even if it happens to equal the first duration or the sum.
func (c *eventChange) withoutEchoes(dates int, loc *time.Location, before, after *datesSummary) dateChange {
	rest := c.together.withoutEchoedTimes(loc, before, after)
	if dates == 1 || c.namesDates() {
		return rest.withoutEchoedSizes(before, after)
	}
	return rest
}

// namesDates reports whether the change names dates that the event has.
func (c *eventChange) namesDates() bool {
	return slices.ContainsFunc(c.dates, func(d dateChange) bool { return !d.adds })
}

// withoutEchoedTimes returns the change without a start and an end that equal a
// summary.
func (c *dateChange) withoutEchoedTimes(loc *time.Location, before, after *datesSummary) dateChange {
	rest := *c
	equals := func(at, a, b time.Time) bool { return at.Equal(a) || at.Equal(b) }
	if equals(rest.start(loc), before.StartsAt, after.StartsAt) {
		rest.startsAt, rest.local = time.Time{}, ""
	}
	// Without a duration, an end that stays makes the date longer or shorter if the
	// start moves.
	moves := rest.local != "" || !rest.startsAt.IsZero()
	if (rest.minutes != nil || !moves) && equals(rest.end(loc), before.EndsAt, after.EndsAt) {
		rest.endsAt, rest.localEnd = time.Time{}, ""
	}
	return rest
}

// withoutEchoedSizes returns the change without a duration and a capacity that equal
// a summary.
func (c *dateChange) withoutEchoedSizes(before, after *datesSummary) dateChange {
	rest := *c
	if rest.minutes != nil && (*rest.minutes == before.Minutes || *rest.minutes == after.Minutes) {
		rest.minutes = nil
	}
	if before.hasCapacity(&rest) || after.hasCapacity(&rest) {
		rest.capacity, rest.unlimited = nil, false
	}
	return rest
}

// sizes reports a capacity.
func (c *dateChange) sizes() bool { return c.capacity != nil || c.unlimited }

// member is the first member that a change of the dates together gives.
func (c *dateChange) member() string {
	switch {
	case c.local != "":
		return "local_start"
	case !c.startsAt.IsZero():
		return "starts_at"
	case c.localEnd != "":
		return "local_end"
	case c.ends():
		return "ends_at"
	case c.minutes != nil:
		return "duration_minutes"
	}
	return "capacity"
}

// spread makes the changes of single dates that a request means by what it says
// about the dates together. before are the dates as they were.
func (c *eventChange) spread(p *eventPlan, before []EventDate, loc *time.Location, now time.Time, f *fields) ([]dateChange, error) {
	e, old := p.Event, summarizeDates(before, now)
	after := summarizeDates(slices.Concat(e.Dates, p.addedDates), now)
	rest := c.withoutEchoes(len(e.Dates), loc, &old, &after)
	if !rest.sizes() && !rest.ends() && rest.minutes == nil && rest.start(loc).IsZero() {
		return nil, nil
	}
	if len(e.Dates) == 1 {
		return []dateChange{rest}, c.spreadToOne(p, &rest, &before[0], loc, f)
	}
	if rest.ends() || !rest.start(loc).IsZero() {
		f.Add(rest.at+rest.member(), "ambiguous", fmt.Sprintf("does not say which date is meant, because the event has %d. Change them in dates", len(e.Dates)))
		return nil, nil
	}
	return nil, c.spreadToAll(p, &rest, before, loc, now, f)
}

// spreadToOne changes the only date, unless the request changes the same about it
// in another place.
func (c *eventChange) spreadToOne(p *eventPlan, rest *dateChange, before *EventDate, loc *time.Location, f *fields) error {
	d := &p.Dates[0]
	faults := f.Len()
	once := func(member string, here, there bool) {
		if here && there {
			f.Add(rest.at+member, "exclusive", "does not go with another value in dates")
		}
	}
	once("starts_at", !rest.start(loc).IsZero(), !d.StartsAt.Equal(before.StartsAt))
	once("duration_minutes", rest.minutes != nil || rest.ends(), d.Minutes != before.Minutes)
	once("capacity", rest.sizes(), d.places() != before.places())
	if f.Len() > faults {
		return nil
	}
	c.sizeAdded(p, rest)
	if _, refusal := rest.change(d, loc, f); refusal != nil {
		return refusal
	}
	return nil
}

// spreadToAll changes the duration and the capacity of each date to come, except
// where the request changes them by itself.
func (c *eventChange) spreadToAll(p *eventPlan, rest *dateChange, before []EventDate, loc *time.Location, now time.Time, f *fields) error {
	if p.Status == Cancelled && !p.cancels {
		return eventCancelledFault()
	}
	reached := c.sizeAdded(p, rest)
	for i := range p.Dates {
		d := &p.Dates[i]
		if d.Status != Scheduled || !d.StartsAt.After(now) {
			continue
		}
		reached = true
		change := *rest
		if d.Minutes != before[i].Minutes {
			change.minutes = nil
		}
		if d.places() != before[i].places() {
			change.capacity, change.unlimited = nil, false
		}
		faults := f.Len()
		if _, refusal := change.change(d, loc, f); refusal != nil {
			return refusal
		}
		if f.Len() > faults {
			return nil // one date is enough to refuse it
		}
	}
	if !reached {
		f.Add(rest.at+rest.member(), "exists", "has no date to come that it could change. Change dates that have started in dates")
	}
	return nil
}

// sizeAdded gives the dates that a request adds without a capacity the one of the
// dates together, and reports whether it adds any.
func (c *eventChange) sizeAdded(p *eventPlan, rest *dateChange) bool {
	added := 0
	for i := range c.dates {
		if !c.dates[i].adds {
			continue
		}
		if !c.dates[i].sizes() && rest.sizes() {
			p.addedDates[added].Capacity = rest.capacity
		}
		added++
	}
	return added > 0
}
