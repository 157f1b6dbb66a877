// Package commitqueue batches writes of a company, so that they share commits.
//
// # Invariants
//
//  1. Writes that name the same row are committed in the order of their arrival. Two commits of the
//     queue that run at the same time name no row in common.
//  2. A write that waits holds no database connection. Only the writes of a running commit do.
//  3. A failed commit, and a row that another process has locked, affect only the writes that caused
//     it: the others are committed without them.
//  4. A commit that may have been stored is not repeated.
//  5. A company has at most [maxCommits] commits running. While [maxWaiting] of its writes wait,
//     further writes that name rows are refused; the others continue what was admitted before. No
//     write waits for another company's.
package commitqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

const (
	// maxBatch is the maximum number of writes that share a commit.
	maxBatch = 64
	// maxWaiting is the number of waiting writes of a key beyond which further ones are refused.
	maxWaiting = 1024
	// maxCommits is the maximum number of concurrent commits of a key.
	maxCommits = 3
	// busyBatch is the number of waiting writes with which a further commit starts next to a running
	// one. Fewer writes wait for the running commit to end, because one large commit is cheaper than
	// two small ones.
	busyBatch = 32
	// maxSkips is how often a write is tried without waiting for rows that another process has
	// locked. After that, it is committed alone and waits for them.
	maxSkips = 3
	// timeout limits a shared commit, which does not depend on the context of one caller.
	timeout = 10 * time.Second
	// maxLinger is the longest time that a commit waits for further writes.
	maxLinger = 2 * time.Millisecond
)

// Commit commits the writes of a key in one transaction, in their order. If wait is false, it must not
// wait for rows that another process has locked. It leaves out the writes that need such rows, and
// later writes that have a row in common with a write that is left out, and returns their positions.
// If wait is true, all writes that name rows name the same ones, and Commit can wait for them for a
// moment, or if there is only one write, for everything that it locks. It returns [ErrLocked] if it
// has waited too long.
type Commit[K comparable, W any] func(ctx context.Context, key K, writes []W, wait bool) (left []int, err error)

// Queue queues writes W by a key K, within a process. A write names the rows R that its commit locks.
// Writes that arrive while a commit of their key is running are batched into the next one. A write
// that arrives when no commit is running is committed immediately.
type Queue[K, R comparable, W any] struct {
	commit Commit[K, W]
	mu     sync.Mutex
	queues map[K]*queue[R, W] // keys with a commit in progress
}

// queue holds the writes of a key. Queue.mu protects it.
type queue[R comparable, W any] struct {
	waiting  []*ticket[R, W] // in the order of their arrival
	arrivals int
	running  []*batch[R, W]
	locked   map[R]bool // the rows of the running commits
	// full is closed when the expected number of writes is waiting; nil if no number is expected.
	expected int
	full     chan struct{}
}

// batch is the writes of one commit.
type batch[R comparable, W any] struct {
	tickets []*ticket[R, W]
	rows    []R  // of the first ticket that names rows
	wait    bool // no ticket names other rows
	patient bool // the tickets have been left out so often that they wait for locks
}

// ticket is a write that waits or is being committed.
type ticket[R comparable, W any] struct {
	ctx     context.Context
	write   W
	rows    []R
	arrival int
	since   time.Time
	skips   int  // the number of commits that left the write out because a row was locked
	again   bool // the last commit did
	err     error
	done    chan struct{}
}

// New returns a queue that commits with commit.
func New[R, K comparable, W any](commit Commit[K, W]) *Queue[K, R, W] {
	return &Queue[K, R, W]{commit: commit, queues: map[K]*queue[R, W]{}}
}

// ErrLocked is the error of a commit that was not made because it waited too long for a lock. Its
// writes are tried again.
var ErrLocked = errors.New("another process keeps a row locked")

var (
	errTooMany = fault.Away(errors.New("too many writes of the company are waiting"))
	errLocked  = fault.Away(ErrLocked)
)

