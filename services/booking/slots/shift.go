package slots

import (
	"time"

	"reservation.dev/platform/zone"
)

// shiftDays is the number of days before a time on which a shift can begin that contains it. A shift
// ends on the next day, and a clock change can skip a whole day.
const shiftDays = 3

// shifts returns the spans of a person's shifts that can contain a part of s, with the holidays and
// without them.
func (p *Staff) shifts(s span, holidays map[Date]bool) (worked, open []span) {
	replaced := map[Date]bool{}
	for _, shift := range p.Shifts {
		if shift.Weekday == 0 {
			replaced[shift.Date] = true
		}
	}
	for i := range p.Shifts {
		shift := &p.Shifts[i]
		for _, day := range shift.days(s, replaced) {
			if at := shift.on(day); at.from < at.until {
				worked = append(worked, at)
				open = append(open, shift.without(at, day, holidays)...)
			}
		}
	}
	return worked, open
}

// days returns the days on which the shift begins and can contain a part of s.
func (shift *Shift) days(s span, replaced map[Date]bool) []Date {
	if shift.Ends == 0 {
		return nil
	}
	first := DateOf(time.Unix(s.from, 0).In(shift.Loc)) - shiftDays
	last := DateOf(time.Unix(s.until, 0).In(shift.Loc))
	if shift.Weekday == 0 {
		if shift.Date < first || shift.Date > last {
			return nil
		}
		return []Date{shift.Date}
	}
	var days []Date
	for day := first.monday() + Date(shift.Weekday) - 1; day <= last; day += 7 {
		if !replaced[day] {
			days = append(days, day)
		}
	}
	return days
}

// on returns the instants of the shift that begins on a day.
func (shift *Shift) on(day Date) span {
	return span{
		from:  zone.Instant(day.wall(shift.Starts), shift.Loc).Unix(),
		until: zone.Instant(day.wall(shift.Ends), shift.Loc).Unix(),
	}
}

// without returns the parts of the shift that begins on a day and are not on a holiday.
func (shift *Shift) without(at span, day Date, holidays map[Date]bool) []span {
	parts := []span{at}
	for holiday := day; holiday <= day+shiftDays; holiday++ {
		if !holidays[holiday] {
			continue
		}
		last := &parts[len(parts)-1]
		closed := span{from: holiday.Start(shift.Loc).Unix(), until: (holiday + 1).Start(shift.Loc).Unix()}
		after := span{from: max(last.from, closed.until), until: last.until}
		last.until = min(last.until, closed.from)
		parts = append(parts, after)
	}
	var open []span
	for _, part := range parts {
		if part.from < part.until {
			open = append(open, part)
		}
	}
	return open
}
