package recurrence

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

// exceptions are occurrences to leave out, as normalized days or local times.
type exceptions map[string]bool

func (e exceptions) has(wall time.Time) bool {
	return len(e) > 0 && (e[wall.Format(isotime.DayLayout)] || e[wall.Format(isotime.LocalLayout)])
}

// dates returns the instants of a rule that starts at a wall time, without its exceptions, in order
// of time. Two wall times that a clock change makes the same instant are one date.
func (r *rule) dates(start time.Time, loc *time.Location, except exceptions) ([]time.Time, *problem) {
	end := start.AddDate(maxYears, 0, 0)
	if bound := r.until.latest(loc); !bound.IsZero() {
		if bound.After(end.AddDate(0, 0, 1)) {
			return nil, &problem{"range", fmt.Sprintf("must end within %d years of its start", maxYears)}
		}
		end = bound
	}
	var dates []time.Time
	seen := 0
	for wall := range r.wallTimes(start, end) {
		at := zone.Instant(wall, loc)
		if r.until.isBefore(wall, at) {
			break
		}
		if !except.has(wall) {
			dates = append(dates, at)
		}
		seen++
		if len(dates) > MaxDates || seen > maxOccurrences {
			return nil, &problem{"max_items", fmt.Sprintf("must generate at most %d dates", MaxDates)}
		}
		if seen == r.count {
			break
		}
	}
	switch {
	case r.exhausted:
		return nil, &problem{"range", "takes too long to expand: list the times of a day with FREQ=DAILY, BYHOUR and BYMINUTE"}
	case r.count > 0 && seen < r.count:
		return nil, &problem{"range", fmt.Sprintf("does not reach its COUNT within %d years of its start", maxYears)}
	case len(dates) == 0:
		return nil, &problem{"required", "generates no dates"}
	}
	slices.SortFunc(dates, time.Time.Compare)
	return slices.CompactFunc(dates, time.Time.Equal), nil
}
