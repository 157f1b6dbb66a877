package model

import (
	"reservation.dev/platform/zone"
)

// freeOption is the name of the option of an event that is created without options, so that every
// booking has a pricing option.
const freeOption = "Free"

// NewEvent is an event to create, with its dates as the request gives them.
type NewEvent struct {
	Event
	Requested []DateChange
}

// Check reports every fault of a new event and creates its dates. e already has the defaults for
// omitted fields. An event without a pricing option gets a free one in the given currency.
func (e *NewEvent) Check(currency string) error {
	var faults fields
	faults.checkEvent(&e.Event)
	if e.Status != Draft && e.Status != Published {
		faults.Add("status", "enum", "must be draft or published")
	}
	if e.Recurrence != nil {
		e.recur(&faults)
	} else if faults.Count("dates", len(e.Requested), 1, maxDates) {
		before := faults.Len()
		for i := range e.Requested {
			e.Requested[i].check(&faults)
		}
		if loc, err := zone.Load(e.Timezone); err == nil && faults.Len() == before {
			e.Dates = faults.added(e.Requested, loc)
		}
	}
	faults.options(e.Options, e.Type)
	if len(e.Options) == 0 {
		e.Options = []PricingOption{{Name: freeOption, Currency: currency}}
	}
	return faults.Err()
}

// recur generates the dates of the rule, with the duration and capacity of the only listed date.
func (e *NewEvent) recur(faults *fields) {
	if !faults.Count("dates", len(e.Requested), 1, 1) {
		return
	}
	pattern := e.Requested[0]
	before := faults.Len()
	pattern.checkSize(faults)
	loc, err := zone.Load(e.Timezone)
	if err != nil || faults.Len() > before {
		e.Recurrence.Dates(e.Timezone, &faults.Fields) // also reports the faults of the rule
		return
	}
	for _, d := range faults.occurrences(e.Recurrence, pattern, loc, e.Timezone) {
		e.Dates = append(e.Dates, d.date(d.start(loc), loc, faults))
	}
}
