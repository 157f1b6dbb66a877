package model_test

import (
	"time"
)

// This file is a second implementation of the rules, for simulation_test.go. It walks through every half
// hour of every day and counts days, and uses nothing of the package under test.

// tables are the days from 1 June 2025 on, by number, and the half hours of one zone.
type tables struct {
	year, month, dom, monthDays []int
	unix                        []int // days since 1970
	firstDay                    int   // the day of the first half hour
	slots                       []slot
	dayStart                    []int // of each day from firstDay on, the first half hour
	base                        time.Time
}

// slot is the wall time of a half hour.
type slot struct{ day, minute int }

const (
	never      = 1 << 40
	tableDays  = 5200
	slotDays   = 560
	firstSlots = 880 // 28 October 2027
)

func newTables(zone *time.Location) *tables {
	t := &tables{firstDay: firstSlots}
	y, m, d := 2025, 6, 1
	for range tableDays {
		t.year, t.month, t.dom = append(t.year, y), append(t.month, m), append(t.dom, d)
		t.monthDays, t.unix = append(t.monthDays, daysIn(y, m)), append(t.unix, 20_240+len(t.unix))
		if d++; d > daysIn(y, m) {
			d = 1
			if m++; m > 12 {
				y, m = y+1, 1
			}
		}
	}
	t.walk(zone)
	return t
}

