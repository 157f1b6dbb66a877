package model

import (
	"time"

	"reservation.dev/platform/id"
)

// EventStep is a part of a change of an event, with the event before and after it.
type EventStep struct{ Before, After *Event }

// EventSteps are the parts of a change for which events are published, in their order. Each begins
// where the one before ended, so that together they show every difference once.
type EventSteps struct {
	Fields    EventStep // the event's own fields, options and booking rules
	Dates     EventStep // the dates that change
	Added     EventStep // the dates that are added
	Cancelled EventStep
}

// Steps returns the parts of the plan. before is the event before the change. The event of the plan is
// as it is stored, with the added dates and before its dates are cancelled at now.
func (p *EventPlan) Steps(before *Event, now time.Time) EventSteps {
	fields := *p.Event
	fields.Dates = before.Clone().Dates
	if p.Cancels {
		fields.Status = before.Status
	}
	for i := range fields.Dates {
		if p.Rezones {
			fields.Dates[i].Timezone = fields.Timezone
		}
	}
	dates, added, cancelled := fields, fields, p.Event.Clone()
	dates.Dates, added.Dates = p.withoutAdded(), p.Event.Clone().Dates
	if p.Cancels {
		cancelled.Cancel(now)
	}
	return EventSteps{
		Fields: EventStep{before, &fields}, Dates: EventStep{fields.asOf(before), &dates},
		Added: EventStep{dates.asOf(before), &added}, Cancelled: EventStep{added.asOf(before), cancelled},
	}
}

// asOf returns e with the version that it had before a change.
func (e Event) asOf(before *Event) *Event {
	e.Version, e.UpdatedAt = before.Version, before.UpdatedAt
	return &e
}

// withoutAdded returns the event's dates without those that the plan adds.
func (p *EventPlan) withoutAdded() []EventDate {
	added := make(map[id.EventDate]bool, len(p.AddedDates))
	for i := range p.AddedDates {
		added[p.AddedDates[i].ID] = true
	}
	var dates []EventDate
	for _, d := range p.Dates {
		if !added[d.ID] {
			dates = append(dates, d)
		}
	}
	return dates
}
