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
	// mostKeys bounds the keys that are remembered: some 100 MB if all are busy.
	mostKeys = 100_000
	// serverLag is by how much the server is late to notice that a request is
	// too old: it looks that often.
	serverLag = 250 * time.Millisecond
	// probeWait is how long a key is taken as full after a refusal that this
	// process cannot explain, since others have used it.
	probeWait = 50 * time.Millisecond
)

// Decision is the answer to one request.
type Decision struct {
	Allowed bool
	// Limit is the requests that the key may make in the window; 0: no limit.
	Limit int
	// Remaining is how many more it may make at once, about.
	Remaining int
	// Reset is how long it takes, about, until the oldest request in the window
	// is too old to count: then there is room for one more. It is never negative
	// and for a refused request, where it is the time to stay away, positive.
	Reset time.Duration
}

// Options are what a Limiter needs beside the bus.
type Options struct {
	// Window is how long a request counts; 0: Window.
	Window time.Duration
	Log    *slog.Logger
}

// Limiter decides over requests. It is safe for concurrent use.
type Limiter struct {
	bus     *bus.Bus
	window  time.Duration
	log     *slog.Logger
	metrics *metrics
	start   time.Time
	name    string // of this Limiter among all

	creating singleflight.Group

	mu      sync.Mutex
	keys    *histories
	news    []*history // that have something unshared
	streams map[int]struct{}
	away    time.Duration // NATS is not asked before; 0: it answers
	probing bool          // one request asks whether it is back
}

// New returns a limiter that counts together with those of all processes on the
// same bus. Its Run must run for Remaining and Reset to know of the others.
func New(b *bus.Bus, o Options) *Limiter {
	if o.Window == 0 {
		o.Window = Window
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Limiter{
		bus: b, window: o.Window, log: o.Log, metrics: newMetrics(), start: time.Now(), name: id.NewUUID().String(),
		keys: newHistories(mostKeys, o.Window), streams: map[int]struct{}{},
	}
}

// Take asks for one request of a key that may make limit requests in any window;
// a limit below 1 is none. The key is the identifier of a credential, never
// something secret: it is part of a subject. There is no error: what cannot be
// asked is decided by the fallback.
func (l *Limiter) Take(ctx context.Context, key string, limit int) Decision {
	if limit < 1 {
		return Decision{Allowed: true}
	}
	key = subjectToken(key)
	if d, full := l.full(key, limit); full {
		l.metrics.decisions.WithLabelValues("refused_unasked").Inc()
		return d
	}
	switch l.ask(ctx, key, limit) {
	case stored:
		l.metrics.decisions.WithLabelValues("allowed").Inc()
		return l.allowed(key, limit)
	case refused:
		l.metrics.decisions.WithLabelValues("refused").Inc()
		return l.refused(key, limit)
	}
	d := l.alone(key, limit)
	if d.Allowed {
		l.metrics.decisions.WithLabelValues("allowed_alone").Inc()
	} else {
		l.metrics.decisions.WithLabelValues("refused_alone").Inc()
	}
	return d
}

// now is the time since the start.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// full refuses a key that is known to have no room.
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
	l.note(h, now)
	count, oldest := h.within(now, l.window)
	return Decision{Allowed: true, Limit: limit, Remaining: max(limit-count, 0), Reset: oldest + l.window - now}
}

// note remembers a request that passes, and that the others are to be told.
func (l *Limiter) note(h *history, now time.Duration) {
	h.add(now, 1, l.window)
	if h.unshared == 0 {
		h.unsharedAt = now
		l.news = append(l.news, h)
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
	// Requests that this process has not heard of, or that the server has not
	// dropped yet: room may come at any moment.
	h.fullUntil = now + probeWait
	return Decision{Limit: limit, Reset: serverLag}
}

// alone decides without the others.
func (l *Limiter) alone(key string, limit int) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.keys.get(key, now)
	if count, oldest := h.atMost(now, l.window); count >= limit {
		return Decision{Limit: limit, Reset: oldest + l.window - now}
	}
	l.note(h, now)
	count, oldest := h.atMost(now, l.window)
	return Decision{Allowed: true, Limit: limit, Remaining: max(limit-count, 0), Reset: oldest + l.window - now}
}

// longestToken is the longest key that stands in a subject as it is.
const longestToken = 64

// subjectToken returns the key, or what stands for it where it cannot be a token
// of a subject.
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
