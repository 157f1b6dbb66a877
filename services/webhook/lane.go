package webhook

import (
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/webhook/message"
)

// endpointKey names an endpoint wherever all companies' are handled together.
type endpointKey struct {
	company  id.Company
	endpoint id.WebhookEndpoint
}

// job is a delivery that this process has leased.
type job struct {
	delivery   id.WebhookDelivery
	target     *target
	body       *message.Body
	lease      id.UUID
	leaseUntil time.Time
	tries      int               // attempts since it was made or replayed
	trace      map[string]string // the request and the trace of what happened
}

// lane is the work of one endpoint in this process.
type lane struct {
	key      endpointKey
	waiting  []*job // leased, not begun
	inFlight int
	breaker  breaker
	pace     pace
	// wakeAt is when there may be more to claim; zero: not known of any.
	wakeAt time.Time
	listed bool // in the rota
}

// pace follows how long an endpoint takes to answer. One that answers quickly
// needs few connections, and one of which nothing is known yet gets few.
type pace struct{ usual time.Duration }

const (
	// enoughPerSecond is what an endpoint's connections are to be enough for.
	enoughPerSecond = 1000
	leastInFlight   = 4
)

// answered takes in the time of a request over a connection that stood already.
func (p *pace) answered(r *result) {
	switch {
	case !r.reused && p.usual > 0:
	case p.usual == 0:
		p.usual = r.duration
	default:
		p.usual += (r.duration - p.usual) / 8
	}
}

// concurrency is how many requests in flight would be enough (Little's law).
func (p *pace) concurrency() int {
	return max(leastInFlight, int(p.usual*enoughPerSecond/time.Second))
}

func (l *lane) held() int { return len(l.waiting) + l.inFlight }

// wake says that there may be something to claim from at on.
func (l *lane) wake(at time.Time) {
	if l.wakeAt.IsZero() || at.Before(l.wakeAt) {
		l.wakeAt = at
	}
}

// nextClaim is when the lane would claim, if it has room; zero: it would not.
func (l *lane) nextClaim() time.Time {
	if !l.wakeAt.IsZero() && !l.breaker.closed() && l.wakeAt.Before(l.breaker.until) {
		return l.breaker.until
	}
	return l.wakeAt
}

// rota hands out lanes that have something to send: companies in turn, and in
// each its endpoints in turn, so that neither many deliveries nor many endpoints
// get more than their share.
type rota struct {
	companies []*group
	groups    map[id.Company]*group
}

type group struct {
	company id.Company
	lanes   []*lane
}

func (r *rota) add(l *lane) {
	if l.listed {
		return
	}
	l.listed = true
	g := r.groups[l.key.company]
	if g == nil {
		g = &group{company: l.key.company}
		r.groups[l.key.company] = g
		r.companies = append(r.companies, g)
	}
	g.lanes = append(g.lanes, l)
}

// next takes the lane whose turn it is out of the rota; nil: there is none.
func (r *rota) next() *lane {
	if len(r.companies) == 0 {
		return nil
	}
	g := r.companies[0]
	l := g.lanes[0]
	l.listed = false
	g.lanes[0] = nil
	g.lanes = g.lanes[1:]
	r.companies[0] = nil
	r.companies = r.companies[1:]
	if len(g.lanes) > 0 {
		r.companies = append(r.companies, g)
	} else {
		delete(r.groups, g.company)
	}
	return l
}
