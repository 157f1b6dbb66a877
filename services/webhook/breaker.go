package webhook

import "time"

// breaker pauses the requests to an endpoint that keeps failing.
//
//	closed ──failures in a row──▶ open ──pause is over──▶ half open: one probe
//	   ▲                           ▲  longer pause             │ fails │ succeeds
//	   │                           └───────────────────────────┘       │
//	   └───────────────────────────────────────────────────────────────┘
type breaker struct {
	failures int           // in a row
	pause    time.Duration // of the current opening; 0: closed
	until    time.Time     // when it becomes half open
}

func (b *breaker) closed() bool { return b.pause == 0 }

// room returns how many more than n requests can be held or in flight; the total is at most most.
func (b *breaker) room(most, n int, now time.Time) int {
	switch {
	case b.closed():
		return max(most-n, 0)
	case now.Before(b.until) || n > 0:
		return 0
	}
	return 1
}

// success closes the breaker and reports whether it was open.
func (b *breaker) success() (changed bool) {
	changed = !b.closed()
	*b = breaker{}
	return changed
}

// failure reports whether it opened the breaker. Requests that were in flight when it opened do not
// extend the pause.
func (b *breaker) failure(now time.Time, d *Delivery) (opened bool) {
	b.failures++
	switch {
	case b.closed():
		if b.failures < d.BreakerFailures {
			return false
		}
		b.pause = d.BreakerPause
	case now.Before(b.until):
		return false
	default:
		b.pause = min(2*b.pause, d.BreakerPauseMax)
	}
	b.until = now.Add(b.pause)
	return true
}
