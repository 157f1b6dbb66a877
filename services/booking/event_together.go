package booking

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/eventdates"
)

// shownFor is how long a caller may take from reading an event to sending it back.
// A date that starts meanwhile leaves the sums of the dates to come.
const shownFor = time.Hour

// shown is what callers see of the dates of an event together.
type shown struct {
	eventdates.Summary
	// capacities are those that were shown lately; nil: unlimited.
	capacities []*int64
}

// shownOf sums up dates as they are shown now, and as they were lately.
func shownOf(dates []EventDate, now time.Time) shown {
	dates = slices.Clone(dates)
	sortDates(dates)
	s := shown{Summary: eventdates.Summarize(datesToProto(dates), now)}
	s.capacities = []*int64{s.Capacity}
	var sum int64
	limited := true
	for _, d := range slices.Backward(dates) {
		if d.Status != Scheduled || d.StartsAt.Before(now.Add(-shownFor)) {
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

// sumOf is a sum of capacities; nil: one of them has no limit.
func sumOf(sum int64, limited bool) *int64 {
	if !limited {
		return nil
	}
	return &sum
}

// capacityIs reports whether a change names a capacity that is shown.
func (s *shown) capacityIs(c *dateChange) bool {
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

// news leaves of what a request says about the dates together what is not shown,
// before or after the other changes of the request: a caller may send back what it
// has read.
func (c *dateChange) news(loc *time.Location, before, after *shown) dateChange {
	n := *c
	is := func(at, a, b time.Time) bool { return at.Equal(a) || at.Equal(b) }
	if is(n.start(loc), before.StartsAt, after.StartsAt) {
		n.startsAt, n.local = time.Time{}, ""
	}
	// Without a duration, an end that stays makes the date longer or shorter if the
	// start moves.
	moves := n.local != "" || !n.startsAt.IsZero()
	if (n.minutes != nil || !moves) && is(n.end(loc), before.EndsAt, after.EndsAt) {
		n.endsAt, n.localEnd = time.Time{}, ""
	}
	if n.minutes != nil && (*n.minutes == before.Minutes || *n.minutes == after.Minutes) {
		n.minutes = nil
	}
	if before.capacityIs(&n) || after.capacityIs(&n) {
		n.capacity, n.unlimited = nil, false
	}
	return n
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
	e, was := p.Event, shownOf(before, now)
	is := shownOf(slices.Concat(e.Dates, p.addedDates), now)
	news := c.together.news(loc, &was, &is)
	if !news.sizes() && !news.ends() && news.minutes == nil && news.start(loc).IsZero() {
		return nil, nil
	}
	if len(e.Dates) == 1 {
		return []dateChange{news}, c.spreadToOne(p, &news, &before[0], loc, f)
	}
	if news.ends() || !news.start(loc).IsZero() {
		f.add(news.at+news.member(), "ambiguous", fmt.Sprintf("does not say which date is meant, because the event has %d. Change them in dates", len(e.Dates)))
		return nil, nil
	}
	return nil, c.spreadToAll(p, &news, before, loc, now, f)
}

// spreadToOne changes the only date, unless the request changes the same about it
// in another place.
func (c *eventChange) spreadToOne(p *eventPlan, news *dateChange, before *EventDate, loc *time.Location, f *fields) error {
	d := &p.Dates[0]
	faults := f.Len()
	once := func(member string, here, there bool) {
		if here && there {
			f.add(news.at+member, "exclusive", "does not go with another value in dates")
		}
	}
	once("starts_at", !news.start(loc).IsZero(), !d.StartsAt.Equal(before.StartsAt))
	once("duration_minutes", news.minutes != nil || news.ends(), d.Minutes != before.Minutes)
	once("capacity", news.sizes(), d.places() != before.places())
	if f.Len() > faults {
		return nil
	}
	c.sizeAdded(p, news)
	if _, refusal := news.change(d, loc, f); refusal != nil {
		return refusal
	}
	return nil
}

// spreadToAll changes the duration and the capacity of each date to come, except
// where the request changes them by itself.
func (c *eventChange) spreadToAll(p *eventPlan, news *dateChange, before []EventDate, loc *time.Location, now time.Time, f *fields) error {
	if p.Status == Cancelled && !p.cancels {
		return eventCancelledFault()
	}
	reached := c.sizeAdded(p, news)
	for i := range p.Dates {
		d := &p.Dates[i]
		if d.Status != Scheduled || !d.StartsAt.After(now) {
			continue
		}
		reached = true
		change := *news
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
		f.add(news.at+news.member(), "exists", "has no date to come that it could change. Change dates that have started in dates")
	}
	return nil
}

// sizeAdded gives the dates that a request adds without a capacity the one of the
// dates together, and reports whether it adds any.
func (c *eventChange) sizeAdded(p *eventPlan, news *dateChange) bool {
	added := 0
	for i := range c.dates {
		if !c.dates[i].adds {
			continue
		}
		if !c.dates[i].sizes() && news.sizes() {
			p.addedDates[added].Capacity = news.capacity
		}
		added++
	}
	return added > 0
}

// is reports whether another recurrence is this one, as a caller may have read it.
func (r *Recurrence) is(other *Recurrence) bool {
	return r != nil && normalRule(other.Rule) == r.Rule && slices.Equal(other.Exceptions, r.Exceptions) &&
		(other.Start == "" || other.Start == r.Start)
}

// normalRule is the text of a rule in the form in which it is kept.
func normalRule(text string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "RRULE:")
}
