package webhook

import (
	"time"

	"reservation.dev/platform/id"
)

// sendQueue holds the deliveries to one endpoint that this process has leased.
type sendQueue struct {
	key      endpointKey
	waiting  []*job // leased, not begun
	inFlight int
	breaker  breaker
	latency  latency
	// wakeAt is when there may be more to claim; zero if unknown.
	wakeAt time.Time
	listed bool // in the round robin
}

// latency is the average response time of an endpoint. An endpoint that responds quickly needs few
// connections; one that has not responded yet gets few.
type latency struct{ average time.Duration }

const (
	// targetThroughput is the number of deliveries a second for which an endpoint's connections
	// suffice.
	targetThroughput = 1000
	minConcurrency   = 4
)

// observe adds a request if its connection was already open, because the time of a handshake must
// not count.
func (l *latency) observe(r *result) {
	switch {
	case !r.reused && l.average > 0:
	case l.average == 0:
		l.average = r.duration
	default:
		l.average += (r.duration - l.average) / 8
	}
}

// concurrency returns how many requests in flight suffice (Little's law).
func (l *latency) concurrency() int {
	return max(minConcurrency, int(l.average*targetThroughput/time.Second))
}

// held is how many deliveries of the endpoint this process has leased.
func (q *sendQueue) held() int { return len(q.waiting) + q.inFlight }

// wake records that there may be something to claim from an instant on.
func (q *sendQueue) wake(at time.Time) {
	if q.wakeAt.IsZero() || at.Before(q.wakeAt) {
		q.wakeAt = at
	}
}

// nextClaim returns when the queue claims next, if it has room; zero if nothing is known to claim.
func (q *sendQueue) nextClaim() time.Time {
	if !q.wakeAt.IsZero() && !q.breaker.closed() && q.wakeAt.Before(q.breaker.until) {
		return q.breaker.until
	}
	return q.wakeAt
}

// roundRobin returns queues with something to send in turn. Companies take turns, and so do the
// endpoints of a company, so neither many deliveries nor many endpoints get more than their share.
type roundRobin struct {
	companies []*group
	groups    map[id.Company]*group
}

type group struct {
	company id.Company
	queues  []*sendQueue
}

// add appends a queue, unless it is already in the list.
func (r *roundRobin) add(q *sendQueue) {
	if q.listed {
		return
	}
	q.listed = true
	g := r.groups[q.key.company]
	if g == nil {
		g = &group{company: q.key.company}
		r.groups[q.key.company] = g
		r.companies = append(r.companies, g)
	}
	g.queues = append(g.queues, q)
}

// next removes the queue whose turn it is; nil if there is none.
func (r *roundRobin) next() *sendQueue {
	if len(r.companies) == 0 {
		return nil
	}
	g := r.companies[0]
	q := g.queues[0]
	q.listed = false
	g.queues[0] = nil
	g.queues = g.queues[1:]
	r.companies[0] = nil
	r.companies = r.companies[1:]
	if len(g.queues) > 0 {
		r.companies = append(r.companies, g)
	} else {
		delete(r.groups, g.company)
	}
	return q
}
