package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/webhook/message"
)

// claimLoop claims whenever a queue has room and may have something due.
func (e *Engine) claimLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.claims:
		case <-timer.C:
		}
		wait, err := e.claimOnce(ctx)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("claiming webhook deliveries failed", "error", err)
			wait = time.Second
		}
		timer.Reset(wait)
	}
}

// claimRequest is how many deliveries a queue could take.
type claimRequest struct {
	key  endpointKey
	most int
}

// claimOnce claims for every queue that has room and may have something due. It
// returns how long until the next queue may have something.
func (e *Engine) claimOnce(ctx context.Context) (time.Duration, error) {
	requests := e.claimRequests()
	if len(requests) == 0 {
		return e.untilNext(), nil
	}
	claimed, err := e.claim(ctx, requests)
	if err != nil {
		e.claimAgain(requests)
		return 0, err
	}
	filled, short := divide(requests, claimed)
	e.claimAgain(filled)
	if len(short) > 0 {
		nearest, err := e.store.nearest(ctx, short)
		if err != nil {
			e.claimAgain(short)
			return 0, err
		}
		e.wakeAt(nearest)
	}
	return e.untilNext(), nil
}

// claim leases due deliveries for requests and starts sending them. After an error, the leased
// deliveries are claimed again when their leases end.
func (e *Engine) claim(ctx context.Context, requests []claimRequest) ([]claimedRow, error) {
	lease, until := e.newLease()
	claimed, err := e.store.claim(ctx, requests, lease, until, e.now())
	if err != nil {
		return nil, err
	}
	jobs, left, err := e.newJobs(ctx, claimed, lease, until)
	if err != nil {
		return nil, err
	}
	e.releaseJobs(append(left, e.enqueue(jobs)...))
	return claimed, nil
}

// divide splits requests into those whose room was filled, so that there may be more to claim, and
// the others.
func divide(requests []claimRequest, claimed []claimedRow) (filled, short []claimRequest) {
	got := make(map[endpointKey]int, len(requests))
	for i := range claimed {
		got[claimed[i].key()]++
	}
	for _, r := range requests {
		if got[r.key] < r.most {
			short = append(short, r)
		} else {
			filled = append(filled, r)
		}
	}
	return filled, short
}

// claimRequests returns how many deliveries each queue can take. Those queues do not claim again
// until their next wake-up.
func (e *Engine) claimRequests() []claimRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	budget := e.budget()
	var requests []claimRequest
	for key, q := range e.queues {
		most := min(e.wants(q, now), portion(budget))
		if most == 0 {
			continue
		}
		q.wakeAt = time.Time{}
		budget -= most
		requests = append(requests, claimRequest{key: key, most: most})
	}
	return requests
}

// budget returns how many more deliveries this process may lease and keep in memory. The caller
// holds e.mu.
func (e *Engine) budget() int {
	if e.stopping || !e.registered() {
		return 0
	}
	return max(heldMost*e.settings.Concurrency-e.waiting, 0)
}

// heldMost is how many deliveries a process keeps in memory for each request that can be in flight.
const heldMost = 16

// portion returns how much of a budget one endpoint may take. However many endpoints hang, some of it
// is left for the others.
func portion(budget int) int { return (budget + 15) / 16 }

// wants is how many deliveries a queue would claim now. The caller holds e.mu.
func (e *Engine) wants(q *sendQueue, now time.Time) int {
	next := q.nextClaim()
	if next.IsZero() || next.After(now) || q.held() > e.settings.ahead()/2 {
		return 0
	}
	return q.breaker.room(e.settings.ahead(), q.held(), now)
}

// claimAgain lets queues claim again if their request failed, or if it was filled and there may be
// more to claim.
func (e *Engine) claimAgain(requests []claimRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	for _, w := range requests {
		e.queueOf(w.key).wake(now)
	}
}

func (e *Engine) wakeAt(nearest []dueAt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range nearest {
		e.queueOf(n.key()).wake(n.DueAt)
	}
}

const (
	longestWait  = time.Minute
	shortestWait = 5 * time.Millisecond
)

// untilNext returns how long until the next queue may claim. A queue without room is left out: it
// signals when one of its requests ends.
func (e *Engine) untilNext() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	wait := longestWait
	for _, q := range e.queues {
		next := q.nextClaim()
		if next.IsZero() || q.held() > e.settings.ahead()/2 || !q.breaker.closed() && q.held() > 0 {
			continue
		}
		wait = min(wait, next.Sub(now))
	}
	return max(wait, shortestWait)
}

// newJobs returns jobs for deliveries that were claimed or queued, with the current state of their
// endpoints. left has those whose endpoint no longer exists.
func (e *Engine) newJobs(ctx context.Context, claimed []claimedRow, lease id.UUID, until time.Time) (jobs, left []*job, err error) {
	targets, err := e.targetsOf(ctx, claimed)
	if err != nil {
		return nil, nil, err
	}
	bodies := map[id.WebhookMessage]*message.Body{}
	for i := range claimed {
		c := &claimed[i]
		j := &job{delivery: c.ID, target: targets[c.key()], lease: lease, leaseUntil: until, tries: int(c.Tries), trace: c.Trace}
		if j.body = bodies[c.MessageID]; j.body == nil && c.JSON != nil {
			j.body = message.NewBody(&message.Message{ID: c.MessageID, Company: c.CompanyID, Event: c.Event, OccurredAt: c.OccurredAt, JSON: c.JSON})
			bodies[c.MessageID] = j.body
		}
		switch {
		case j.body == nil:
			e.log.Error("a webhook delivery has no message", "delivery", c.ID.String(), "message", c.MessageID.String())
		case j.target == nil:
			j.target = &target{key: c.key()}
			left = append(left, j)
		default:
			jobs = append(jobs, j)
		}
	}
	return jobs, left, nil
}

// targetsOf returns the endpoints of claimed deliveries, at least as new as the
// claim saw them.
func (e *Engine) targetsOf(ctx context.Context, claimed []claimedRow) (map[endpointKey]*target, error) {
	found := make(map[endpointKey]*target)
	var stale []endpointKey
	e.mu.Lock()
	for i := range claimed {
		key := claimed[i].key()
		if _, seen := found[key]; seen {
			continue
		}
		t := e.targets[key]
		if t != nil && t.version < claimed[i].Version {
			t = nil
		}
		if t == nil {
			stale = append(stale, key)
		}
		found[key] = t
	}
	e.mu.Unlock()
	if len(stale) == 0 {
		return found, nil
	}
	loaded, err := e.store.targets(ctx, stale)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range loaded {
		found[t.key], e.targets[t.key] = t, t
	}
	return found, nil
}

// sweepOnce finds work without a wake-up: deliveries queued before this process started, and leases
// that have expired.
func (e *Engine) sweepOnce(ctx context.Context) error {
	nearest, err := e.store.sweep(ctx)
	if err != nil || len(nearest) == 0 {
		return err
	}
	if _, err := e.store.abandon(ctx, nearest, e.now()); err != nil {
		return err
	}
	e.wakeAt(nearest)
	e.signalClaims()
	return nil
}
