// Package combine batches concurrent reads of single rows, so that many callers share one
// round trip to the database.
//
// A read starts immediately unless another read of the same company is in progress. Reads
// that arrive during a round trip are batched into the next one. A batch starts after its
// last read arrived, so each read sees everything that was committed before it was called.
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

// Fetch reads the values of keys, which has no duplicates. It leaves out keys that do not
// exist.
type Fetch[K comparable, V any] func(ctx context.Context, company id.Company, keys []K) (map[K]V, error)

const (
	// mostKeys is the largest number of keys in a batch.
	mostKeys = 256
	// timeout limits the read of a batch, which outlives the contexts of its callers.
	timeout = 10 * time.Second
)

// Reads combines reads of one kind. It is safe for concurrent use.
type Reads[K comparable, V any] struct {
	fetch Fetch[K, V]

	mu      sync.Mutex
	waiting map[id.Company][]*batch[K, V] // by company; a company with a read in progress has an entry
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
func New[K comparable, V any](fetch Fetch[K, V]) *Reads[K, V] {
	return &Reads[K, V]{fetch: fetch, waiting: map[id.Company][]*batch[K, V]{}}
}

// Get returns the value of a key. ok is false if the key does not exist. Other callers can
// receive the same value, so callers must not modify it. Get returns the error of ctx or
// of the fetch.
func (r *Reads[K, V]) Get(ctx context.Context, company id.Company, key K) (value V, ok bool, err error) {
	r.mu.Lock()
	waiting, busy := r.waiting[company]
	if !busy {
		r.waiting[company] = nil
		r.mu.Unlock()
		defer r.readWaiting(company)
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
		r.waiting[company] = append(waiting, b)
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

// readWaiting ends the caller's own read and starts to read the batches that are waiting.
func (r *Reads[K, V]) readWaiting(company id.Company) {
	if b := r.next(company); b != nil {
		go func() {
			for ; b != nil; b = r.next(company) {
				// If the first caller gives up, the others still need the values.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), timeout)
				b.read(ctx, company, r.fetch)
				cancel()
				close(b.done)
			}
		}()
	}
}

// next removes and returns the next waiting batch. If none is waiting, it marks the company
// as idle and returns nil.
func (r *Reads[K, V]) next(company id.Company) *batch[K, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[company]
	if len(waiting) == 0 {
		delete(r.waiting, company)
		return nil
	}
	r.waiting[company] = waiting[1:]
	return waiting[0]
}

func (b *batch[K, V]) read(ctx context.Context, company id.Company, fetch Fetch[K, V]) {
	// The goroutine of readWaiting has no caller that could recover.
	defer func() {
		if p := recover(); p != nil {
			b.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	b.found, b.err = fetch(ctx, company, slices.Collect(maps.Keys(b.keys)))
}
