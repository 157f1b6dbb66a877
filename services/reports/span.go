package reports

// span is a span of days, both inclusive.
type span struct {
	from, to Day
	// weekStart is that of the request. 0 means Monday.
	weekStart int
}

// maxDays is the number of days of the longest span.
const maxDays = 1100

func (s span) days() int { return int(s.to-s.from) + 1 }

// firstWeekday returns the ISO weekday on which weeks begin.
func (s span) firstWeekday() int { return max(s.weekStart, 1) }

// dayOfWeek returns the place of a day in its week, from 0.
func (s span) dayOfWeek(d Day) int { return (d.weekday() - s.firstWeekday() + 7) % 7 }

func (s span) contains(d Day) bool { return s.from <= d && d <= s.to }

// months returns the number of calendar months of the span; 0 if it does not consist of whole ones.
func (s span) months() int {
	if s.from != s.from.month() || s.to+1 != (s.to+1).month() {
		return 0
	}
	from, end := s.from.time(), (s.to + 1).time()
	return (end.Year()-from.Year())*12 + int(end.Month()) - int(from.Month())
}

// wholeMonths returns the whole calendar months of the span, and the days before and after them. Any of the three can be
// empty: it begins after its end.
func (s span) wholeMonths() (start, months, end span) {
	first := s.from.month()
	if first < s.from {
		first = first.addMonths(1)
	}
	after := (s.to + 1).month()
	if after <= first {
		return s, span{from: first, to: first - 1}, span{from: s.to + 1, to: s.to}
	}
	return span{from: s.from, to: first - 1}, span{from: first, to: after - 1}, span{from: after, to: s.to}
}

// before returns the span before (invariant 9).
func (s span) before() span {
	if n := s.months(); n > 0 {
		return span{s.from.addMonths(-n), s.from - 1, s.weekStart}
	}
	return span{s.from - Day(s.days()), s.from - 1, s.weekStart}
}

// thisMonth is the default span: the month of a day.
func thisMonth(today Day) span {
	return span{from: today.month(), to: monthEnd(today)}
}

// monthEnd returns the last day of the month of a day.
func monthEnd(d Day) Day { return d.month().addMonths(1) - 1 }
