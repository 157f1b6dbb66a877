package reports

import (
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// proto converts the span.
func (s span) proto() *reportsv1.Span {
	return &reportsv1.Span{From: s.from.String(), To: s.to.String()}
}

// readSpan reads the span of a request. start is the default of its first day, and end returns the default
// of its last day.
func readSpan(in *reportsv1.Span, start Day, end func(from Day) Day) (span, error) {
	s := span{from: start, weekStart: int(in.GetWeekStart())}
	var ok bool
	if in.GetFrom() != "" {
		if s.from, ok = parseDay(in.GetFrom()); !ok {
			return s, errDate("span.from")
		}
	}
	s.to = end(s.from)
	if in.GetTo() != "" {
		if s.to, ok = parseDay(in.GetTo()); !ok {
			return s, errDate("span.to")
		}
	}
	switch {
	case s.weekStart < 0 || s.weekStart > 7:
		return s, fault.InvalidParameter("span.week_start", "range", "must be 0 to 7")
	case s.to < s.from:
		return s, fault.InvalidParameter("span.to", "order", fmt.Sprintf("must not be before %s, the first day", s.from))
	case s.days() > maxDays:
		return s, fault.InvalidParameter("span.to", "range", fmt.Sprintf("must be at most %d days after the first day: %s", maxDays-1, s.from+maxDays-1))
	case s.before().from <= beforeAll || s.to >= afterAll-1:
		return s, fault.InvalidParameter("span.from", "range", "must be a day on which the service can compare it with an earlier span")
	}
	return s, nil
}

func errDate(field string) error {
	return fault.InvalidParameter(field, "date", `must be a day such as "`+time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)+`"`)
}

// period is a number of days that a report sums up in one row.
type period int

// The periods.
const (
	daily period = iota
	weekly
	monthly
)

// end returns the last day of the period of a day of a span.
func (p period) end(s span, d Day) Day {
	switch p {
	case weekly:
		return d - Day(s.dayOfWeek(d)) + 6
	case monthly:
		return monthEnd(d)
	}
	return d
}

// split returns the periods of a span, ascending and without gaps. The first and the last one can be shorter.
func (p period) split(s span) []span {
	var all []span
	for from := s.from; from <= s.to; {
		to := min(p.end(s, from), s.to)
		all = append(all, span{from: from, to: to})
		from = to + 1
	}
	return all
}

// index returns the place of a day in the periods of a span.
func (p period) index(s span, d Day) int {
	switch p {
	case weekly:
		return int(p.end(s, d)-p.end(s, s.from)) / 7
	case monthly:
		from, at := s.from.time(), d.time()
		return (at.Year()-from.Year())*12 + int(at.Month()) - int(from.Month())
	}
	return int(d - s.from)
}
