package booking

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

const (
	// deskBatch is how many purchases share a commit at most.
	deskBatch = 64
	// deskTimeout bounds a shared commit, which belongs to no single caller.
	deskTimeout = 10 * time.Second
	// maxLinger is the longest that a commit waits for those it may serve.
	maxLinger = 2 * time.Millisecond
)

// desk is where purchases of one date queue within a process. Each commit locks
// the date's row, so purchases that come one by one are as slow as commits are.
// Whoever comes while a commit is under way waits for the next one, and all who
// wait share it, in the order of their coming. Whoever comes alone waits for
// nobody.
type desk struct {
	sell   func(ctx context.Context, company id.Company, purchases []*purchase) error
	mu     sync.Mutex
	queues map[deskKey]*queue // of the dates with a commit under way
}

type deskKey struct {
	company id.Company
	date    id.EventDate
}

// queue is who waits for the next commit of a date.
type queue struct {
	tickets []*ticket
	// full is closed when as many wait as expected; nil: none are.
	expected int
	full     chan struct{}
}

// ticket is a purchase that waits.
type ticket struct {
	ctx      context.Context
	purchase *purchase
	err      error
	done     chan struct{}
}

func newDesk(sell func(ctx context.Context, company id.Company, purchases []*purchase) error) *desk {
	return &desk{sell: sell, queues: map[deskKey]*queue{}}
}

// buy settles a purchase of one date. When ctx ends while the purchase waits, it
// is not made; while it is being committed, its outcome is unknown to the caller,
// as it is with every commit.
func (d *desk) buy(ctx context.Context, date id.EventDate, p *purchase) error {
	key := deskKey{p.company.ID, date}
	p.cause = outbox.CauseOf(ctx)
	t := &ticket{ctx: ctx, purchase: p, done: make(chan struct{})}
	d.mu.Lock()
	if q, busy := d.queues[key]; busy {
		q.join(t)
		d.mu.Unlock()
		select {
		case <-t.done:
			return t.outcome()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.queues[key] = &queue{}
	d.mu.Unlock()

	defer d.leave(key)
	t.err = d.sell(ctx, key.company, []*purchase{p})
	return t.outcome()
}

// join adds a ticket. d.mu is held.
func (q *queue) join(t *ticket) {
	q.tickets = append(q.tickets, t)
	if q.full != nil && len(q.tickets) >= q.expected {
		close(q.full)
		q.full = nil
	}
}

func (t *ticket) outcome() error {
	if t.err != nil {
		return t.err
	}
	return t.purchase.refused
}

// leave ends a commit: those who came meanwhile are served, or the date is idle.
func (d *desk) leave(key deskKey) {
	if batch := d.next(key); batch != nil {
		go d.serve(key, batch)
	}
}

// serve settles batch after batch until nobody waits. Its tickets are those of
// callers who wait, so it does not outlive the server's drain.
func (d *desk) serve(key deskKey, batch []*ticket) {
	for ; batch != nil; batch = d.next(key) {
		began := time.Now()
		d.settle(key, batch)
		d.linger(key, len(batch), time.Since(began))
	}
}

// linger lets those come back who were just served together. Without it the
// first of them would have a commit of its own and the others would wait for
// that, so that every other commit would serve one. It takes at most half of what
// a commit takes.
func (d *desk) linger(key deskKey, served int, commit time.Duration) {
	if served < 2 {
		return
	}
	d.mu.Lock()
	q := d.queues[key]
	expected := min(served+len(q.tickets), deskBatch)
	if len(q.tickets) >= expected {
		d.mu.Unlock()
		return
	}
	full := make(chan struct{})
	q.expected, q.full = expected, full
	d.mu.Unlock()

	timer := time.NewTimer(min(commit/2, maxLinger))
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
		d.mu.Lock()
		q.full = nil
		d.mu.Unlock()
	}
}

// next takes the purchases of the next commit off the queue, or marks the date
// idle and returns nil.
func (d *desk) next(key deskKey) []*ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queues[key]
	if len(q.tickets) == 0 {
		delete(d.queues, key)
		return nil
	}
	n := min(len(q.tickets), deskBatch)
	batch := q.tickets[:n:n]
	q.tickets = q.tickets[n:]
	return batch
}

// settle makes one commit of a batch. A batch that errs is tried one by one, so
// that the trouble of one is not everybody's; not so one that may be stored.
func (d *desk) settle(key deskKey, batch []*ticket) {
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
	err := d.commit(key, present)
	for _, t := range present {
		t.err = err
		if err != nil && len(present) > 1 && !errors.Is(err, pg.ErrUncertain) {
			t.err = d.commit(key, []*ticket{t})
		}
		close(t.done)
	}
}

func (d *desk) commit(key deskKey, batch []*ticket) (err error) {
	// No caller's stack is above this one to recover.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	// Callers may leave while others still want the commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), deskTimeout)
	defer cancel()
	purchases := make([]*purchase, len(batch))
	for i, t := range batch {
		purchases[i] = t.purchase
		if i > 0 {
			telemetry.LinkTo(t.ctx, ctx) // the commit is in the trace of the first
		}
	}
	return d.sell(ctx, key.company, purchases)
}
