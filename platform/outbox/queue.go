package outbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

const (
	// mostQueued and mostQueuedBytes bound the memory of the queue.
	mostQueued      = 4096
	mostQueuedBytes = 16 << 20
	// mostDirect is the largest number of events of an Append that are published from
	// memory. Imports append more.
	mostDirect = 200
)

// leased is a row that this relay holds.
type leased struct {
	bus.Message
	createdAt time.Time // zero for rows that this process has inserted
	attempt   int
	// expires is the last moment to begin publishing: publishTime before the lease ends.
	expires time.Time
}

// queue holds the events that this process publishes next, and the outcomes that it has to
// record. Commits put events into it while it is open, which is while the relay runs and has
// not fallen behind. It is safe for concurrent use.
type queue struct {
	filled chan struct{} // holds a signal if there may be events
	work   chan struct{} // holds a signal if there may be work for the keeper

	mu      sync.Mutex
	open    bool
	wanted  bool // whether there may be rows without a lease
	events  []leased
	bytes   int // of the payloads of events
	outcome outcome
	since   time.Time // when outcome got its first event
}

// outcome is the result of publishing.
type outcome struct {
	published   []pgtype.UUID
	unpublished []pgtype.UUID
	delays      []float64 // seconds until each unpublished event is tried again
	unavailable error     // why NATS did not accept an event, or nil
}

func rowID(u id.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: true} }

func newQueue() *queue {
	return &queue{filled: make(chan struct{}, 1), work: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already waiting
	}
}

// isOpen reports whether commits can put events into the queue.
func (q *queue) isOpen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open
}

func (q *queue) setOpen() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
}

// search has the keeper look for rows without a lease.
func (q *queue) search() {
	q.mu.Lock()
	q.wanted = true
	q.mu.Unlock()
	signal(q.work)
}

// put adds events that were committed. If the relay has fallen behind, it releases them.
func (q *queue) put(events []leased) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open || time.Now().After(events[0].expires) {
		q.release(events)
		return
	}
	q.add(events)
	if len(q.events) > mostQueued || q.bytes > mostQueuedBytes {
		q.fallBehind()
	}
}

// feed adds events that the keeper has claimed.
func (q *queue) feed(events []leased) {
	if len(events) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(events)
}

func (q *queue) add(events []leased) {
	q.events = append(q.events, events...)
	for i := range events {
		q.bytes += len(events[i].Payload)
	}
	signal(q.filled)
}

// release has the keeper release events that this process does not publish.
func (q *queue) release(events []leased) {
	var done outcome
	for i := range events {
		done.unpublished = append(done.unpublished, rowID(events[i].ID))
		done.delays = append(done.delays, 0)
	}
	q.addOutcome(done)
}

// fallBehind releases all events and closes the queue, so that the oldest rows of the table
// are published first.
func (q *queue) fallBehind() {
	q.open = false
	q.release(q.events)
	q.events, q.bytes = nil, 0
}

// close is fallBehind for a relay that stops.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fallBehind()
}

// take waits for events and returns up to a batch of them. It returns nil when ctx ends.
func (q *queue) take(ctx context.Context) []leased {
	for ctx.Err() == nil {
		if batch := q.next(time.Now()); batch != nil {
			return batch
		}
		select {
		case <-ctx.Done():
		case <-q.filled:
		}
	}
	return nil
}

// next removes the next batch from the queue. If one of its leases may end before it is
// published, the relay has fallen behind.
func (q *queue) next(now time.Time) []leased {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.events), batchSize)
	if n == 0 {
		return nil
	}
	batch := q.events[:n:n]
	if slices.ContainsFunc(batch, func(l leased) bool { return now.After(l.expires) }) {
		q.fallBehind()
		return nil
	}
	q.events = q.events[n:]
	for i := range batch {
		q.bytes -= len(batch[i].Payload)
	}
	if len(q.events) == 0 {
		q.events = nil // so that its array is freed
	}
	if n == batchSize && len(q.events) < batchSize {
		signal(q.work) // the keeper may wait for room
	}
	return batch
}

// finish adds the outcome of the batch that take returned.
func (q *queue) finish(done outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addOutcome(done)
	if done.unavailable != nil {
		q.fallBehind()
	}
}

func (q *queue) addOutcome(done outcome) {
	first := q.outcome.len() == 0
	if first {
		q.since = time.Now()
	}
	q.outcome.add(done)
	if first || q.outcome.isDue() || !q.open {
		signal(q.work)
	}
}

// isDue reports whether to record o without waiting for more.
func (o *outcome) isDue() bool { return len(o.unpublished) > 0 || len(o.published) >= batchSize }

func (o *outcome) len() int { return len(o.published) + len(o.unpublished) }

func (o *outcome) add(more outcome) {
	o.published = append(o.published, more.published...)
	o.unpublished = append(o.unpublished, more.unpublished...)
	o.delays = append(o.delays, more.delays...)
	if more.unavailable != nil {
		o.unavailable = more.unavailable
	}
}

// hasRoom reports whether the keeper can claim another batch.
func (q *queue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events) < batchSize
}

// takeWanted reports whether there may be rows without a lease, until the next call of search.
func (q *queue) takeWanted() (wanted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted, q.wanted = q.wanted, false
	return wanted
}

// takeOutcome returns the outcomes to record now, and otherwise when to record them; zero:
// there are none. Deleting rows can wait for more, unless all is true.
func (q *queue) takeOutcome(now time.Time, all bool) (done outcome, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.outcome.len() == 0 {
		return done, time.Time{}
	}
	at = q.since.Add(settleEvery)
	if !all && !q.outcome.isDue() && now.Before(at) {
		return done, at
	}
	done, q.outcome = q.outcome, outcome{}
	return done, time.Time{}
}

// giveBack returns outcomes that could not be recorded.
func (q *queue) giveBack(done outcome) {
	if done.len() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	done.add(q.outcome)
	q.outcome = done
}
