package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"reservation.dev/platform/check"
	"reservation.dev/services/booking/isotime"
)

// rule is a valid RFC 5545 RRULE.
type rule struct {
	frequency rrule.Frequency
	interval  int
	count     int // 0: until ends the rule
	until     until
	weekStart rrule.Weekday

	setPositions, months, monthDays, yearDays, weeks, hours, minutes, seconds []int
	weekdays                                                                  []rrule.Weekday

	// exhausted is set when wallTimes gave up.
	exhausted bool
}

// until is the inclusive end of a rule: a wall time or an instant.
type until struct {
	form isotime.Form
	at   time.Time // zero: count ends the rule
}

// latest returns a wall time that is not before any occurrence of the rule; zero if the rule has no
// until.
func (u until) latest(loc *time.Location) time.Time {
	if u.at.IsZero() || u.form != isotime.Instant {
		return u.at
	}
	_, offset := u.at.In(loc).Zone()
	// A clock change in between moves the wall time by less than a day.
	return u.at.Add(time.Duration(offset)*time.Second).AddDate(0, 0, 1)
}

// isBefore reports whether the end is before an occurrence.
func (u until) isBefore(wall, at time.Time) bool {
	switch {
	case u.at.IsZero():
		return false
	case u.form == isotime.Instant:
		return u.at.Before(at)
	}
	return u.at.Before(wall)
}

var frequencies = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}

// MaxDates is the maximum number of dates of a recurrence.
const MaxDates = 1000

const (
	// maxOccurrences limits the occurrences of a rule, including exceptions.
	maxOccurrences = 10 * MaxDates
	// maxYears limits the time from the start of a rule to its last occurrence.
	maxYears = 100
)

// maxInterval prevents overflows in the arithmetic of intervals.
const maxInterval = 1_000_000

// problem is a fault of a rule; nil if there is none. Its message says what to change.
type problem struct{ rule, message string }

// parseRule parses a rule in upper case.
func parseRule(text string) (*rule, *problem) {
	r := &rule{frequency: -1, interval: 1, weekStart: rrule.MO}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ";"), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" || value == "" {
			return nil, &problem{"format", fmt.Sprintf("has a part %q that is not NAME=VALUE", part)}
		}
		if seen[name] {
			return nil, &problem{"unique", "has " + name + " twice"}
		}
		seen[name] = true
		if wrong := r.set(name, value); wrong != nil {
			return nil, wrong
		}
	}
	return r, r.check(seen)
}

func (r *rule) set(name, value string) (wrong *problem) {
	switch name {
	case "FREQ":
		n := slices.Index(frequencies, value)
		if n < 0 {
			return &problem{"enum", "has an unknown FREQ: use DAILY, WEEKLY, MONTHLY, YEARLY, HOURLY, MINUTELY or SECONDLY"}
		}
		r.frequency = rrule.Frequency(n)
	case "INTERVAL":
		r.interval, wrong = number(name, value, 1, maxInterval)
	case "COUNT":
		r.count, wrong = number(name, value, 1, MaxDates)
	case "UNTIL":
		r.until, wrong = parseUntil(value)
	case "WKST":
		r.weekStart, wrong = weekday(value)
	case "BYDAY":
		for text := range strings.SplitSeq(value, ",") {
			var d rrule.Weekday
			if d, wrong = nthWeekday(text); wrong != nil {
				return wrong
			}
			if !slices.Contains(r.weekdays, d) {
				r.weekdays = append(r.weekdays, d)
			}
		}
	case "BYSETPOS":
		r.setPositions, wrong = numbers(name, value, 366, signed)
	case "BYMONTH":
		r.months, wrong = numbers(name, value, 12, positive)
	case "BYMONTHDAY":
		r.monthDays, wrong = numbers(name, value, 31, signed)
	case "BYYEARDAY":
		r.yearDays, wrong = numbers(name, value, 366, signed)
	case "BYWEEKNO":
		r.weeks, wrong = numbers(name, value, 53, signed)
	case "BYHOUR":
		r.hours, wrong = numbers(name, value, 23, fromZero)
	case "BYMINUTE":
		r.minutes, wrong = numbers(name, value, 59, fromZero)
	case "BYSECOND":
		r.seconds, wrong = numbers(name, value, 59, fromZero)
	default:
		return &problem{"enum", fmt.Sprintf("has a part %q that is not in RFC 5545", name)}
	}
	return wrong
}

