package pass

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Reasons why a pass cannot pay.
const (
	ReasonPassNotActive       = "PASS_NOT_ACTIVE"
	ReasonPassExpired         = "PASS_EXPIRED"
	ReasonPassExhausted       = "PASS_EXHAUSTED"
	ReasonPassNotApplicable   = "PASS_NOT_APPLICABLE"
	ReasonRedemptionCancelled = "REDEMPTION_CANCELLED"
)

// maxCost is the maximum cost of one item: the maximum price in credits for 1000 spaces. No pass
// ever has that many uses.
const maxCost = 1000 * maxUses

// redemption is a request to pay a transaction with credits, all of them from one pass.
type redemption struct {
	id       id.Transaction
	customer id.Customer
	pass     id.CustomerPass // zero: any pass that can pay
	items    []item
}

// returnedCredits is a request to return the credits of a booking.
type returnedCredits struct {
	redemption id.Transaction
	booking    id.Booking
	credits    int32
	pass       string // receives the credits of a booking of an earlier system
}

// item is the cost of one booking.
type item struct {
	id        id.Booking
	eventType string
	credits   int32
	day       time.Time // of the event date, at midnight UTC; zero: today
}

// credits returns the sum of the credits of all items, limited to a number that no pass has.
func (r *redemption) credits() int32 {
	var sum int64
	for _, i := range r.items {
		sum += int64(i.credits)
	}
	return int32(min(sum, math.MaxInt32))
}

// moment is a time by the company's clock, and the day at that time in the company's zone.
type moment struct{ now, today time.Time }

// period returns the first and the last day on which the pass must be valid.
func (r *redemption) period(at moment) period {
	days := make([]time.Time, 0, len(r.items))
	for _, i := range r.items {
		if i.day.IsZero() {
			i.day = at.today
		}
		days = append(days, i.day)
	}
	return periodOf(days, at)
}

// period is the range of days that a pass must cover, and the time of the payment.
type period struct{ first, last, now time.Time }

// periodOf returns the range of days; if days is empty, today.
func periodOf(days []time.Time, at moment) period {
	if len(days) == 0 {
		return period{first: at.today, last: at.today, now: at.now}
	}
	return period{first: slices.MinFunc(days, time.Time.Compare), last: slices.MaxFunc(days, time.Time.Compare), now: at.now}
}

// parseDay parses the day of an event date; "" is the zero time.
func parseDay(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	day, err := time.Parse(time.DateOnly, s)
	return day, err == nil && day.Year() >= 1
}

// candidate is a pass that might pay, with the event types of its pass type.
type candidate struct {
	CustomerPass
	EligibleEventTypes []string `db:"eligible_event_types"`
}

// refuses returns why the pass cannot pay this many credits for the event types in a period; nil if
// it can.
func (c *candidate) refuses(eventTypes []string, credits int32, when period) *fault.Error {
	if refusal := c.refusesDays(eventTypes, when); refusal != nil {
		return refusal
	}
	return c.refusesCredits(credits, 1) // a pass without uses does not pay for a booking that costs no credits either
}

// refusesDays returns why the pass cannot pay for the event types in a period, regardless of its uses.
func (c *candidate) refusesDays(eventTypes []string, when period) *fault.Error {
	switch {
	case c.Status != statusActive:
		return fault.Refuse(ReasonPassNotActive, "the pass is "+c.Status).With("status", c.Status)
	case c.unusableAt(when.now):
		return fault.Refuse(ReasonPassNotActive, "the pass is "+statusPaused).With("status", statusPaused)
	case when.last.After(c.lastDay()):
		return fault.Refuse(ReasonPassExpired, "the pass expires before the day of the event date").
			With("expiry_date", c.ExpiryDate.Format(time.DateOnly)).With("day", when.last.Format(time.DateOnly))
	case when.first.Before(c.StartDate):
		return fault.Refuse(ReasonPassNotActive, "the pass starts after the day of the event date").
			With("start_date", c.StartDate.Format(time.DateOnly)).With("day", when.first.Format(time.DateOnly))
	}
	for _, kind := range eventTypes {
		if len(c.EligibleEventTypes) > 0 && !slices.Contains(c.EligibleEventTypes, kind) {
			return fault.Refuse(ReasonPassNotApplicable, "the pass cannot pay for events of this type").With("event_type", kind)
		}
	}
	return nil
}

// refusesCredits returns why the pass cannot pay this many credits; nil if it can. It needs at least
// minimum uses.
func (p CustomerPass) refusesCredits(credits, minimum int32) *fault.Error {
	if p.UnlimitedUses || p.RemainingUses >= max(credits, minimum) {
		return nil
	}
	return fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left").
		With("remaining_uses", fmt.Sprint(p.RemainingUses)).With("credits", fmt.Sprint(credits))
}

// choose sorts passes in the order in which they are used: by expiry date, those that never expire
// last, then by the fewest uses left, unlimited uses last, then the oldest first. The pass of a
// subscription counts as expiring with its current period.
func choose(passes []*candidate) {
	slices.SortFunc(passes, func(a, b *candidate) int {
		return cmp.Or(a.usedBy().Compare(b.usedBy()), cmp.Compare(a.uses(), b.uses()),
			a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
}

// pick returns the pass that pays, or the refusal of the pass that is closest to being able to pay.
func pick(passes []*candidate, eventTypes []string, credits int32, when period) (*candidate, *fault.Error) {
	choose(passes)
	nearest := fault.Refuse(ReasonPassNotApplicable, "the customer has no pass that can pay for this")
	for _, p := range passes {
		refusal := p.refuses(eventTypes, credits, when)
		if refusal == nil {
			return p, nil
		}
		if nearness(refusal) > nearness(nearest) {
			nearest = refusal
		}
	}
	return nil, nearest
}

// reason returns why none of the passes can pay. If the request has a pass, passes has at most that
// one.
func (r *redemption) reason(passes []*candidate, at moment) error {
	if !r.pass.IsZero() {
		if len(passes) == 0 {
			return fault.Missing("customer pass")
		}
		if passes[0].CustomerID != r.customer {
			return fault.Refuse(ReasonPassNotApplicable, "the pass belongs to another customer")
		}
	}
	_, refusal := pick(passes, r.eventTypes(), r.credits(), r.period(at))
	if refusal == nil {
		// Credits were returned after the redemption was decided.
		refusal = fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left")
	}
	return refusal
}

func nearness(refusal *fault.Error) int {
	return slices.Index([]string{ReasonPassNotApplicable, ReasonPassNotActive, ReasonPassExpired, ReasonPassExhausted}, refusal.Reason)
}

func (r *redemption) eventTypes() []string {
	kinds := make([]string, 0, len(r.items))
	for _, i := range r.items {
		if !slices.Contains(kinds, i.eventType) {
			kinds = append(kinds, i.eventType)
		}
	}
	return kinds
}
