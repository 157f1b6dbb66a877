package recurrence

import (
	"iter"
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// The work of every rule is bounded. The library searches for the next day until the
// year 9999 and cannot be stopped, so it is called with dates close to 9999. The calendar repeats
// every 400 years, including the days of the week. The library is called only for days: if a rule
// has hours, minutes or seconds as its frequency, the steps are counted here.

const (
	secondsOfDay = 24 * 60 * 60
	calendar     = 400  // years after which the calendar repeats
	farYear      = 9500 // the library is called with years from this one on
	// maxSteps limits the number of wall times that are checked here. That takes a few tens of
	// milliseconds, so the loops do not check the context of the request.
	maxSteps = 300_000
)

// wallTimes returns the wall times of a rule from start to end, both inclusive, in order of time.
func (r *rule) wallTimes(start, end time.Time) iter.Seq[time.Time] {
	var all iter.Seq[time.Time]
	switch {
	case r.frequency >= rrule.HOURLY:
		all = r.withinDays(start, end)
	case len(r.weeks) > 0:
		all = r.byWeeks(start, end)
	default:
		all = fromLibrary(r.option(start), end)
	}
	return func(yield func(time.Time) bool) {
		for wall := range all {
			if wall.After(end) {
				return
			}
			if !wall.Before(start) && !yield(wall) {
				return
			}
		}
	}
}

// option returns the library's options for a rule with a frequency of days, weeks, months or years.
func (r *rule) option(start time.Time) rrule.ROption {
	option := rrule.ROption{
		Freq: r.frequency, Interval: r.interval, Wkst: r.weekStart, Dtstart: start, Bysetpos: r.setPositions,
		Bymonth: r.months, Bymonthday: r.monthDays, Byyearday: r.yearDays, Byweekday: r.numberAllDays(),
		Byhour: orDefault(r.hours, start.Hour()), Byminute: orDefault(r.minutes, start.Minute()), Bysecond: orDefault(r.seconds, start.Second()),
	}
	if r.frequency == rrule.WEEKLY {
		// BYSETPOS counts from the beginning of the first week.
		option.Dtstart = start.AddDate(0, 0, -daysInto(start, r.weekStart))
		if len(r.weekdays) == 0 {
			option.Byweekday = []rrule.Weekday{weekdayOf(start)}
		}
	}
	return option
}

func weekdayOf(d time.Time) rrule.Weekday { return days()[(int(d.Weekday())+6)%7] }

func days() []rrule.Weekday {
	return []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA, rrule.SU}
}

// daysInto returns the number of days since the week began.
func daysInto(d time.Time, weekStart rrule.Weekday) int {
	today := weekdayOf(d)
	return (today.Day() - weekStart.Day() + 7) % 7
}

// byWeeks returns the wall times of a rule with BYWEEKNO. In some years the library treats the
// first days as days of a 53rd week. Therefore it is called for all weeks, and BYWEEKNO and
// BYSETPOS are applied here.
func (r *rule) byWeeks(start, end time.Time) iter.Seq[time.Time] {
	option := r.option(start)
	option.Bysetpos = nil
	option.Dtstart = start.AddDate(0, 0, 1-start.YearDay())
	if len(r.weekdays)+len(r.monthDays)+len(r.yearDays) == 0 {
		option.Byweekday = []rrule.Weekday{weekdayOf(start)}
	}
	return func(yield func(time.Time) bool) {
		var year []time.Time
		steps := 0
		for wall := range fromLibrary(option, end.AddDate(1, 0, 0)) {
			if len(year) > 0 && year[0].Year() != wall.Year() {
				for _, w := range r.choose(year) {
					if !yield(w) {
						return
					}
				}
				year = year[:0]
			}
			if steps++; steps > maxSteps {
				r.exhausted = true
				return
			}
			number, last := weekOf(wall, r.weekStart)
			if slices.Contains(r.weeks, number) || slices.Contains(r.weeks, number-last-1) {
				year = append(year, wall)
			}
		}
		for _, w := range r.choose(year) {
			if !yield(w) {
				return
			}
		}
	}
}

// weekOf returns the number of a day's week and of the last week of the year to which that week
// belongs, which is the year with four or more of its days.
func weekOf(d time.Time, weekStart rrule.Weekday) (number, last int) {
	fourth := d.AddDate(0, 0, 3-daysInto(d, weekStart))
	final := time.Date(fourth.Year(), 12, 28, 0, 0, 0, 0, time.UTC)
	final = final.AddDate(0, 0, 3-daysInto(final, weekStart))
	return (fourth.YearDay()-1)/7 + 1, (final.YearDay()-1)/7 + 1
}

// choose returns the wall times of a set that BYSETPOS selects.
func (r *rule) choose(set []time.Time) []time.Time {
	if len(r.setPositions) == 0 {
		return set
	}
	var chosen []time.Time
	for i, wall := range set {
		if slices.Contains(r.setPositions, i+1) || slices.Contains(r.setPositions, i-len(set)) {
			chosen = append(chosen, wall)
		}
	}
	return chosen
}