// Do commits a write that names rows, alone or with others of the key, and returns the error of the
// commit. If ctx ends while the write waits, it is not made; if ctx ends while it is being committed,
// its outcome is unknown to the caller, as with every commit. The error is a SERVICE_UNAVAILABLE
// fault if too many writes of the key wait, or if another process keeps a row locked.
func (q *Queue[K, R, W]) Do(ctx context.Context, key K, write W, rows ...R) error {
	t := &ticket[R, W]{ctx: ctx, write: write, rows: rows, since: time.Now(), done: make(chan struct{})}
	q.mu.Lock()
	waiting := q.queues[key]
	if waiting == nil {
		waiting = &queue[R, W]{locked: map[R]bool{}}
		q.queues[key] = waiting
	}
	if len(rows) > 0 && len(waiting.waiting) >= maxWaiting {
		q.mu.Unlock()
		return errTooMany
	}
	ready := waiting.join(t)
	q.mu.Unlock()
	if len(ready) == 1 && len(ready[0].tickets) == 1 && ready[0].tickets[0] == t {
		// Nobody else is served, so the caller's goroutine commits.
		q.settle(key, ready[0])
		ready = q.leave(key, ready[0])
	}
	for _, b := range ready {
		go q.serve(key, b)
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join adds a ticket, and returns the commits that start now.
func (q *queue[R, W]) join(t *ticket[R, W]) []*batch[R, W] {
	t.arrival = q.arrivals
	q.arrivals++
	q.waiting = append(q.waiting, t)
	if q.full != nil && len(q.waiting) >= q.expected {
		close(q.full)
		q.full = nil
	}
	if namesAny(q.locked, t) && len(q.waiting) != busyBatch {
		return nil // the others could not start either
	}
	return q.start()
}

// start returns all commits that can start now.
func (q *queue[R, W]) start() (ready []*batch[R, W]) {
	for b := q.next(); b != nil; b = q.next() {
		ready = append(ready, b)
	}
	return ready
}

// next takes the writes of the next commit off the queue. It returns nil if none can start now.
func (q *queue[R, W]) next() *batch[R, W] {
	if len(q.running) == maxCommits || !q.worthCommit() {
		return nil
	}
	// A row belongs to the commit that names it, and otherwise to the first write that names it.
	taken, named := maps.Clone(q.locked), map[R]bool{}
	var ready []*ticket[R, W]
	for _, t := range q.waiting {
		alone := t.skips >= maxSkips
		if namesAny(taken, t) || alone && namesAny(named, t) {
			take(taken, t)
			continue
		}
		ready = append(ready, t)
		if alone {
			take(taken, t)
		} else {
			take(named, t) // writes that share a row can share the commit
		}
	}
	b := q.choose(ready)
	if len(b.tickets) == 0 {
		return nil
	}
	for _, t := range b.tickets {
		take(q.locked, t)
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(t *ticket[R, W]) bool { return slices.Contains(b.tickets, t) })
	q.running = append(q.running, b)
	return b
}

// choose chooses the writes of the next commit from those that can start. A write that was left out
// too often gets a commit of its own, which waits for its locks. Only one such commit runs at a time,
// and the write with the fewest attempts is first, so that a row that stays locked does not keep the
// others waiting.
func (q *queue[R, W]) choose(ready []*ticket[R, W]) *batch[R, W] {
	b := &batch[R, W]{wait: true}
	if !slices.ContainsFunc(q.running, func(r *batch[R, W]) bool { return r.patient }) {
		var next *ticket[R, W]
		for _, t := range ready {
			if t.skips >= maxSkips && (next == nil || t.skips < next.skips) {
				next = t
			}
		}
		if next != nil {
			b.add(next)
			return b
		}
	}
	for _, t := range ready {
		if t.skips < maxSkips && len(b.tickets) < maxBatch {
			b.add(t)
		}
	}
	return b
}

// worthCommit reports whether a further commit should start now: if no running commit will soon end,
// or if many writes wait. A commit that waits for locks can take long.
func (q *queue[R, W]) worthCommit() bool {
	soon := slices.ContainsFunc(q.running, func(b *batch[R, W]) bool { return !b.wait || len(b.rows) == 0 })
	return !soon || len(q.waiting) >= busyBatch
}

// end removes a commit that has ended, and puts the writes that it left out back in their places.
func (q *queue[R, W]) end(b *batch[R, W], left []*ticket[R, W]) {
	q.running = slices.DeleteFunc(q.running, func(r *batch[R, W]) bool { return r == b })
	for _, t := range b.tickets {
		for _, r := range t.rows {
			delete(q.locked, r)
		}
	}
	if len(left) > 0 {
		q.waiting = append(left, q.waiting...)
		slices.SortFunc(q.waiting, func(a, b *ticket[R, W]) int { return cmp.Compare(a.arrival, b.arrival) })
	}
}

func (b *batch[R, W]) add(t *ticket[R, W]) {
	switch {
	case len(t.rows) == 0:
	case len(b.rows) == 0:
		b.rows = t.rows
	default:
		b.wait = b.wait && sameRows(b.rows, t.rows)
	}
	b.patient = b.patient || t.skips >= maxSkips
	b.tickets = append(b.tickets, t)
}

func namesAny[R comparable, W any](rows map[R]bool, t *ticket[R, W]) bool {
	return slices.ContainsFunc(t.rows, func(r R) bool { return rows[r] })
}

func take[R comparable, W any](rows map[R]bool, t *ticket[R, W]) {
	for _, r := range t.rows {
		rows[r] = true
	}
}

func sameRows[R comparable](a, b []R) bool {
	covers := func(a, b []R) bool {
		return !slices.ContainsFunc(b, func(r R) bool { return !slices.Contains(a, r) })
	}
	return covers(a, b) && covers(b, a)
}

// serve commits batch after batch until no write can start. Every waiting write has a caller that
// waits for it, so serve ends before the server has finished draining.
func (q *Queue[K, R, W]) serve(key K, b *batch[R, W]) {
	for b != nil {
		began := time.Now()
		q.settle(key, b)
		q.linger(key, b, time.Since(began))
		ready := q.leave(key, b)
		b = nil
		for i, next := range ready {
			if i > 0 {
				go q.serve(key, next)
			} else {
				b = next
			}
		}
	}
}

// linger waits for callers that were just served together to return with further writes. Without
// it, the first of them would get its own commit and the others would wait for that commit, so
// every other commit would hold one write. linger takes at most half of the time of a commit.
func (q *Queue[K, R, W]) linger(key K, b *batch[R, W], commit time.Duration) {
	if len(b.tickets) < 2 {
		return
	}
	q.mu.Lock()
	waiting := q.queues[key]
	expected := min(len(b.tickets)+len(waiting.waiting), maxBatch)
	if len(waiting.waiting) >= expected || len(waiting.running) > 1 {
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
		if waiting.full == full {
			waiting.full = nil
		}
		q.mu.Unlock()
	}
}

// leave ends a commit, and returns the commits that start now. It forgets the key if nothing is left.
func (q *Queue[K, R, W]) leave(key K, b *batch[R, W]) []*batch[R, W] {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.queues[key]
	var left []*ticket[R, W]
	for _, t := range b.tickets {
		if t.again {
			t.again = false
			left = append(left, t)
		}
	}
	waiting.end(b, left)
	ready := waiting.start()
	if len(waiting.running) == 0 {
		delete(q.queues, key)
	}
	return ready
}

// settle commits a batch and answers its callers, except those whose writes must be tried again.
func (q *Queue[K, R, W]) settle(key K, b *batch[R, W]) {
	present := make([]*ticket[R, W], 0, len(b.tickets))
	for _, t := range b.tickets {
		if t.err = t.ctx.Err(); t.err == nil {
			present = append(present, t)
		}
	}
	q.commitAll(key, present, b.wait)
	for _, t := range b.tickets {
		if t.again {
			t.skips++
			if b.wait {
				t.skips = max(t.skips, maxSkips)
			}
			if time.Since(t.since) < timeout {
				continue
			}
			t.again, t.err = false, errLocked
		}
		close(t.done)
	}
}

// commitAll commits tickets and sets their errors. If the commit fails, each half is tried alone, so
// that one failure does not stop the others, unless the failed commit may have been stored or the
// database is unavailable.
func (q *Queue[K, R, W]) commitAll(key K, tickets []*ticket[R, W], wait bool) {
	if len(tickets) == 0 {
		return
	}
	left, err := q.commitTogether(key, tickets, wait)
	if n := len(tickets); err != nil && n > 1 && !isShared(err) {
		q.commitAll(key, tickets[:n/2], wait)
		q.commitAll(key, behind(tickets[:n/2], tickets[n/2:]), wait)
		return
	}
	waited := errors.Is(err, ErrLocked)
	for _, t := range tickets {
		if t.again = waited; !waited {
			t.err = err
		}
	}
	for _, i := range left {
		tickets[i].again = true
	}
}

// behind returns the tickets that can be committed after first. It leaves out those that have a row
// in common with a ticket of first that was left out.
func behind[R comparable, W any](first, tickets []*ticket[R, W]) (ready []*ticket[R, W]) {
	taken := map[R]bool{}
	for _, t := range first {
		if t.again {
			take(taken, t)
		}
	}
	for _, t := range tickets {
		if namesAny(taken, t) {
			t.again = true
			take(taken, t)
			continue
		}
		ready = append(ready, t)
	}
	return ready
}

// isShared reports whether an error of a commit is the error of each of its writes.
func isShared(err error) bool {
	return errors.Is(err, ErrLocked) || errors.Is(err, pg.ErrUncertain) || fault.Is(err, fault.Unavailable)
}

func (q *Queue[K, R, W]) commitTogether(key K, tickets []*ticket[R, W], wait bool) (left []int, err error) {
	// This can run in its own goroutine, where no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	// The commit continues if one caller leaves, because others still need it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tickets[0].ctx), timeout)
	defer cancel()
	writes := make([]W, len(tickets))
	for i, t := range tickets {
		writes[i] = t.write
		if i > 0 {
			telemetry.LinkTo(t.ctx, ctx) // links the caller's trace to the commit, which is in the trace of the first write
		}
	}
	return q.commit(ctx, key, writes, wait)
}
