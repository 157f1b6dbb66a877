package model

import (
	"reservation.dev/platform/id"
)

// ImportRehearsal is what the batches of an import with dry_run would have stored so far. The plan of the next batch
// begins with it, so that each line is decided as in an import.
type ImportRehearsal struct {
	// Lines is the number of lines read.
	Lines      int
	references map[string]bool
	events     map[string]*ImportEvent
	// dates would be created, or would have new spaces.
	dates   map[id.EventDate]*ImportDate
	options map[id.PricingOption]*ImportOption
}

// NewImportRehearsal returns the state before the first batch.
func NewImportRehearsal() *ImportRehearsal {
	return &ImportRehearsal{
		references: map[string]bool{}, events: map[string]*ImportEvent{}, dates: map[id.EventDate]*ImportDate{},
		options: map[id.PricingOption]*ImportOption{},
	}
}

// Begin adds what earlier batches would have stored to a plan that has found the stored rows of its lines. A
// transaction of an earlier batch has no identifier.
func (r *ImportRehearsal) Begin(l *ImportPlan, lines []*ImportedTransaction) {
	for _, t := range lines {
		if _, stored := l.Existing[t.Reference]; !stored && r.references[t.Reference] {
			l.Existing[t.Reference] = id.Transaction{}
		}
	}
	for reference, e := range r.events {
		if l.Events[reference] == nil {
			l.AddEvent(e)
		}
	}
	for _, d := range r.dates {
		found := l.Dates[d.ID]
		switch {
		case found != nil:
			found.NewSpaces = d.NewSpaces
		case d.Origin == Used && l.starts[dateKey{d.EventID, d.StartsAt.Unix()}] == nil:
			l.AddDate(d)
		}
	}
	for _, o := range r.options {
		if l.names[optionKey{o.Event, o.Name}] == nil {
			l.AddOption(o)
		}
	}
}

// End takes over what a plan would store. It returns the identifiers that the plan has given to transactions.
func (r *ImportRehearsal) End(l *ImportPlan) map[id.Transaction]bool {
	given := map[id.Transaction]bool{{}: true}
	for i := range l.Recorded {
		r.references[l.Recorded[i].Reference] = true
		given[l.Recorded[i].ID] = true
	}
	for reference, e := range l.Events {
		if e.Origin == Used {
			r.events[reference] = e
		}
	}
	for _, d := range l.Dates {
		if d.Origin == Used || d.NewSpaces > 0 {
			r.dates[d.ID] = d
		}
	}
	for _, o := range l.Options {
		if o.Origin == Used {
			r.options[o.ID] = o
		}
	}
	return given
}
