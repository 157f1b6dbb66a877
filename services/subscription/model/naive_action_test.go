package model_test

// The actions of the second implementation. Each returns the reason of its refusal, or "".

func (n *naive) today(now int) int { return n.t.slots[now].day }

func (n *naive) pause(now, first, to int) string {
	switch {
	case n.ended != "":
		return "SUBSCRIPTION_ENDED"
	case n.paused:
		return "ALREADY_PAUSED"
	case n.pastDue >= 0:
		return "PAYMENT_DUE"
	case n.lastPeriod > 0 && first > n.lastDay:
		return "SUBSCRIPTION_ENDING"
	}
	n.pauseFrom, n.pauseTo = first, to
	if first == n.today(now) {
		n.beginPause()
	}
	return ""
}

func (n *naive) unpause(now, on int) string {
	switch {
	case n.ended != "":
		return "SUBSCRIPTION_ENDED"
	case n.pauseFrom < 0:
		return "NOT_PAUSED"
	case n.paused && on == n.today(now):
		n.resume()
	case !n.paused && on <= n.pauseFrom:
		n.pauseFrom, n.pauseTo = -1, -1
	default:
		n.pauseTo = on
	}
	n.catchUp(now)
	return ""
}

// catchUp begins the period that contains today, if the last one is over.
func (n *naive) catchUp(now int) {
	if n.canRenew() && n.last().last < n.today(now) {
		n.renew(n.today(now), now)
	}
}

// unused counts the days left and returns the share of what was paid.
func (n *naive) unused(today int) int64 {
	p := n.last()
	left := 0
	for day := today; day <= p.last; day++ {
		left++
	}
	left = min(left, p.length)
	if left == 0 {
		return 0
	}
	value := (p.applied + p.paid) * int64(left) / int64(p.length)
	if n.plan.bookings == "credits" {
		value = min(value, (p.applied+p.paid)*int64(min(n.left, n.plan.credits))/int64(n.plan.credits))
	}
	return value
}

func (n *naive) changePlan(now int, plan naivePlan, atOnce, pays bool) string {
	switch {
	case n.ended != "":
		return "SUBSCRIPTION_ENDED"
	case n.paused:
		return "SUBSCRIPTION_PAUSED"
	case n.lastPeriod > 0:
		return "SUBSCRIPTION_ENDING"
	case plan.archived:
		return "PLAN_NOT_ACTIVE"
	case plan.currency != n.plan.currency:
		return "CURRENCY_MISMATCH"
	case atOnce && plan.id == n.plan.id:
		return "SAME_PLAN"
	case atOnce && n.due() > 0:
		return "PAYMENT_DUE"
	case !atOnce:
		n.next = plan.id
		return ""
	}
	today, p := n.today(now), n.last()
	p.unused = n.unused(today)
	n.credit += p.unused
	stay := plan.rollover
	if p.unused > 0 && n.plan.bookings == "credits" {
		stay = min(stay, max(n.left-n.plan.credits, 0))
	}
	p.last, p.cut = today-1, true
	n.plan, n.next, n.termFrom = plan, -1, len(n.periods)+1
	n.anchor, n.dom = today, n.t.dom[today]
	n.begin(&naivePeriod{first: today, last: n.boundaryAfter(today, today, n.dom, plan) - 1}, now, pays)
	n.last().rollover = stay
	n.grant()
	return ""
}

func (n *naive) keepPlan() string {
	if n.next < 0 {
		return "NO_PLAN_CHANGE"
	}
	n.next = -1
	return ""
}

// termEnd returns the last period of the minimum term if it still binds, or 0.
func (n *naive) termEnd(today int) int {
	end := n.termFrom + n.plan.minimum - 1
	if n.plan.minimum == 0 || n.last().trial || len(n.periods) > end || !n.paused && n.lastDayOf(end) < today {
		return 0
	}
	return end
}

func (n *naive) cancel(now int, atOnce, prorate, waive bool) string {
	today := n.today(now)
	end := n.termEnd(today)
	if waive {
		end = 0
	}
	switch {
	case n.ended != "":
		return "SUBSCRIPTION_ENDED"
	case !atOnce && n.lastPeriod > 0:
		return "SUBSCRIPTION_ENDING"
	case atOnce && end > 0:
		return "MINIMUM_TERM"
	}
	n.next = -1
	if !atOnce {
		n.lastPeriod = max(len(n.periods), end)
		if n.lastDay = n.lastDayOf(n.lastPeriod); n.lastDay < today && !n.paused {
			n.lastPeriod, n.lastDay = len(n.periods), today
		}
		return ""
	}
	if prorate {
		if n.paused {
			n.resume()
		}
		n.last().unused = n.unused(today)
		n.credit += n.last().unused
	}
	n.end("cancelled", today)
	return ""
}

func (n *naive) keep(now int) string {
	switch {
	case n.ended != "":
		return "SUBSCRIPTION_ENDED"
	case n.lastPeriod == 0:
		return "NOT_ENDING"
	}
	n.lastPeriod, n.lastDay = 0, -1
	n.catchUp(now)
	return ""
}

func (n *naive) oldestDue() *naivePeriod {
	for _, p := range n.periods {
		if p.due > 0 {
			return p
		}
	}
	return nil
}

// settlePayment pays or waives a period; 0 is the oldest with an amount due.
func (n *naive) settlePayment(now, number int, status string) string {
	p := n.oldestDue()
	if number > 0 {
		p = n.periods[number-1]
	}
	if p == nil || p.due == 0 && (p.status != "cancelled" || status != "paid") {
		return "NO_PAYMENT_DUE"
	}
	if p.due, p.status = 0, status; status == "paid" {
		p.paid = p.price - p.applied
	}
	if n.due() == 0 {
		n.pastDue, n.suspended = -1, false
	}
	n.catchUp(now)
	return ""
}

func (n *naive) fail(now int) string {
	p := n.oldestDue()
	if p == nil {
		return "NO_PAYMENT_DUE"
	}
	p.status = "failed"
	if n.pastDue < 0 {
		n.becomePastDue(p, now)
	}
	return ""
}

func (n *naive) repay() string {
	if n.refund == 0 {
		return "NO_REFUND_DUE"
	}
	n.repaid, n.refund = n.repaid+n.refund, 0
	return ""
}
