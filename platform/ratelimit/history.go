package ratelimit

import (
	"slices"
	"time"
)

// grains is how many grains of time a window has.
const grains = 120

// grain is the requests that passed within one grain of time.
type grain struct {
	at    time.Duration // of the first
	count int
}

// history is the requests of one key that were let pass, as far as this process
// knows. Instants are since the start of the Limiter.
type history struct {
	key    string
	grains []grain // the oldest first
	// fullUntil is when room can have come back at the earliest, after the
	// server has refused a request that was unexpected.
	fullUntil time.Duration
	// unshared are the requests that the other processes have not been told of.
	unshared   int
	unsharedAt time.Duration // of the first of them
}

// add notes requests that passed at an instant.
func (h *history) add(at time.Duration, count int, window time.Duration) {
	i := len(h.grains)
	for i > 0 && h.grains[i-1].at > at {
		i-- // news of others comes late
	}
	if i > 0 && at < h.grains[i-1].at+window/grains {
		h.grains[i-1].count += count
		return
	}
	h.grains = slices.Insert(h.grains, i, grain{at: at, count: count})
}

// forget drops what no count needs any more.
func (h *history) forget(now, window time.Duration) {
	old := 0
	for old < len(h.grains) && h.grains[old].at+window+window/grains <= now {
		old++
	}
	switch {
	case old == len(h.grains):
		h.grains = nil
	case old > 0:
		h.grains = h.grains[old:]
	}
}

// within returns how many requests the window has, and when the oldest was. A
// grain counts until its first request is too old, so that nothing is refused
// that the server might allow.
func (h *history) within(now, window time.Duration) (count int, oldest time.Duration) {
	oldest = now
	for i := len(h.grains) - 1; i >= 0 && h.grains[i].at+window > now; i-- {
		count += h.grains[i].count
		oldest = h.grains[i].at
	}
	return count, oldest
}

// atMost is within for the fallback, where nobody else decides: a grain counts
// until its last request is too old. forget keeps them for so long.
func (h *history) atMost(now, window time.Duration) (count int, oldest time.Duration) {
	oldest = now
	for i := len(h.grains) - 1; i >= 0 && h.grains[i].at+window+window/grains > now; i-- {
		count += h.grains[i].count
		oldest = h.grains[i].at + window/grains
	}
	return count, oldest
}

// idle reports that nothing is remembered.
func (h *history) idle(now, window time.Duration) bool {
	h.forget(now, window)
	return len(h.grains) == 0 && h.fullUntil <= now && h.unshared == 0
}
