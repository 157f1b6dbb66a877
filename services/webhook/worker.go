package webhook

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"reservation.dev/platform/id"
)

// worker identifies a process to the others, and is the owner of its leases. It is the first of its
// leases: they share all bytes but the last six, which count.
type worker id.UUID

// leaseCounter is the number of bytes of a lease that count.
const leaseCounter = 6

// newWorker returns a worker with random bytes, unlike the leases of other workers and of earlier
// releases, which are random or begin with a time.
func newWorker() (w worker) {
	_, _ = rand.Read(w[:len(w)-leaseCounter]) // never fails
	return w
}

// lease returns the worker's lease with a number.
func (w worker) lease(n uint64) id.UUID {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], n)
	copy(w[len(w)-leaseCounter:], counter[len(counter)-leaseCounter:])
	return id.UUID(w)
}

// last returns the worker's last possible lease.
func (w worker) last() id.UUID { return w.lease(1<<(8*leaseCounter) - 1) }

// owns reports whether a lease is the worker's.
func (w worker) owns(lease id.UUID) bool {
	return [len(w) - leaseCounter]byte(w[:]) == [len(w) - leaseCounter]byte(lease[:])
}

// pulse is when workers report that they are alive, and what follows if they do not.
type pulse struct {
	// every is the interval between two reports.
	every time.Duration
	// fresh is for how long after a report a process may begin requests and claim deliveries.
	fresh time.Duration
	// lost is the age of the last report, by the database's clock, at which other processes end a
	// worker's leases. It is longer than fresh by the time that a request may take to begin.
	lost time.Duration
}

func usualPulse() pulse {
	return pulse{every: 750 * time.Millisecond, fresh: 1600 * time.Millisecond, lost: 2500 * time.Millisecond}
}

// registration is the state of this process as a worker. Engine.mu guards it.
type registration struct {
	worker worker
	leases uint64 // created so far
	// until is when the last report is no longer fresh; zero: not registered yet. It is compared
	// with time.Now, which uses the monotonic clock.
	until time.Time
}

// registered reports whether this process may begin requests and lease deliveries now. The caller
// holds e.mu.
func (e *Engine) registered() bool { return time.Now().Before(e.own.until) }

// newLease returns a lease that no other delivery has had, and its end.
func (e *Engine) newLease() (lease id.UUID, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.own.leases++
	return e.own.worker.lease(e.own.leases), e.now().Add(e.settings.Lease)
}

// report reports that this process is alive until ctx ends, and ends the leases of those that do
// not.
func (e *Engine) report(ctx context.Context) {
	ticker := time.NewTicker(e.pulse.every)
	defer ticker.Stop()
	seen := sightings{}
	var takeovers sync.WaitGroup
	defer takeovers.Wait()
	for ctx.Err() == nil {
		gone, err := e.reportOnce(ctx, seen)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("reporting to the other webhook processes failed; sending pauses until it succeeds", "error", err)
			clear(seen) // the others may be unable to report, too
		}
		if len(gone) > 0 && e.takingOver.CompareAndSwap(false, true) {
			takeovers.Go(func() {
				defer e.takingOver.Store(false)
				e.takeOver(ctx, gone)
			})
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// reportOnce reports that this process is alive, and returns the workers that are gone. If others have
// ended its leases, it forgets what it holds and continues as a new worker.
func (e *Engine) reportOnce(ctx context.Context, seen sightings) (gone []sighting, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.pulse.lost)
	defer cancel()
	began, sent := time.Now(), e.clock()
	r, err := e.store.report(ctx, e.own.worker)
	if err == nil && !r.Held {
		e.releaseJobs(e.renounce())
		began, sent = time.Now(), e.clock()
		r, err = e.store.register(ctx, e.own.worker)
	}
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	resumed := !e.registered()
	e.own.until = began.Add(e.pulse.fresh)
	e.offset.Store(int64(r.At.Sub(sent.Add(time.Since(began) / 2))))
	e.start()
	e.mu.Unlock()
	if resumed {
		e.signalClaims()
	}
	return seen.silent(r, e.pulse.lost), nil
}

// renounce removes the deliveries that wait here, because others have ended their leases, and makes
// this process a new worker. Outcomes of requests in flight find their leases ended. It returns the
// deliveries: if a transaction of this process has leased some of them after the others ended its
// leases, nobody else knows, so they must be released.
func (e *Engine) renounce() (removed []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.waiting
	now := e.now()
	for _, q := range e.queues {
		if jobs := e.removeWaiting(q); len(jobs) > 0 {
			removed = append(removed, jobs...)
			q.wake(now)
		}
	}
	if !e.own.until.IsZero() {
		e.log.Warn("other webhook processes did not see this one and have taken over its deliveries", "deliveries", held)
	}
	e.own = registration{worker: newWorker()}
	return removed
}

// takeOverTime is the limit for ending the leases of others, which reads all pending deliveries.
const takeOverTime = 5 * time.Minute

// takeOver ends the leases of workers that are gone, and wakes all processes for their deliveries. If
// it fails, a later report finds the same workers again.
func (e *Engine) takeOver(ctx context.Context, gone []sighting) {
	ctx, cancel := context.WithTimeout(ctx, takeOverTime)
	defer cancel()
	freed, err := e.store.endLeases(ctx, gone)
	if err != nil {
		e.log.Warn("taking over the deliveries of other webhook processes failed", "error", err)
		return
	}
	e.log.Warn("webhook processes have ended unexpectedly; their deliveries are due again", "processes", len(gone), "endpoints", len(freed))
	e.Wake(freed...)
}

// sighting is what a process saw last of another worker.
type sighting struct {
	worker worker
	at     time.Time // of its last report, by the database's clock
	again  int       // how many times the same report was seen again
}

// sightings are the other workers by their identity.
type sightings map[worker]sighting

// silent adds what a report shows of the others, and returns those that are gone. The age of a
// report alone does not prove that: after an outage of the database, every report is old. So this
// process must also have seen the same report at three reports of its own.
func (s sightings) silent(r reported, lost time.Duration) (gone []sighting) {
	present := map[worker]bool{}
	for i, lease := range r.Others {
		w := worker(lease)
		present[w] = true
		last, known := s[w]
		if !known || !last.at.Equal(r.Seen[i]) {
			s[w] = sighting{worker: w, at: r.Seen[i]}
			continue
		}
		last.again++
		s[w] = last
		if last.again >= 2 && r.At.Sub(last.at) >= lost {
			gone = append(gone, last)
		}
	}
	for w := range s {
		if !present[w] {
			delete(s, w)
		}
	}
	return gone
}
