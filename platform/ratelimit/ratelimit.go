package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

// Window is how long a request counts.
const Window = 60 * time.Second

const (
	// mostKeys is the largest number of keys in memory. They take about 100 MB if all are busy.
	mostKeys = 100_000
	// serverLag is the longest time that the server takes to remove an expired message.
	serverLag = 250 * time.Millisecond
	// probeWait is how long a key is treated as full after a refusal that this process
	// cannot explain, because other processes used the key.
	probeWait = 50 * time.Millisecond
)

// Decision is the result for one request.
type Decision struct {
	Allowed bool
	// Limit is how many requests the key can make in the window; 0: no limit.
	Limit int
	// Remaining is approximately how many more requests it can make now.
	Remaining int
	// Reset is approximately the time until the oldest request leaves the window, which
	// makes one more request possible. It is never negative. For a refused request it is
	// positive, and the caller must wait for that long.
	Reset time.Duration
}

// Options configures a Limiter.
type Options struct {
	// Window is how long a request counts; 0: Window.
	Window time.Duration
	Log    *slog.Logger
}

// Limiter allows or refuses requests. It is safe for concurrent use.
type Limiter struct {
	bus     *bus.Bus
	window  time.Duration
	log     *slog.Logger
	metrics *metrics
	start   time.Time
	name    string        // identifies this Limiter to the others
	toShare chan struct{} // holds a signal if there may be unshared requests
	waits   waits

	creating singleflight.Group

	mu          sync.Mutex
	keys        *histories
	unshared    []*history // with unshared requests
	streams     map[int]struct{}
	pausedUntil time.Duration // no call to NATS before this instant; 0: NATS answers
	probing     bool          // one request is checking whether NATS is back
}

// New returns a limiter that shares its counts with all processes on the same bus. Run
// must run, or Remaining and Reset do not include the other processes.
func New(b *bus.Bus, o Options) *Limiter {
	if o.Window == 0 {
		o.Window = Window
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Limiter{
		bus: b, window: o.Window, log: o.Log, metrics: newMetrics(), start: time.Now(), name: id.NewUUID().String(),
		toShare: make(chan struct{}, 1), waits: waits{answer: answerTime, creation: creationTime},
		keys: newHistories(mostKeys, o.Window), streams: map[int]struct{}{},
	}
}

// Take decides whether a key can make one more request, with at most limit requests in any
// window. A limit below 1 means no limit. The key is the identifier of a credential and must
// not be secret, because it becomes part of a subject. Take does not fail: if NATS cannot be
// reached, the fallback decides.
func (l *Limiter) Take(ctx context.Context, key string, limit int) Decision {
	if limit < 1 {
		return Decision{Allowed: true}
	}
	key = subjectToken(key)
	if d, full := l.full(key, limit); full {
		l.metrics.decisions.WithLabelValues("refused_unasked").Inc()
		return d
	}
	switch l.callServer(ctx, key, limit) {
	case stored:
		l.metrics.decisions.WithLabelValues("allowed").Inc()
		return l.allowed(key, limit)
	case refused:
		l.metrics.decisions.WithLabelValues("refused").Inc()
		return l.refused(key, limit)
	}
	d := l.decideLocally(key, limit)
	if d.Allowed {
		l.metrics.decisions.WithLabelValues("allowed_alone").Inc()
	} else {
		l.metrics.decisions.WithLabelValues("refused_alone").Inc()
	}
	return d
}

// now returns the time since the start.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// full refuses a key that is known to have reached its limit.
func (l *Limiter) full(key string, limit int) (Decision, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.keys.get(key, now)
	count, oldest := h.within(now, l.window)
	switch {
	case count >= limit:
		return Decision{Limit: limit, Reset: oldest + l.window + serverLag - now}, true
	case h.fullUntil > now:
		return Decision{Limit: limit, Reset: serverLag}, true
	}
	return Decision{}, false
}

func (l *Limiter) allowed(key string, limit int) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.keys.get(key, now)
	l.record(h, now)
	count, oldest := h.within(now, l.window)
	return Decision{Allowed: true, Limit: limit, Remaining: max(limit-count, 0), Reset: oldest + l.window - now}
}

// record records an allowed request, to be shared with the other processes.
func (l *Limiter) record(h *history, now time.Duration) {
	h.add(now, 1, l.window)
	if h.unshared == 0 {
		h.unsharedAt = now
		l.unshared = append(l.unshared, h)
		select {
		case l.toShare <- struct{}{}:
		default: // a signal is already waiting
		}
	}
	h.unshared++
}

func (l *Limiter) refused(key string, limit int) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.keys.get(key, now)
	if count, oldest := h.within(now, l.window); count >= limit {
		return Decision{Limit: limit, Reset: oldest + l.window + serverLag - now}
	}
	// The server counted requests that this process does not know of, or that it has not
	// removed yet. Capacity may return at any moment.
	h.fullUntil = now + probeWait
	return Decision{Limit: limit, Reset: serverLag}
}

// decideLocally decides without the other processes.
func (l *Limiter) decideLocally(key string, limit int) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.keys.get(key, now)
	if count, oldest := h.atMost(now, l.window); count >= limit {
		return Decision{Limit: limit, Reset: oldest + l.window - now}
	}
	l.record(h, now)
	count, oldest := h.atMost(now, l.window)
	return Decision{Allowed: true, Limit: limit, Remaining: max(limit-count, 0), Reset: oldest + l.window - now}
}

// longestToken is the longest key that becomes part of a subject unchanged.
const longestToken = 64

// subjectToken returns the key, or a hash of it if the key cannot be a token of a subject.
func subjectToken(key string) string {
	plain := key != "" && len(key) <= longestToken
	for i := 0; plain && i < len(key); i++ {
		c := key[i]
		plain = c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if plain {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "~" + hex.EncodeToString(sum[:])
}