// numberAllDays returns BYDAY with either all days numbered or none. Given a mixture, the library
// would return only days that match both. A plain SU becomes the first, the second and so on.
func (r *rule) numberAllDays() []rrule.Weekday {
	if !slices.ContainsFunc(r.weekdays, numbered) {
		return r.weekdays
	}
	most := 53
	if r.frequency == rrule.MONTHLY || len(r.months) > 0 {
		most = 5
	}
	var all []rrule.Weekday
	for _, d := range r.weekdays {
		if numbered(d) {
			all = append(all, d)
			continue
		}
		for n := range most {
			all = append(all, d.Nth(n+1))
		}
	}
	return all
}

func numbered(d rrule.Weekday) bool { return d.N() != 0 }

func orDefault(list []int, otherwise int) []int {
	if len(list) == 0 {
		return []int{otherwise}
	}
	return list
}

// fromLibrary returns the wall times that the library finds, up to end.
func fromLibrary(option rrule.ROption, end time.Time) iter.Seq[time.Time] {
	year := option.Dtstart.Year()
	years := farYear + ((year-farYear)%calendar+calendar)%calendar - year
	option.Dtstart, option.Until = inYear(option.Dtstart, years), inYear(end, years)
	return func(yield func(time.Time) bool) {
		found, err := rrule.NewRRule(option)
		if err != nil {
			return // not reached: check has refused every rule that the library refuses
		}
		next := found.Iterator()
		for wall, ok := next(); ok; wall, ok = next() {
			if !yield(inYear(wall, -years)) {
				return
			}
		}
	}
}

// inYear moves a wall time by a multiple of 400 years.
func inYear(wall time.Time, years int) time.Time { return wall.AddDate(years, 0, 0) }

// withinDays returns the wall times of a rule with a frequency of hours, minutes or seconds, on the
// days that its other parts allow.
func (r *rule) withinDays(start, end time.Time) iter.Seq[time.Time] {
	unit := map[rrule.Frequency]int64{rrule.HOURLY: 3600, rrule.MINUTELY: 60, rrule.SECONDLY: 1}[r.frequency]
	step := int64(r.interval) * unit
	origin := start.Truncate(time.Duration(unit) * time.Second).Unix()
	days := fromLibrary(rrule.ROption{
		Freq: rrule.DAILY, Dtstart: start.Truncate(24 * time.Hour), Bymonth: r.months, Bymonthday: r.monthDays,
		Byyearday: r.yearDays, Byweekday: r.weekdays,
	}, end)
	// from returns the first step at or after a second.
	from := func(second int64) int64 {
		if second <= origin {
			return origin
		}
		return origin + (second-origin+step-1)/step*step
	}
	return func(yield func(time.Time) bool) {
		steps := 0
		for day := range days {
			midnight := day.Unix()
			for at := from(midnight); at < midnight+secondsOfDay; {
				if steps++; steps > maxSteps {
					r.exhausted = true
					return
				}
				if skip := r.skips(at); skip > 0 {
					at = from(at - (at%skip+skip)%skip + skip)
					continue
				}
				found := r.within(at, start)
				steps += max(len(r.minutes), 1) * max(len(r.seconds), 1)
				for _, wall := range found {
					if !yield(wall) {
						return
					}
				}
				at += step
			}
		}
	}
}

// skips returns the length in seconds of the hour, minute or second that contains a step and that
// the rule excludes; 0 if the rule excludes none of them.
func (r *rule) skips(at int64) int64 {
	clock := time.Unix(at, 0).UTC()
	leavesOut := func(list []int, n int) bool { return len(list) > 0 && !slices.Contains(list, n) }
	switch {
	case leavesOut(r.hours, clock.Hour()):
		return 3600
	case r.frequency >= rrule.MINUTELY && leavesOut(r.minutes, clock.Minute()):
		return 60
	case r.frequency == rrule.SECONDLY && leavesOut(r.seconds, clock.Second()):
		return 1
	}
	return 0
}

// within returns the occurrences of one step: the minutes and seconds of an hour, or the seconds of
// a minute.
func (r *rule) within(at int64, start time.Time) []time.Time {
	minutes, seconds := []int{0}, []int{0}
	if r.frequency == rrule.HOURLY {
		minutes = orDefault(r.minutes, start.Minute())
	}
	if r.frequency <= rrule.MINUTELY {
		seconds = orDefault(r.seconds, start.Second())
	}
	walls := make([]time.Time, 0, len(minutes)*len(seconds))
	for _, m := range minutes {
		for _, s := range seconds {
			walls = append(walls, time.Unix(at+int64(60*m+s), 0).UTC())
		}
	}
	return r.choose(walls)
}
