package pass

import (
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons why a request about the pass of a subscription is refused.
const (
	ReasonPassOfSubscription = "PASS_OF_SUBSCRIPTION"
	ReasonGrantMissing       = "GRANT_MISSING"
	ReasonCustomerDeleted    = "CUSTOMER_DELETED"
)

// passOfSubscription refuses to change what a subscription or its plan decides.
func passOfSubscription() error {
	return fault.Refuse(ReasonPassOfSubscription, "the pass belongs to a subscription: change the subscription or its plan")
}

// grantMissing refuses a grant that does not follow the last one.
func grantMissing(last int32) error {
	return fault.Refuse(ReasonGrantMissing, "an earlier period is missing").With("last_period", fmt.Sprint(last))
}

func customerDeleted() error {
	return fault.Refuse(ReasonCustomerDeleted, "the customer is deleted")
}

// ofPlan reports whether a plan owns the pass type.
func (t PassType) ofPlan() bool { return t.PlanVersion != nil }

// ofSubscription reports whether the pass belongs to a subscription.
func (p CustomerPass) ofSubscription() bool { return p.SubscriptionVersion > 0 }

// passSync is the state of a subscription and the credits of its periods.
type passSync struct {
	pass     id.CustomerPass
	customer id.Customer
	passType *PassType // nil: the pass keeps its type
	state    subscriptionState
	grants   []periodGrant
	quiet    bool
}

// subscriptionState is what a subscription decides about its pass.
type subscriptionState struct {
	version        int64
	id             string
	status         string // active, paused, cancelled
	start          time.Time
	last           time.Time  // neverDay: the subscription renews
	periodLast     *time.Time // a day; nil: unknown
	unusable, from *time.Time // the pass cannot pay from unusable until from; nil: no bound
}

// periodGrant is a request to grant the credits of a period.
type periodGrant struct {
	period, credits, maxRollover int32
	unlimited                    bool
	firstDay                     time.Time
}

// grant is what the grant of a period did.
type grant struct {
	Period      int32     `db:"period"`
	Granted     int32     `db:"granted"`
	CarriedOver int32     `db:"carried_over"`
	Expired     int32     `db:"expired"`
	Unlimited   bool      `db:"unlimited_uses"`
	FirstDay    time.Time `db:"first_day"`
}

// sync grants the periods that the pass does not have yet and applies the state if it is newer. It
// returns the grants that it made, and adds their ledger entries to e. A pass without periods is new.
func (p *CustomerPass) sync(in passSync, at moment, e *entries) (made []grant, err error) {
	last := p.LastPeriod
	for _, g := range in.grants {
		switch {
		case g.period <= p.LastPeriod:
		case g.period > p.LastPeriod+1:
			return nil, grantMissing(last)
		default:
			made = append(made, p.grant(g, e))
		}
	}
	if p.LastPeriod == 0 {
		return nil, grantMissing(0)
	}
	if in.state.version > p.SubscriptionVersion {
		p.applyState(in.state, at)
		if in.passType != nil {
			p.PassTypeID, p.Title = in.passType.ID, in.passType.Title
		}
	}
	p.expireAtEnd(e)
	return made, nil
}

// grant begins a period: unused credits above the rollover expire, and the new credits are added.
// Nothing rolls over when unlimited uses begin or end.
func (p *CustomerPass) grant(g periodGrant, e *entries) grant {
	made := grant{Period: g.period, Granted: g.credits, Unlimited: g.unlimited, FirstDay: g.firstDay}
	switch {
	case p.UnlimitedUses && !g.unlimited:
		p.expire(entryExpired, g.period, p.RemainingUses, e)
	case !p.UnlimitedUses:
		if !g.unlimited {
			made.CarriedOver = min(p.RemainingUses, g.maxRollover, maxUses)
		}
		made.Expired = p.RemainingUses - made.CarriedOver
		p.expire(entryExpired, g.period, made.Expired, e)
	}
	added := g.credits
	if g.unlimited {
		added = unlimitedUses - p.RemainingUses
	}
	p.RemainingUses += added
	p.TotalUses, p.UnlimitedUses, p.LastPeriod = p.RemainingUses, g.unlimited, g.period
	switch {
	case g.period == 1: // every ledger begins with an entry
		e.addPeriod(p, entryAssigned, added, g.period)
	case added > 0:
		e.addPeriod(p, entryGranted, added, g.period)
	}
	return made
}

// expire removes unused credits, and adds an entry of a period that explains it.
func (p *CustomerPass) expire(kind string, period, credits int32, e *entries) {
	if credits > 0 {
		p.RemainingUses -= credits
		e.addPeriod(p, kind, -credits, period)
	}
}

// expireAtEnd removes the credits of a subscription's pass that is cancelled.
func (p *CustomerPass) expireAtEnd(e *entries) {
	if p.ofSubscription() && p.Status == statusCancelled && !p.UnlimitedUses {
		p.expire(entryExpiredAtEnd, p.LastPeriod, p.RemainingUses, e)
	}
}

// applyState sets what a subscription decides about its pass.
func (p *CustomerPass) applyState(state subscriptionState, at moment) {
	p.SubscriptionVersion, p.SubscriptionState = state.version, state.id
	p.StartDate, p.ExpiryDate, p.PeriodLastDay = state.start, state.last, state.periodLast
	if p.ExpiryDate.Before(p.StartDate) { // cancelled before it began
		p.ExpiryDate = p.StartDate
	}
	p.UnusableFrom, p.UsableAgainFrom = state.unusable, state.from
	switch {
	case state.status != statusPaused:
		p.PausedOn, p.PausedAt = nil, nil
	case p.Status != statusPaused:
		p.PausedOn, p.PausedAt = &at.today, &at.now
	}
	p.Status = state.status
}

// unusableAt reports whether the subscription does not let the pass pay at a time.
func (p CustomerPass) unusableAt(now time.Time) bool {
	return p.UnusableFrom != nil && !now.Before(*p.UnusableFrom) && (p.UsableAgainFrom == nil || now.Before(*p.UsableAgainFrom))
}

// usedBy returns the day by which passes that can pay are ordered.
func (p CustomerPass) usedBy() time.Time {
	if p.PeriodLastDay != nil {
		return *p.PeriodLastDay
	}
	return p.lastDay()
}

// cost returns the credits that a booking takes from the pass.
func (p CustomerPass) cost(credits int32) int32 {
	if p.ofSubscription() && p.UnlimitedUses {
		return 0
	}
	return credits
}
