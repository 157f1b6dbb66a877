// Package commitqueue batches writes that lock the same row, so that they share commits.
package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

const (
	// maxBatch is the maximum number of writes that share a commit.
	maxBatch = 64
	// timeout limits a shared commit, which does not depend on the context of one caller.
	timeout = 10 * time.Second
	// maxLinger is the longest time that a commit waits for further writes.
	maxLinger = 2 * time.Millisecond
)

// Queue queues writes W by a key K, within a process. Each commit locks the row of the key, so
// separate writes are as slow as commits are. Writes that arrive while a commit of their key is
// running are batched into the next one, in the order of their arrival. A write that arrives when
// no commit is running is committed immediately.
type Queue[K comparable, W any] struct {
	commit func(ctx context.Context, key K, writes []W) error
	mu     sync.Mutex
	queues map[K]*queue[W] // keys with a commit in progress
}

// queue holds the writes that wait for the next commit of a key.
type queue[W any] struct {
	tickets []*ticket[W]
	// full is closed when the expected number of writes is waiting; nil if no number is expected.
	expected int
	full     chan struct{}
}

// ticket is a waiting write.
type ticket[W any] struct {
	ctx   context.Context
	write W
	err   error
	done  chan struct{}
}

// New returns a queue. commit commits a batch of writes of one key in one transaction.
func New[K comparable, W any](commit func(ctx context.Context, key K, writes []W) error) *Queue[K, W] {
	return &Queue[K, W]{commit: commit, queues: map[K]*queue[W]{}}
}

// Do commits a write, alone or with others of the key, and returns the error of the
// commit. If ctx ends while the write waits, it is not made; if ctx ends while it is
// being committed, its outcome is unknown to the caller, as with every commit.
func (q *Queue[K, W]) Do(ctx context.Context, key K, write W) error {
	t := &ticket[W]{ctx: ctx, write: write, done: make(chan struct{})}
	q.mu.Lock()
	if waiting, busy := q.queues[key]; busy {
		waiting.join(t)
		q.mu.Unlock()
		select {
		case <-t.done:
			return t.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	q.queues[key] = &queue[W]{}
	q.mu.Unlock()

	defer q.leave(key)
	return q.commit(ctx, key, []W{write})
}

// join adds a ticket. Queue.mu is held.
func (q *queue[W]) join(t *ticket[W]) {
	q.tickets = append(q.tickets, t)
	if q.full != nil && len(q.tickets) >= q.expected {
		close(q.full)
		q.full = nil
	}
}

// leave ends a commit: writes that arrived during it are served, or the key is idle.
func (q *Queue[K, W]) leave(key K) {
	if batch := q.next(key); batch != nil {
		go q.serve(key, batch)
	}
}

// serve commits batch after batch until no write waits. Its tickets are those of callers
// that wait, so it does not outlive the server's drain.
func (q *Queue[K, W]) serve(key K, batch []*ticket[W]) {
	for ; batch != nil; batch = q.next(key) {
		began := time.Now()
		q.settle(key, batch)
		q.linger(key, len(batch), time.Since(began))
	}
}

// linger waits for callers that were just served together to return with further writes. Without
// it, the first of them would get its own commit and the others would wait for that commit, so
// every other commit would hold one write. linger takes at most half of the time of a commit.
func (q *Queue[K, W]) linger(key K, served int, commit time.Duration) {
	if served < 2 {
		return
	}
	q.mu.Lock()
	waiting := q.queues[key]
	expected := min(served+len(waiting.tickets), maxBatch)
	if len(waiting.tickets) >= expected {
		q.mu.Unlock()
		return
	}
	full := make(chan struct{})
	waiting.expected, waiting.full = expected, full
	q.mu.Unlock()

	timer := time.NewTimer(min(commit/2, maxLinger))
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
		q.mu.Lock()
		waiting.full = nil
		q.mu.Unlock()
	}
}

// next takes the writes of the next commit off the queue, or marks the key idle and
// returns nil.
func (q *Queue[K, W]) next(key K) []*ticket[W] {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.queues[key]
	if len(waiting.tickets) == 0 {
		delete(q.queues, key)
		return nil
	}
	n := min(len(waiting.tickets), maxBatch)
	batch := waiting.tickets[:n:n]
	waiting.tickets = waiting.tickets[n:]
	return batch
}

// settle commits a batch. If the commit fails, the writes are tried one by one, so that one failure
// does not stop the others, unless the failed commit may have been stored.
func (q *Queue[K, W]) settle(key K, batch []*ticket[W]) {
	present := batch[:0]
	for _, t := range batch {
		if t.err = t.ctx.Err(); t.err != nil {
			close(t.done)
			continue
		}
		present = append(present, t)
	}
	if len(present) == 0 {
		return
	}
	err := q.commitBatch(key, present)
	for _, t := range present {
		t.err = err
		if err != nil && len(present) > 1 && !errors.Is(err, pg.ErrUncertain) {
			t.err = q.commitBatch(key, []*ticket[W]{t})
		}
		close(t.done)
	}
}

func (q *Queue[K, W]) commitBatch(key K, batch []*ticket[W]) (err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	// The commit continues if one caller leaves, because others still need it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), timeout)
	defer cancel()
	writes := make([]W, len(batch))
	for i, t := range batch {
		writes[i] = t.write
		if i > 0 {
			telemetry.LinkTo(t.ctx, ctx) // links the caller's trace to the commit, which is in the trace of the first write
		}
	}
	return q.commit(ctx, key, writes)
}
