// Package recurrence converts an RFC 5545 recurrence rule into the instants at which an event takes
// place. It bounds the work that a rule can cause.
package recurrence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

const (
	maxRule       = 500 // characters
	maxExceptions = 1000
)

// Recurrence is a rule that generates dates, in wall time. Its texts are as the caller wrote them
// until Dates has normalized them.
type Recurrence struct {
	Rule       string   // RFC 5545 RRULE without the "RRULE:" prefix
	Start      string   // 2026-03-29T09:30:00
	Exceptions []string // 2026-04-05T09:30:00, or 2026-04-05 for the whole day
}

// Dates checks r, normalizes its texts, and returns its instants in the zone with an IANA name, in
// order of time. If a check failed, it adds a fault and returns nil. If the zone is unknown, it
// returns nil without a fault; the caller reports that.
func (r *Recurrence) Dates(timezone string, faults *check.Fields) []time.Time {
	before := faults.Len()
	r.Rule = normalRule(r.Rule)
	faults.Line("recurrence.rule", r.Rule, 1, maxRule) // normalRule has trimmed it
	start := r.start(faults)
	except := r.exceptions(faults)
	loc, err := zone.Load(timezone)
	if err != nil || faults.Len() > before {
		return nil
	}
	r.Start = start.Format(isotime.LocalLayout)
	rule, wrong := parseRule(r.Rule)
	var dates []time.Time
	if wrong == nil {
		dates, wrong = rule.dates(start, loc, except)
	}
	if wrong != nil {
		faults.Add("recurrence.rule", wrong.rule, wrong.message)
	}
	return dates
}

// Matches reports whether other equals r in a form in which a caller may have read it. No
// recurrence matches nil.
func (r *Recurrence) Matches(other *Recurrence) bool {
	return r != nil && normalRule(other.Rule) == r.Rule && slices.Equal(other.Exceptions, r.Exceptions) &&
		(other.Start == "" || other.Start == r.Start)
}

// normalRule returns the stored form of a rule.
func normalRule(text string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "RRULE:")
}

// start reads the local time at which the rule starts.
func (r *Recurrence) start(faults *check.Fields) time.Time {
	start, ok := isotime.ParseLocal(r.Start)
	switch {
	case r.Start == "":
		faults.Add("recurrence.local_start", "required", "is required")
	case !ok:
		faults.Add("recurrence.local_start", "format", "must be a local time such as 2026-03-29T09:30:00")
	case !check.Storable(start):
		faults.Add("recurrence.local_start", "range", "must be in the years 1 to 9999")
	}
	return start
}

func (r *Recurrence) exceptions(faults *check.Fields) exceptions {
	if len(r.Exceptions) > maxExceptions {
		faults.Add("recurrence.exceptions", "max_items", fmt.Sprintf("must have at most %d", maxExceptions))
		return nil
	}
	all := exceptions{}
	for i, text := range r.Exceptions {
		at, err := isotime.Parse(strings.TrimSpace(text))
		if err != nil || at.Form == isotime.Instant || at.Nanosecond() != 0 {
			faults.Add(fmt.Sprintf("recurrence.exceptions[%d]", i), "format",
				"must be a day such as 2026-04-05 or a local time such as 2026-04-05T09:30:00")
			continue
		}
		layout := isotime.LocalLayout
		if at.Form == isotime.Day {
			layout = isotime.DayLayout
		}
		r.Exceptions[i] = at.Format(layout)
		all[r.Exceptions[i]] = true
	}
	return all
}
