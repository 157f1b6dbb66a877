package reports

// span is a span of days, both inclusive.
type span struct{ from, to Day }

// maxDays is the number of days of the longest span.
const maxDays = 1100

func (s span) days() int { return int(s.to-s.from) + 1 }

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
		return s, span{first, first - 1}, span{s.to + 1, s.to}
	}
	return span{s.from, first - 1}, span{first, after - 1}, span{after, s.to}
}

// before returns the span before (invariant 9).
func (s span) before() span {
	if n := s.months(); n > 0 {
		return span{from: s.from.addMonths(-n), to: s.from - 1}
	}
	return span{from: s.from - Day(s.days()), to: s.from - 1}
}

// thisMonth is the default span: the month of a day.
func thisMonth(today Day) span {
	return span{from: today.month(), to: monthEnd(today)}
}

// monthEnd returns the last day of the month of a day.
func monthEnd(d Day) Day { return d.month().addMonths(1) - 1 }
