package auth

import (
	"container/list"
	"sync"
	"time"
)

// How failures are slowed down, then refused; see throttle.
const (
	freeFailures    = 5
	refusedFailures = 20
	firstDelay      = 100 * time.Millisecond
	longestDelay    = 2 * time.Second
	failureWindow   = 10 * time.Minute
	// maxTracked limits the memory, maxWaiting the delayed requests.
	maxTracked = 100_000
	maxWaiting = 1000
)

// throttle counts failures per credential and address, in this process only. A secret has 256 bits,
// so the count protects against noise, not against guessing. If there are too many, the oldest
// failures are forgotten.
type throttle struct {
	mu      sync.Mutex
	entries map[throttleKey]*list.Element
	recent  *list.List // of *failures, the latest in front
	waiting chan struct{}
	now     func() time.Time
}

type throttleKey struct{ subject, address string }

type failures struct {
	key   throttleKey
	count int
	since time.Time
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{entries: map[throttleKey]*list.Element{}, recent: list.New(), waiting: make(chan struct{}, maxWaiting), now: now}
}

// failed counts a failure. It returns how long to delay the response and, after too many failures,
// how long the caller should not retry.
func (t *throttle) failed(key throttleKey) (delay, stayAway time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	element, ok := t.entries[key]
	if !ok {
		element = t.recent.PushFront(&failures{key: key, since: now})
		t.entries[key] = element
		if t.recent.Len() > maxTracked {
			t.forget(t.recent.Back())
		}
	}
	t.recent.MoveToFront(element)
	f := element.Value.(*failures)
	if now.Sub(f.since) >= failureWindow {
		f.count, f.since = 0, now
	}
	f.count++
	if f.count >= refusedFailures {
		return 0, f.since.Add(failureWindow).Sub(now)
	}
	if f.count <= freeFailures {
		return 0, 0
	}
	return min(firstDelay<<(f.count-freeFailures-1), longestDelay), 0
}

// passed deletes the failures of a caller that has succeeded.
func (t *throttle) passed(key throttleKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if element, ok := t.entries[key]; ok {
		t.forget(element)
	}
}

func (t *throttle) forget(element *list.Element) {
	delete(t.entries, element.Value.(*failures).key)
	t.recent.Remove(element)
}
