// Package recurrence turns a recurrence rule of RFC 5545 into the instants at which an
// event takes place. It bounds the work that a rule can ask for.
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

// Recurrence is a rule by which dates are made, in wall time. Its texts are as the
// caller wrote them until Dates has put them into their normal form.
type Recurrence struct {
	Rule       string   // RRULE of RFC 5545 without its name
	Start      string   // 2026-03-29T09:30:00
	Exceptions []string // 2026-04-05T09:30:00, or 2026-04-05 for all of a day
}

// Dates checks r, puts its texts into their normal form, and returns the instants at
// which it takes place in the zone of an IANA name, by time. It returns none if a check
// failed or the zone is unknown; an unknown zone is for the caller to report.
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

// Matches reports whether another recurrence equals r, in the forms in which a caller
// may have read it. No recurrence matches nil.
func (r *Recurrence) Matches(other *Recurrence) bool {
	return r != nil && normalRule(other.Rule) == r.Rule && slices.Equal(other.Exceptions, r.Exceptions) &&
		(other.Start == "" || other.Start == r.Start)
}

// normalRule returns the text of a rule in the form in which it is stored.
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
