// Package combine batches concurrent reads of single items, so that many callers share one
// round trip to a database or a service.
//
// Reads are combined within a group, such as a company. A read starts immediately unless
// another read of the same group is in progress. Reads that arrive during a round trip are
// batched into the next one. A batch starts after its last read arrived, so each read sees
// everything that was committed before it was called.
//
// A round trip that hangs does not stop a group: the first read that arrives after slow starts
// the waiting batch.
package combine

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Fetch reads the values of keys, which has no duplicates. It leaves out keys that do not
// exist.
type Fetch[G, K comparable, V any] func(ctx context.Context, in G, keys []K) (map[K]V, error)

const (
	// mostKeys is the largest number of keys in a batch.
	mostKeys = 256
	// timeout limits the read of a batch, which outlives the contexts of its callers.
	timeout = 10 * time.Second
	// slow is how long the reads of a group wait for a round trip in progress. It is longer than a
	// round trip takes on a busy machine.
	slow = 250 * time.Millisecond
)

// Reads combines reads of one kind. It is safe for concurrent use.
type Reads[G, K comparable, V any] struct {
	fetch Fetch[G, K, V]

	mu     sync.Mutex
	groups map[G]*group[K, V] // those with a read in progress
}

// group is the reads of one group.
type group[K comparable, V any] struct {
	reading int // goroutines with a read in progress; more than one only if a read is slow
	began   time.Time
	waiting []*batch[K, V]
}

// batch is a read that several callers share.
type batch[K comparable, V any] struct {
	ctx   context.Context // the first caller's
	keys  map[K]struct{}
	done  chan struct{}
	found map[K]V
	err   error
}

// New returns Reads that call fetch.
func New[G, K comparable, V any](fetch Fetch[G, K, V]) *Reads[G, K, V] {
	return &Reads[G, K, V]{fetch: fetch, groups: map[G]*group[K, V]{}}
}

// Get returns the value of a key. ok is false if the key does not exist. Other callers can
// receive the same value, so callers must not modify it. Get returns the error of ctx or
// of the fetch.
func (r *Reads[G, K, V]) Get(ctx context.Context, in G, key K) (value V, ok bool, err error) {
	r.mu.Lock()
	g, now := r.groups[in], time.Now()
	if g == nil {
		g = &group[K, V]{reading: 1, began: now}
		r.groups[in] = g
		r.mu.Unlock()
		defer r.endRead(in, g)
		var b batch[K, V]
		r.read(ctx, in, []K{key}, &b)
		value, ok = b.found[key]
		return value, ok, b.err
	}
	b := g.join(ctx, key)
	if now.Sub(g.began) > slow {
		g.reading++
		next := g.next(now)
		go r.readWaiting(in, g, next)
	}
	r.mu.Unlock()
	select {
	case <-b.done:
		value, ok = b.found[key]
		return value, ok, b.err
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}

// join adds a key to the last waiting batch, or to a new one.
func (g *group[K, V]) join(ctx context.Context, key K) *batch[K, V] {
	if n := len(g.waiting); n > 0 && len(g.waiting[n-1].keys) < mostKeys {
		g.waiting[n-1].keys[key] = struct{}{}
		return g.waiting[n-1]
	}
	b := &batch[K, V]{ctx: ctx, keys: map[K]struct{}{key: {}}, done: make(chan struct{})}
	g.waiting = append(g.waiting, b)
	return b
}

// next removes and returns the batch that has waited longest, whose read begins now. It returns
// nil if none is waiting.
func (g *group[K, V]) next(now time.Time) *batch[K, V] {
	if len(g.waiting) == 0 {
		return nil
	}
	b := g.waiting[0]
	g.waiting, g.began = g.waiting[1:], now
	return b
}

// endRead ends the caller's own read and starts to read the batches that are waiting.
func (r *Reads[G, K, V]) endRead(in G, g *group[K, V]) {
	if b := r.next(in, g); b != nil {
		go r.readWaiting(in, g, b)
	}
}

// readWaiting reads a batch and then those that are waiting.
func (r *Reads[G, K, V]) readWaiting(in G, g *group[K, V], b *batch[K, V]) {
	for ; b != nil; b = r.next(in, g) {
		// If the first caller gives up, the others still need the values.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), timeout)
		r.read(ctx, in, slices.Collect(maps.Keys(b.keys)), b)
		cancel()
		close(b.done)
	}
}

// next returns the next waiting batch. If none is waiting, it ends the goroutine's part in the
// group and returns nil.
func (r *Reads[G, K, V]) next(in G, g *group[K, V]) *batch[K, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := g.next(time.Now())
	if b == nil {
		if g.reading--; g.reading == 0 {
			delete(r.groups, in)
		}
	}
	return b
}

// read fetches the values of keys into b.
func (r *Reads[G, K, V]) read(ctx context.Context, in G, keys []K, b *batch[K, V]) {
	// The goroutine of readWaiting has no caller that could recover.
	defer func() {
		if p := recover(); p != nil {
			b.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	b.found, b.err = r.fetch(ctx, in, keys)
}
