package model

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reservation.dev/platform/eventdates"
)

// echoWindow is the longest time that a caller can take between reading an event and sending it
// back. If a date starts in between, it is no longer in the sums of the upcoming dates, so the
// earlier sums are accepted too.
const echoWindow = time.Hour

// datesSummary is the dates of an event as callers see them together.
type datesSummary struct {
	eventdates.Summary
	// capacities are the sums of capacities shown within the echoWindow; a nil sum means unlimited.
	capacities []*int64
}

// summarizeDates sums up dates as callers see them now and have seen them within the echoWindow.
func summarizeDates(dates []EventDate, now time.Time) datesSummary {
	dates = slices.Clone(dates)
	SortDates(dates)
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

// sumOf returns a sum of capacities; nil if one of them is unlimited.
func sumOf(sum int64, limited bool) *int64 {
	if !limited {
		return nil
	}
	return &sum
}

// hasCapacity reports whether a change gives one of the summary's capacities.
func (s *datesSummary) hasCapacity(c *DateChange) bool {
	return slices.ContainsFunc(s.capacities, func(sum *int64) bool {
		if sum == nil || c.Capacity == nil {
			return sum == nil && c.Unlimited
		}
		return min(*sum, math.MaxInt32) == int64(*c.Capacity)
	})
}

// FillDurations gives added dates without a duration the duration from the change of all dates
// together.
func (c *EventChange) FillDurations() {
	for i := range c.Dates {
		if d := &c.Dates[i]; d.Adds && d.Minutes == nil && !d.Ends() {
			d.Minutes = c.Together.Minutes
		}
	}
}

// withoutEchoes returns the change of all dates together without values that equal the summary
// before or after the other changes of the request, because a caller can send back what it has
// read. A caller that has read an event with several dates also sends dates. Without them, a
// duration or a capacity is a new value for every date, even if it happens to equal the first
// duration or the sum.
func (c *EventChange) withoutEchoes(dates int, loc *time.Location, before, after *datesSummary) DateChange {
	rest := c.Together.withoutEchoedTimes(loc, before, after)
	if dates == 1 || len(c.Dates) > 0 {
		return rest.withoutEchoedSizes(before, after)
	}
	return rest
}

// withoutEchoedTimes returns the change without a start or an end that equals a summary.
func (c *DateChange) withoutEchoedTimes(loc *time.Location, before, after *datesSummary) DateChange {
	rest := *c
	equals := func(at, a, b time.Time) bool { return at.Equal(a) || at.Equal(b) }
	if equals(rest.start(loc), before.StartsAt, after.StartsAt) {
		rest.StartsAt, rest.Local = time.Time{}, ""
	}
	// If the duration is not given and the start moves, an unchanged end makes the date longer or
	// shorter.
	moves := rest.Local != "" || !rest.StartsAt.IsZero()
	if (rest.Minutes != nil || !moves) && equals(rest.end(loc), before.EndsAt, after.EndsAt) {
		rest.EndsAt, rest.LocalEnd = time.Time{}, ""
	}
	return rest
}

// withoutEchoedSizes returns the change without a duration or a capacity that equals a summary.
func (c *DateChange) withoutEchoedSizes(before, after *datesSummary) DateChange {
	rest := *c
	if rest.Minutes != nil && (*rest.Minutes == before.Minutes || *rest.Minutes == after.Minutes) {
		rest.Minutes = nil
	}
	if before.hasCapacity(&rest) || after.hasCapacity(&rest) {
		rest.Capacity, rest.Unlimited = nil, false
	}
	return rest
}

// member returns the name of the first member that a change of all dates together gives.
func (c *DateChange) member() string {
	switch {
	case c.Local != "":
		return "local_start"
	case !c.StartsAt.IsZero():
		return "starts_at"
	case c.LocalEnd != "":
		return "local_end"
	case c.Ends():
		return "ends_at"
	case c.Minutes != nil:
		return "duration_minutes"
	}
	return "capacity"
}

// spread converts the change of all dates together into changes of single dates. before are the
// dates before the request.
func (c *EventChange) spread(p *EventPlan, before []EventDate, loc *time.Location, now time.Time, f *fields) ([]DateChange, error) {
	e, old := p.Event, summarizeDates(before, now)
	after := summarizeDates(slices.Concat(e.Dates, p.AddedDates), now)
	rest := c.withoutEchoes(len(e.Dates), loc, &old, &after)
	if !rest.sizes() && !rest.Ends() && rest.Minutes == nil && rest.start(loc).IsZero() {
		return nil, nil
	}
	if len(e.Dates) == 1 {
		return []DateChange{rest}, c.spreadToOne(p, &rest, &before[0], loc, f)
	}
	if rest.Ends() || !rest.start(loc).IsZero() {
		f.Add(rest.At+rest.member(), "ambiguous", fmt.Sprintf("is ambiguous, because the event has %d dates. Change them in dates", len(e.Dates)))
		return nil, nil
	}
	if c.sizesTwice(&rest, f) {
		return nil, nil
	}
	return nil, c.spreadToAll(p, &rest, loc, now, f)
}

// sizesTwice reports, as faults too, that the request gives a duration or a capacity for all dates
// together and also for dates on their own. The caller can have read the event before another date was
// added, started or was cancelled, so the value can be an earlier sum that would be wrong for each date.
func (c *EventChange) sizesTwice(rest *DateChange, f *fields) bool {
	faults := f.Len()
	twice := func(member string, together bool, gives func(DateChange) bool) {
		if together && slices.ContainsFunc(c.Dates, gives) {
			f.Add(rest.At+member, "ambiguous", "is ambiguous, because dates also gives it and it is not the event's present value. "+
				"Give it in dates, or leave it out there to change all upcoming dates")
		}
	}
	twice("duration_minutes", rest.Minutes != nil, func(d DateChange) bool {
		return d.Minutes != nil && *d.Minutes != *rest.Minutes || d.Ends() // FillDurations gives the same one
	})
	twice("capacity", rest.sizes(), func(d DateChange) bool { return d.sizes() })
	return f.Len() > faults
}

// spreadToOne changes the event's only date. It reports a fault if the request also changes the
// same value of the date in dates.
func (c *EventChange) spreadToOne(p *EventPlan, rest *DateChange, before *EventDate, loc *time.Location, f *fields) error {
	d := &p.Dates[0]
	faults := f.Len()
	once := func(member string, here, there bool) {
		if here && there {
			f.Add(rest.At+member, "exclusive", "cannot be combined with another value in dates")
		}
	}
	once("starts_at", !rest.start(loc).IsZero(), !d.StartsAt.Equal(before.StartsAt))
	once("duration_minutes", rest.Minutes != nil || rest.Ends(), d.Minutes != before.Minutes)
	once("capacity", rest.sizes(), d.spaceLimit() != before.spaceLimit())
	if f.Len() > faults {
		return nil
	}
	c.sizeAdded(p, rest)
	if _, refusal := rest.change(d, loc, f); refusal != nil {
		return refusal
	}
	return nil
}

// spreadToAll changes the duration and the capacity of each upcoming date.
func (c *EventChange) spreadToAll(p *EventPlan, rest *DateChange, loc *time.Location, now time.Time, f *fields) error {
	if p.Status == Cancelled && !p.Cancels {
		return EventIsCancelled()
	}
	reached := c.sizeAdded(p, rest)
	for i := range p.Dates {
		d := &p.Dates[i]
		if d.Status != Scheduled || !d.StartsAt.After(now) {
			continue
		}
		reached = true
		faults := f.Len()
		if _, refusal := rest.change(d, loc, f); refusal != nil {
			return refusal
		}
		if f.Len() > faults {
			return nil // one fault is enough to refuse the request
		}
	}
	if !reached {
		f.Add(rest.At+rest.member(), "exists", "has no upcoming date to change. Change dates that have started in dates")
	}
	return nil
}

// sizeAdded gives added dates without a capacity the capacity from the change of all dates
// together, and reports whether the request adds any dates.
func (c *EventChange) sizeAdded(p *EventPlan, rest *DateChange) bool {
	added := 0
	for i := range c.Dates {
		if !c.Dates[i].Adds {
			continue
		}
		if !c.Dates[i].sizes() && rest.sizes() {
			p.AddedDates[added].Capacity = rest.Capacity
		}
		added++
	}
	return added > 0
}
