package booking

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/zone"
)

// Recurrence is a rule by which dates are made, in wall time. Its texts are as
// the caller wrote them until check has put them into their normal form.
type Recurrence struct {
	Rule       string   // RRULE of RFC 5545 without its name
	Start      string   // 2026-03-29T09:30:00
	Exceptions []string // 2026-04-05T09:30:00, or 2026-04-05 for all of a day
}

const (
	maxRule       = 500
	maxExceptions = 1000
	// maxOccurrences bounds what exceptions take away from a rule.
	maxOccurrences = 10 * maxDates
	// maxYears is how far from its start a rule may reach.
	maxYears = 100

	wallLayout = "2006-01-02T15:04:05"
	dayLayout  = "2006-01-02"
)

// recurrence checks a rule and returns the instants at which it takes place in
// the zone, by time. Its texts are put into their normal form.
func (f *fields) recurrence(r *Recurrence, timezone string) []time.Time {
	r.Rule = normalRule(r.Rule)
	before := f.Len()
	f.text("recurrence.rule", r.Rule, 1, maxRule)
	start, ok := parseWall(r.Start)
	switch {
	case r.Start == "":
		f.add("recurrence.local_start", "required", "is required")
	case !ok:
		f.add("recurrence.local_start", "format", "must be a local time such as 2026-03-29T09:30:00")
	case !storable(start):
		f.add("recurrence.local_start", "range", "must be in the years 1 to 9999")
	}
	except := f.exceptions(r)
	loc, err := zone.Load(timezone)
	if err != nil || f.Len() > before {
		return nil // a wrong zone is reported where it stands
	}
	r.Start = start.Format(wallLayout)
	rule, wrong := parseRule(r.Rule)
	if wrong.rule == "" {
		var dates []time.Time
		if dates, wrong = rule.dates(start, loc, except); wrong.rule == "" {
			return dates
		}
	}
	f.add("recurrence.rule", wrong.rule, wrong.text)
	return nil
}

// exceptions are occurrences that are left out, by the beginning of their text.
type exceptions map[string]bool

func (e exceptions) has(wall time.Time) bool {
	return len(e) > 0 && (e[wall.Format(dayLayout)] || e[wall.Format(wallLayout)])
}

func (f *fields) exceptions(r *Recurrence) exceptions {
	if !f.count("recurrence.exceptions", len(r.Exceptions), 0, maxExceptions) {
		return nil
	}
	all := exceptions{}
	for i, text := range r.Exceptions {
		m, err := parseMoment(strings.TrimSpace(text))
		if err != nil || m.form == instant || m.wall.Nanosecond() != 0 {
			f.add(fmt.Sprintf("recurrence.exceptions[%d]", i), "format",
				"must be a day such as 2026-04-05 or a local time such as 2026-04-05T09:30:00")
			continue
		}
		layout := wallLayout
		if m.form == day {
			layout = dayLayout
		}
		r.Exceptions[i] = m.wall.Format(layout)
		all[r.Exceptions[i]] = true
	}
	return all
}

// parseWall reads a local time of whole seconds.
func parseWall(text string) (time.Time, bool) {
	m, err := parseMoment(strings.TrimSpace(text))
	return m.wall, err == nil && m.form == localTime && m.wall.Nanosecond() == 0
}

// wallIn returns the instant of a wall time: the first of two, and where the
// clock skips it, later by the gap.
func wallIn(wall time.Time, loc *time.Location) time.Time {
	first, _ := instants(wall, loc)
	return first.UTC()
}

// dates lists the instants of a rule that starts at a wall time, by time, without
// its exceptions. Two wall times that a clock change makes one instant are one
// date.
func (r *rule) dates(start time.Time, loc *time.Location, except exceptions) ([]time.Time, phrase) {
	end := start.AddDate(maxYears, 0, 0)
	if bound := r.until.latest(loc); !bound.IsZero() {
		if bound.After(end.AddDate(0, 0, 1)) {
			return nil, phrase{"range", fmt.Sprintf("must end within %d years of its start", maxYears)}
		}
		end = bound
	}
	var dates []time.Time
	seen := 0
	for wall := range r.walls(start, end) {
		at := wallIn(wall, loc)
		if r.until.before(wall, at) {
			break
		}
		if !except.has(wall) {
			dates = append(dates, at)
		}
		seen++
		if len(dates) > maxDates || seen > maxOccurrences {
			return nil, phrase{"max_items", fmt.Sprintf("must give at most %d dates", maxDates)}
		}
		if seen == r.count {
			break
		}
	}
	switch {
	case r.exhausted:
		return nil, phrase{"range", "takes too long to work out: name the times of a day with FREQ=DAILY, BYHOUR and BYMINUTE"}
	case r.count > 0 && seen < r.count:
		return nil, phrase{"range", fmt.Sprintf("does not reach its COUNT within %d years of its start", maxYears)}
	case len(dates) == 0:
		return nil, phrase{"required", "gives no date"}
	}
	slices.SortFunc(dates, time.Time.Compare)
	return slices.CompactFunc(dates, time.Time.Equal), phrase{}
}