// walk lists the half hours from the beginning of firstDay on.
func (t *tables) walk(zone *time.Location) {
	at := time.Date(t.year[t.firstDay], time.Month(t.month[t.firstDay]), t.dom[t.firstDay], 0, 0, 0, 0, time.UTC).Add(-24 * time.Hour)
	day := t.firstDay - 3
	shown := -1
	for len(t.slots) < slotDays*48 {
		local := at.In(zone)
		if local.Day() != shown {
			shown = local.Day()
			for t.dom[day] != shown || t.month[day] != int(local.Month()) {
				day++
			}
		}
		if day >= t.firstDay {
			if len(t.slots) == 0 {
				t.base = at
			}
			if day-t.firstDay == len(t.dayStart) {
				t.dayStart = append(t.dayStart, len(t.slots))
			}
			t.slots = append(t.slots, slot{day, local.Hour()*60 + local.Minute()})
		}
		at = at.Add(30 * time.Minute)
	}
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// start returns the first half hour of a day.
func (t *tables) start(day int) int {
	if i := day - t.firstDay; i < len(t.dayStart) {
		return t.dayStart[i]
	}
	return never
}

// later returns the half hour that shows the same time of day n days later. A time that does not exist moves
// by the gap.
func (t *tables) later(at, n int) int {
	if n == 0 || at == never {
		return at
	}
	minute, previous := t.slots[at].minute, -30
	from, to := t.start(t.slots[at].day+n), t.start(t.slots[at].day+n+1)
	if to == never {
		return never
	}
	for i := from; i < to; i++ {
		now := t.slots[i].minute
		if now == minute {
			return i
		}
		if gap := now - previous - 30; gap > 0 && minute > previous && minute < now {
			minute += gap
			if minute == now {
				return i
			}
		}
		previous = now
	}
	return never
}

func (t *tables) date(day int) time.Time {
	return time.Date(t.year[day], time.Month(t.month[day]), t.dom[day], 0, 0, 0, 0, time.UTC)
}

type naivePlan struct {
	id                    int
	price                 int64
	unit                  string
	count, trial, minimum int
	bookings              string
	credits, rollover     int
	currency              string
	archived              bool
}

type naiveSettings struct {
	pastDue, grace, end int // end 0: never
	reminders           []int
}

type naivePeriod struct {
	number, plan, first, last, length, paused int
	trial, cut                                bool
	price, applied, due, paid, unused         int64
	status                                    string
	from, waited                              int // the half hour from which dunning counts; days it waited
	sent                                      int
	settings                                  naiveSettings
	bookings                                  string
	credits, rollover                         int
}

// naive is one subscription.
type naive struct {
	t        *tables
	settings naiveSettings
	plans    []naivePlan
	plan     naivePlan
	next     int // the plan of a scheduled change; -1: none
	periods  []*naivePeriod
	anchor   int // a day
	dom      int
	termFrom int

	paused                 bool
	pauseFrom, pauseTo     int // days; -1: none
	pauseDays              int
	lastPeriod, lastDay    int // 0, -1: renews
	ended                  string
	pastDue                int // half hour; -1: no
	pastDueWaited          int
	suspendAt, unpaidEnd   int
	suspended              bool
	credit, refund, repaid int64
	left                   int // credits of the pass
	scanned                int
}

func (n *naive) last() *naivePeriod { return n.periods[len(n.periods)-1] }

func (n *naive) due() (sum int64) {
	for _, p := range n.periods {
		sum += p.due
	}
	return sum
}

// isBoundary reports whether a period can begin on a day, by counting from the anchor.
func (n *naive) isBoundary(day, anchor, dom int, plan naivePlan) bool {
	if day <= anchor {
		return false
	}
	if plan.unit == "week" {
		return (day-anchor)%(7*plan.count) == 0
	}
	months := (n.t.year[day]-n.t.year[anchor])*12 + n.t.month[day] - n.t.month[anchor]
	every := plan.count
	if plan.unit == "year" {
		every *= 12
	}
	return months > 0 && months%every == 0 && (n.t.dom[day] == dom || n.t.dom[day] < dom && n.t.dom[day] == n.t.monthDays[day])
}

// boundaryAfter walks to the next day on which a period can begin.
func (n *naive) boundaryAfter(day, anchor, dom int, plan naivePlan) int {
	for day++; !n.isBoundary(day, anchor, dom, plan); day++ {
	}
	return day
}

// anchorOf returns the anchor of the period after the last one.
func (n *naive) anchorOf(plan naivePlan) (anchor, dom int) {
	p := n.last()
	old := n.planOf(p)
	first := p.last + 1
	switch {
	case p.trial || p.cut || p.paused > 0:
		return first, n.t.dom[first]
	case old.unit == plan.unit && old.count == plan.count:
		return n.anchor, n.dom
	case old.unit != "week" && plan.unit != "week":
		return first, n.dom
	}
	return first, n.t.dom[first]
}

func (n *naive) planOf(p *naivePeriod) naivePlan { return n.plans[p.plan] }

// lastDayOf walks to the last day of a later period.
func (n *naive) lastDayOf(number int) int {
	day := n.last().last
	anchor, dom := n.anchorOf(n.plan)
	for i := n.last().number; i < number; i++ {
		day = n.boundaryAfter(day+1, anchor, dom, n.plan) - 1
	}
	return day
}

// begin begins a period.
func (n *naive) begin(p *naivePeriod, now int, paid bool) {
	p.number, p.plan = len(n.periods)+1, n.plan.id
	p.length = p.last - p.first + 1
	p.status, p.settings, p.from = "not_due", n.settings, -1
	p.bookings, p.credits, p.rollover = n.plan.bookings, n.plan.credits, n.plan.rollover
	if !p.trial {
		p.price = n.plan.price
		p.applied = min(n.credit, p.price)
		n.credit -= p.applied
	}
	if rest := p.price - p.applied; rest > 0 {
		if paid {
			p.status, p.paid = "paid", rest
		} else {
			p.status, p.due, p.from = "due", rest, now
		}
	}
	n.periods = append(n.periods, p)
}

// grant applies the grant of the last period to the credits of the pass.
func (n *naive) grant() {
	p := n.last()
	if p.bookings != "credits" {
		n.left = 0
		return
	}
	n.left = min(n.left, p.rollover) + p.credits
}

// renew begins the period that contains a day.
func (n *naive) renew(today, now int) {
	plan := n.plan
	if n.next >= 0 {
		plan = n.plans[n.next]
	}
	anchor, dom := n.anchorOf(plan)
	first := n.last().last + 1
	end := n.boundaryAfter(first, anchor, dom, plan)
	for end <= today {
		first, end = end, n.boundaryAfter(end, anchor, dom, plan)
		if n.lastPeriod > 0 {
			n.lastPeriod--
		}
	}
	if n.next >= 0 {
		n.plan, n.next, n.termFrom = plan, -1, len(n.periods)+1
	}
	n.anchor, n.dom = anchor, dom
	n.begin(&naivePeriod{first: first, last: end - 1}, now, false)
	n.grant()
}

func (n *naive) canRenew() bool {
	return n.ended == "" && !n.paused && n.pastDue < 0 && (n.lastPeriod == 0 || len(n.periods) < n.lastPeriod)
}

// walkTo does everything that is due until a half hour, at which it happens.
func (n *naive) walkTo(now int) {
	for i := n.scanned; i <= now; i++ {
		if i > n.scanned && n.paused && n.t.slots[i].day != n.t.slots[i-1].day && i == n.t.start(n.t.slots[i].day) {
			n.dayOfPause(i)
		}
		n.scanned = i
		for n.ended == "" && n.fire(i, now) {
		}
	}
}

// dayOfPause counts a day that passed in a pause, at its end.
func (n *naive) dayOfPause(i int) {
	n.pauseDays++
	n.pastDueWaited++
	for _, p := range n.periods {
		if p.from < i {
			p.waited++
		}
	}
}

// fire does the first thing that is due at a half hour.
func (n *naive) fire(i, now int) bool {
	day := n.t.slots[i].day
	if n.paused {
		if n.pauseTo >= 0 && i >= n.t.start(n.pauseTo) {
			n.resume()
			return true
		}
		return false
	}
	if n.lastPeriod > 0 && day > n.lastDay {
		n.end("cancelled", n.lastDay)
		return true
	}
	if n.pastDue >= 0 && i >= n.unpaidEnd {
		n.end("unpaid", n.t.slots[now].day)
		return true
	}
	if n.dun(i, now) {
		return true
	}
	switch {
	case n.pauseFrom >= 0 && day >= n.pauseFrom:
		n.beginPause()
	case n.canRenew() && day > n.last().last:
		n.renew(n.last().last+1, now)
	default:
		return false
	}
	return true
}

func (n *naive) dun(i, now int) bool {
	for _, p := range n.periods {
		if p.due > 0 && p.sent < len(p.settings.reminders) && i >= n.t.later(p.from, p.settings.reminders[p.sent]) {
			p.sent++
			return true
		}
	}
	for _, p := range n.periods {
		if p.due > 0 && n.pastDue < 0 && i >= n.t.later(p.from, p.settings.pastDue) {
			n.becomePastDue(p, now)
			return true
		}
	}
	if n.pastDue >= 0 && !n.suspended && i >= n.suspendAt {
		n.suspended = true
		return true
	}
	return false
}

func (n *naive) becomePastDue(p *naivePeriod, now int) {
	n.pastDue, n.pastDueWaited = now, 0
	n.suspendAt, n.unpaidEnd = n.t.later(now, p.settings.grace), never
	if p.settings.end > 0 {
		n.unpaidEnd = n.t.later(now, p.settings.end)
	}
	if !n.paused {
		n.pauseFrom, n.pauseTo = -1, -1
	}
}

func (n *naive) beginPause() {
	n.paused, n.pauseDays, n.pastDueWaited = true, 0, 0
	for _, p := range n.periods {
		p.waited = 0
	}
}

// resume moves everything by the days that passed in the pause.
func (n *naive) resume() {
	p := n.last()
	p.paused += n.pauseDays
	p.last += n.pauseDays
	if n.lastPeriod == p.number {
		n.lastDay += n.pauseDays
	} else if n.lastPeriod > 0 {
		n.lastDay = n.lastDayOf(n.lastPeriod)
	}
	for _, p := range n.periods {
		if p.due > 0 {
			p.from = n.t.later(p.from, p.waited)
		}
	}
	if n.pastDue >= 0 {
		n.suspendAt, n.unpaidEnd = n.t.later(n.suspendAt, n.pastDueWaited), n.t.later(n.unpaidEnd, n.pastDueWaited)
	}
	n.paused, n.pauseFrom, n.pauseTo, n.pauseDays = false, -1, -1, 0
}

func (n *naive) end(reason string, day int) {
	if n.paused {
		n.resume()
	}
	n.ended, n.lastDay, n.lastPeriod, n.next = reason, day, 0, -1
	n.pauseFrom, n.pauseTo, n.pastDue, n.suspended = -1, -1, -1, false
	if p := n.last(); p.last > day {
		p.last, p.cut = day, true
	}
	for _, p := range n.periods {
		if p.due > 0 {
			p.due, p.status = 0, "cancelled"
		}
	}
	n.refund, n.credit = n.refund+n.credit, 0
}

func (n *naive) status() string {
	switch {
	case n.ended != "":
		return "ended"
	case n.paused:
		return "paused"
	case n.pastDue >= 0:
		return "past_due"
	case n.lastPeriod > 0:
		return "ending"
	case n.last().trial:
		return "trialing"
	}
	return "active"
}
