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

// latency is the least response time of an endpoint among its last responses. An endpoint that
// responds quickly needs few connections; one that has not responded yet gets few. The average would
// also contain the time that requests and responses wait in this process on a busy machine, which
// more connections only increase.
type latency struct {
	last    time.Duration // least of the last complete sample; 0: there is none yet
	current time.Duration // least of the current sample
	seen    int           // in the current sample
}

const (
	// targetThroughput is the number of deliveries a second for which an endpoint's connections
	// suffice.
	targetThroughput = 1000
	minConcurrency   = 4
	// latencySample is the number of responses in a sample. The first sample has only two of each of
	// the first connections, one of which is without a handshake.
	latencySample      = 64
	firstLatencySample = 2 * minConcurrency
)

// observe adds the duration of a request.
func (l *latency) observe(took time.Duration) {
	if l.seen == 0 || took < l.current {
		l.current = took
	}
	if l.seen++; l.seen == latencySample || l.last == 0 && l.seen == firstLatencySample {
		l.last, l.seen = l.current, 0
	}
}

// least returns the least duration in the last complete sample and the current one.
func (l *latency) least() time.Duration {
	if l.seen > 0 && l.last > 0 {
		return min(l.last, l.current)
	}
	return l.last
}

// concurrency returns how many requests in flight suffice (Little's law).
func (l *latency) concurrency() int {
	return max(minConcurrency, int(l.least()*targetThroughput/time.Second))
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