// check reports combinations of parts that RFC 5545 does not allow.
func (r *rule) check(seen map[string]bool) *problem {
	limits := func(part string, fits bool, why string) *problem {
		if seen[part] && !fits {
			return &problem{"format", "must not have " + part + " " + why}
		}
		return nil
	}
	nth := slices.ContainsFunc(r.weekdays, numbered)
	withinMonth := r.frequency == rrule.MONTHLY || seen["BYMONTH"]
	times := max(len(r.hours), 1) * max(len(r.minutes), 1) * max(len(r.seconds), 1)
	switch {
	case r.frequency < 0:
		return &problem{"required", "must have a FREQ, such as FREQ=WEEKLY"}
	case seen["COUNT"] == seen["UNTIL"]:
		return &problem{"required", "must end, either with a COUNT or with an UNTIL"}
	case nth && (r.frequency > rrule.MONTHLY || seen["BYWEEKNO"]):
		return &problem{"format", "must not number the days of BYDAY except with FREQ=MONTHLY, or with FREQ=YEARLY without BYWEEKNO"}
	case nth && withinMonth && slices.ContainsFunc(r.weekdays, func(d rrule.Weekday) bool { return d.N() > 5 || d.N() < -5 }):
		return &problem{"range", "must number the days of BYDAY from 1 to 5 or from -1 to -5 within a month"}
	case r.frequency < rrule.HOURLY && times > MaxDates:
		return &problem{"max_items", fmt.Sprintf("must have at most %d times per day", MaxDates)}
	}
	for _, wrong := range []*problem{
		limits("BYWEEKNO", r.frequency == rrule.YEARLY, "except with FREQ=YEARLY"),
		limits("BYYEARDAY", r.frequency == rrule.YEARLY || r.frequency >= rrule.HOURLY, "with FREQ=DAILY, WEEKLY or MONTHLY"),
		limits("BYMONTHDAY", r.frequency != rrule.WEEKLY, "with FREQ=WEEKLY"),
		limits("BYSETPOS", r.choosing(), "without another part that begins with BY"),
	} {
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

// choosing reports whether the rule has a part from which BYSETPOS can select.
func (r *rule) choosing() bool {
	return len(r.months)+len(r.monthDays)+len(r.yearDays)+len(r.weeks)+
		len(r.weekdays)+len(r.hours)+len(r.minutes)+len(r.seconds) > 0
}

func number(name, value string, low, high int) (int, *problem) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, &problem{"range", fmt.Sprintf("must have %s from %d to %d", name, low, high)}
	}
	return n, nil
}

// numbering is the range of the numbers in a part.
type numbering uint8

const (
	positive numbering = iota // 1 or more
	signed                    // 1 or more, or -1 or less to count from the end
	fromZero                  // 0 or more
)

// numbers parses a list of numbers. It returns them sorted and without duplicates.
func numbers(name, value string, high int, kind numbering) ([]int, *problem) {
	var list []int
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return nil, &problem{"format", "must have numbers in " + name + ", separated by commas"}
		case kind == fromZero && (n < 0 || n > high):
			return nil, &problem{"range", fmt.Sprintf("must have %s from 0 to %d", name, high)}
		case kind == positive && (n < 1 || n > high):
			return nil, &problem{"range", fmt.Sprintf("must have %s from 1 to %d", name, high)}
		case kind == signed && (n == 0 || n < -high || n > high):
			return nil, &problem{"range", fmt.Sprintf("must have %s from 1 to %d or from -1 to -%d", name, high, high)}
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func weekday(text string) (rrule.Weekday, *problem) {
	for i, name := range []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"} {
		if name == text {
			return days()[i], nil
		}
	}
	return rrule.Weekday{}, &problem{"enum", fmt.Sprintf("has an unknown day %q: use MO, TU, WE, TH, FR, SA or SU", text)}
}

// nthWeekday parses MO, 2MO, +2MO or -1MO.
func nthWeekday(text string) (rrule.Weekday, *problem) {
	d, wrong := weekday(text[max(len(text)-2, 0):])
	if wrong != nil || len(text) <= 2 {
		return d, wrong
	}
	n, err := strconv.Atoi(text[:len(text)-2])
	if err != nil || n == 0 || n < -53 || n > 53 {
		return d, &problem{"range", "must number the days of BYDAY from 1 to 53 or from -1 to -53"}
	}
	return d.Nth(n), nil
}

// parseUntil parses a day, which means the whole day, a local time, or an instant.
func parseUntil(text string) (until, *problem) {
	for layout, f := range map[string]isotime.Form{"20060102": isotime.Day, "20060102T150405": isotime.Local, "20060102T150405Z": isotime.Instant} {
		if len(text) != len(layout) {
			continue
		}
		if at, err := time.Parse(layout, text); err == nil && check.Storable(at) {
			if f == isotime.Day {
				at = at.AddDate(0, 0, 1).Add(-time.Second)
			}
			return until{form: f, at: at}, nil
		}
	}
	return until{}, &problem{"format", "must have an UNTIL such as 20261231, 20261231T093000 or 20261231T093000Z"}
}
