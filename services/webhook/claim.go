package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/webhook/message"
)

// claimLoop claims whenever a lane has room and may have something due.
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
			e.log.Warn("webhook deliveries are not claimed", "error", err)
			wait = time.Second
		}
		timer.Reset(wait)
	}
}

// wish is how many deliveries a lane could take.
type wish struct {
	key  endpointKey
	most int
}

// claimOnce claims for every lane that has room and may have something due. It
// returns how long until the next one may have.
func (e *Engine) claimOnce(ctx context.Context) (time.Duration, error) {
	wishes := e.wishes()
	if len(wishes) == 0 {
		return e.untilNext(), nil
	}
	now := e.now()
	lease, until := e.newID(), now.Add(e.settings.Lease)
	claimed, err := e.store.claim(ctx, wishes, lease, until, now)
	if err != nil {
		e.rewish(wishes)
		return 0, err
	}
	jobs, left, err := e.jobs(ctx, claimed, lease, until)
	if err != nil {
		e.rewish(wishes)
		return 0, err // their lease ends, and they are claimed again
	}
	e.giveBack(append(left, e.enqueue(jobs)...))
	got := make(map[endpointKey]int, len(wishes))
	for i := range claimed {
		got[claimed[i].key()]++
	}
	var short, full []wish
	for _, w := range wishes {
		if got[w.key] < w.most {
			short = append(short, w)
		} else {
			full = append(full, w)
		}
	}
	e.rewish(full)
	if len(short) > 0 {
		nearest, err := e.store.nearest(ctx, short)
		if err != nil {
			e.rewish(short)
			return 0, err
		}
		e.wakeAt(nearest)
	}
	return e.untilNext(), nil
}

// wishes returns what the lanes could take, and counts it as asked for.
func (e *Engine) wishes() []wish {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	budget := e.budget()
	var wishes []wish
	for key, l := range e.lanes {
		most := min(e.wants(l, now), budget)
		if most == 0 {
			continue
		}
		l.wakeAt = time.Time{}
		budget -= most
		wishes = append(wishes, wish{key: key, most: most})
	}
	return wishes
}

// budget is how many deliveries may still be held: what waits for longer than
// its lease would be claimed for nothing. The caller holds e.mu.
func (e *Engine) budget() int {
	if e.stopping {
		return 0
	}
	return max(4*e.settings.Concurrency-e.waiting, 0)
}

// wants is how many deliveries a lane would claim now. The caller holds e.mu.
func (e *Engine) wants(l *lane, now time.Time) int {
	next := l.nextClaim()
	if next.IsZero() || next.After(now) || l.held() > e.settings.ahead()/2 {
		return 0
	}
	return l.breaker.room(e.settings.ahead(), l.held(), now)
}

// rewish takes back wishes that were not, or may not be all that was, fulfilled.
func (e *Engine) rewish(wishes []wish) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	for _, w := range wishes {
		e.lane(w.key).wake(now)
	}
}

func (e *Engine) wakeAt(nearest []dueAt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range nearest {
		e.lane(n.key()).wake(n.DueAt)
	}
}

const (
	longestWait  = time.Minute
	shortestWait = 5 * time.Millisecond
)

// untilNext is how long until the next lane may claim. One without room is not
// waited for: the end of its requests is a reminder.
func (e *Engine) untilNext() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	wait := longestWait
	for _, l := range e.lanes {
		next := l.nextClaim()
		if next.IsZero() || l.held() > e.settings.ahead()/2 || !l.breaker.closed() && l.held() > 0 {
			continue
		}
		wait = min(wait, next.Sub(now))
	}
	return max(wait, shortestWait)
}

// jobs makes what was claimed or queued into jobs, with the present state of
// their endpoints. Those of which the endpoint is gone are left.
func (e *Engine) jobs(ctx context.Context, claimed []claimedRow, lease id.UUID, until time.Time) (jobs, left []*job, err error) {
	targets, err := e.targetsOf(ctx, claimed)
	if err != nil {
		return nil, nil, err
	}
	bodies := map[id.WebhookMessage]*message.Body{}
	for i := range claimed {
		c := &claimed[i]
		j := &job{delivery: c.ID, target: targets[c.key()], lease: lease, leaseUntil: until, tries: int(c.Tries), trace: c.Trace}
		if j.body = bodies[c.MessageID]; j.body == nil && c.JSON != nil {
			j.body = message.NewBody(c.MessageID, c.Event, c.OccurredAt, c.JSON)
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

// sweepOnce looks for work of which no wake-up came: what was queued before this
// process began, and the leases of processes that died.
func (e *Engine) sweepOnce(ctx context.Context) error {
	nearest, err := e.store.sweep(ctx)
	if err != nil || len(nearest) == 0 {
		return err
	}
	if _, err := e.store.abandon(ctx, nearest, e.now()); err != nil {
		return err
	}
	e.wakeAt(nearest)
	e.remind()
	return nil
}
