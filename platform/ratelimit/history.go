package ratelimit

import (
	"slices"
	"time"
)

// grains is the number of grains that a window is divided into.
const grains = 120

// grain is the requests that passed within one grain of time.
type grain struct {
	at    time.Duration // of the first
	count int
}

// history has the allowed requests of one key, as far as this process knows. Instants are
// relative to the start of the Limiter.
type history struct {
	key    string
	grains []grain // the oldest first
	// fullUntil is the earliest time at which a request can succeed again, after the
	// server has refused one unexpectedly.
	fullUntil time.Duration
	// unshared is the number of requests not yet sent to the other processes.
	unshared   int
	unsharedAt time.Duration // of the first of them
}

// add records requests that were allowed at an instant.
func (h *history) add(at time.Duration, count int, window time.Duration) {
	i := len(h.grains)
	for i > 0 && h.grains[i-1].at > at {
		i-- // requests of other processes arrive late
	}
	if i > 0 && at < h.grains[i-1].at+window/grains {
		h.grains[i-1].count += count
		return
	}
	h.grains = slices.Insert(h.grains, i, grain{at: at, count: count})
}

// forget drops the grains that no count needs any longer.
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

// within returns the number of requests in the window and the time of the oldest. A grain
// counts until its first request expires, so that nothing is refused that the server
// might allow.
func (h *history) within(now, window time.Duration) (count int, oldest time.Duration) {
	oldest = now
	for i := len(h.grains) - 1; i >= 0 && h.grains[i].at+window > now; i-- {
		count += h.grains[i].count
		oldest = h.grains[i].at
	}
	return count, oldest
}

// atMost is within for the fallback, in which this process decides alone. A grain counts
// until its last request expires; forget keeps it until then.
func (h *history) atMost(now, window time.Duration) (count int, oldest time.Duration) {
	oldest = now
	for i := len(h.grains) - 1; i >= 0 && h.grains[i].at+window+window/grains > now; i-- {
		count += h.grains[i].count
		oldest = h.grains[i].at + window/grains
	}
	return count, oldest
}

// idle reports whether the history is empty.
func (h *history) idle(now, window time.Duration) bool {
	h.forget(now, window)
	return len(h.grains) == 0 && h.fullUntil <= now && h.unshared == 0
}
