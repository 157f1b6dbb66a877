// Package combine batches concurrent reads of single rows, so that many callers share one
// round trip to the database.
//
// A read that comes alone is made at once. Reads that arrive during a round trip are
// batched into the next one. That begins after the last of them arrived, so each sees
// everything that was committed before it was called.
package combine

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"reservation.dev/platform/id"
)

// Fetch reads the things with the keys, each of which is there once; those that do
// not exist are left out.
type Fetch[K comparable, V any] func(ctx context.Context, company id.Company, keys []K) (map[K]V, error)

const (
	// mostKeys is how many keys share a read at most.
	mostKeys = 256
	// timeout bounds a shared read, which belongs to no single caller.
	timeout = 10 * time.Second
)

// Reads combines reads of one kind. It is safe for concurrent use.
type Reads[K comparable, V any] struct {
	fetch Fetch[K, V]

	mu    sync.Mutex
	lanes map[id.Company][]*batch[K, V] // of companies with a read under way: who waits
}

// batch is a read and who shares it.
type batch[K comparable, V any] struct {
	ctx   context.Context // of the first
	keys  map[K]struct{}
	done  chan struct{}
	found map[K]V
	err   error
}

// New returns a combiner of fetches.
func New[K comparable, V any](fetch Fetch[K, V]) *Reads[K, V] {
	return &Reads[K, V]{fetch: fetch, lanes: map[id.Company][]*batch[K, V]{}}
}

// Get reads one thing; false: it does not exist. The value may be shared with other
// callers and is not to be changed.
func (r *Reads[K, V]) Get(ctx context.Context, company id.Company, key K) (value V, ok bool, err error) {
	r.mu.Lock()
	waiting, busy := r.lanes[company]
	if !busy {
		r.lanes[company] = nil
		r.mu.Unlock()
		defer r.leave(company)
		b := &batch[K, V]{ctx: ctx, keys: map[K]struct{}{key: {}}}
		b.read(ctx, company, r.fetch)
		value, ok = b.found[key]
		return value, ok, b.err
	}
	var b *batch[K, V]
	if n := len(waiting); n > 0 && len(waiting[n-1].keys) < mostKeys {
		b = waiting[n-1]
		b.keys[key] = struct{}{}
	} else {
		b = &batch[K, V]{ctx: ctx, keys: map[K]struct{}{key: {}}, done: make(chan struct{})}
		r.lanes[company] = append(waiting, b)
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

// leave ends a read: those who came meanwhile are served.
func (r *Reads[K, V]) leave(company id.Company) {
	if b := r.next(company); b != nil {
		go func() {
			for ; b != nil; b = r.next(company) {
				// Its first caller may leave while others still want the answer.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), timeout)
				b.read(ctx, company, r.fetch)
				cancel()
				close(b.done)
			}
		}()
	}
}

// next takes the next read off the lane, or marks the company idle and returns nil.
func (r *Reads[K, V]) next(company id.Company) *batch[K, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.lanes[company]
	if len(waiting) == 0 {
		delete(r.lanes, company)
		return nil
	}
	r.lanes[company] = waiting[1:]
	return waiting[0]
}

func (b *batch[K, V]) read(ctx context.Context, company id.Company, fetch Fetch[K, V]) {
	// No caller's stack may be above this one to recover.
	defer func() {
		if p := recover(); p != nil {
			b.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	b.found, b.err = fetch(ctx, company, slices.Collect(maps.Keys(b.keys)))
}
