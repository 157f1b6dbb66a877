package model

import (
	"slices"
	"time"

	"reservation.dev/platform/eventdates"
	"reservation.dev/platform/id"
)

// ShownDates is the maximum number of dates of an event in a domain event.
const ShownDates = 100

// ScheduledDate is a date with the details of its event that a calendar shows.
type ScheduledDate struct {
	EventDate
	Event       id.Event
	EventTitle  string
	EventType   EventType
	EventStatus EventStatus
	Location    string
	Rules       BookingRules
	Waiting     int32
	LowestPrice *int64 // minor units; nil: the event has no options
	Currency    string // of LowestPrice
	UpdatedAt   time.Time
	Version     int64 // of the event
}

// Schedule returns a date of e. waiting is the number of waitlist entries, which wait only for a date
// that is still to come.
func (e *Event) Schedule(d *EventDate, waiting int32, now time.Time) *ScheduledDate {
	s := &ScheduledDate{
		EventDate: *d, Event: e.ID, EventTitle: e.Title, EventType: e.Type, EventStatus: e.Status, Location: e.Location,
		Rules: e.Rules, UpdatedAt: e.UpdatedAt, Version: e.Version,
	}
	if d.toCome(now) {
		s.Waiting = waiting
	}
	if o := lowestPriced(e.Options, d.Minutes); o != nil {
		s.LowestPrice, s.Currency = &o.Price, o.Currency
	}
	return s
}

// lowestPriced returns the option with the lowest price for a date of these minutes, if possible one for
// single dates; nil if there are no options.
func lowestPriced(options []PricingOption, minutes int32) *PricingOption {
	var lowest *PricingOption
	for i := range options {
		o := &options[i]
		if !o.appliesTo(minutes) {
			continue
		}
		if lowest == nil || lowest.WholeCourse && !o.WholeCourse || lowest.WholeCourse == o.WholeCourse && o.Price < lowest.Price {
			lowest = o
		}
	}
	return lowest
}

// Available reports whether the date can be booked at now.
func (s *ScheduledDate) Available(now time.Time) bool {
	return s.EventStatus == Published && s.toCome(now) && int64(s.Booked) < s.spaceLimit() &&
		s.Rules.refuses(s.StartsAt, s.Timezone, now) == nil
}

// toCome reports whether the date is not cancelled and has not started.
func (d *EventDate) toCome(now time.Time) bool { return d.Status == Scheduled && d.StartsAt.After(now) }

// Summary describes all dates of an event together.
type Summary struct {
	eventdates.Summary
	Upcoming, Dates int32
	Next            *EventDate // the first date to come; nil: none
}

// Summarize returns the summary of sorted dates; nil if there are none.
func Summarize(dates []EventDate, now time.Time) *Summary {
	if len(dates) == 0 {
		return nil
	}
	s := &Summary{Summary: eventdates.Of(summedDates(dates), now), Dates: int32(len(dates))}
	for i := range dates {
		if !dates[i].toCome(now) {
			continue
		}
		if s.Upcoming++; s.Next == nil {
			s.Next = &dates[i]
		}
	}
	return s
}

// Summarized returns a copy of e with the summary of its dates at now.
func (e *Event) Summarized(now time.Time) *Event {
	c := *e
	c.Summary = Summarize(e.Dates, now)
	return &c
}

// Shown returns a copy of e with the summary of its dates at now, and at most ShownDates of them: the
// dates to come, or the last ones if there are none.
func (e *Event) Shown(now time.Time) *Event {
	c := e.Summarized(now)
	toCome := slices.DeleteFunc(slices.Clone(e.Dates), func(d EventDate) bool { return !d.toCome(now) })
	if len(toCome) > 0 {
		c.Dates = toCome[:min(len(toCome), ShownDates)]
	} else {
		c.Dates = e.Dates[max(0, len(e.Dates)-ShownDates):]
	}
	return c
}

// DatesByID returns the dates of e by their identifier.
func (e *Event) DatesByID() map[id.EventDate]*EventDate {
	dates := make(map[id.EventDate]*EventDate, len(e.Dates))
	for i := range e.Dates {
		dates[e.Dates[i].ID] = &e.Dates[i]
	}
	return dates
}

// Clone returns a copy of e whose dates and options can be changed separately.
func (e *Event) Clone() *Event {
	c := *e
	c.Dates, c.Options = slices.Clone(e.Dates), slices.Clone(e.Options)
	return &c
}
