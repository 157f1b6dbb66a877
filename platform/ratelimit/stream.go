package ratelimit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"
)

const (
	// patience is how long a request waits for NATS; it answers within a
	// millisecond or so.
	patience = time.Second
	// creationTime is how long the first requests under a limit wait while its
	// stream is made.
	creationTime = 3 * time.Second
	// newPatience is how long they wait before they ask again: what came before
	// the stream had a leader is never answered.
	newPatience = 250 * time.Millisecond
	// creationPause is how long they wait where nobody was there to be asked.
	creationPause = 10 * time.Millisecond
	// awayTime is how long NATS is left alone after it has not answered.
	awayTime = time.Second
)

// answer is what the server says to a request.
type answer int

const (
	noAnswer answer = iota
	stored
	refused
)

// ask publishes a request, unless NATS is away.
func (l *Limiter) ask(ctx context.Context, key string, limit int) answer {
	if ctx.Err() != nil || !l.mayAsk() {
		return noAnswer
	}
	a, err := l.publish(ctx, key, limit)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		// The caller has given up, which says nothing about NATS.
		l.mu.Lock()
		l.probing = false
		l.mu.Unlock()
		return noAnswer
	}
	l.answered(err)
	return a
}

// mayAsk reports whether NATS is to be asked: always while it answers, and else
// by one request now and then.
func (l *Limiter) mayAsk() bool {
	connected := l.bus.Connected()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !connected {
		l.setAway(l.now(), nats.ErrDisconnected)
		return false
	}
	if l.away == 0 {
		return true
	}
	if l.probing || l.now() < l.away {
		return false
	}
	l.probing = true
	return true
}

// answered takes note of whether NATS did.
func (l *Limiter) answered(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.probing = false
	if err != nil {
		l.setAway(l.now()+awayTime, err)
		return
	}
	if l.away != 0 {
		l.away = 0
		l.metrics.fallback.Set(0)
		l.log.Info("rate limits hold over all processes again")
	}
}

// setAway leaves NATS alone until an instant; l.mu is held.
func (l *Limiter) setAway(until time.Duration, err error) {
	if l.away == 0 {
		l.metrics.fallback.Set(1)
		l.log.Warn("rate limits hold per process while nats does not answer", "error", err.Error())
	}
	l.away = max(until, 1)
}

// publish asks the stream of the limit. A stream that is not there is made.
func (l *Limiter) publish(ctx context.Context, key string, limit int) (answer, error) {
	if l.known(limit) {
		a, err := l.request(ctx, key, limit, patience)
		if !errors.Is(err, nats.ErrNoResponders) {
			return a, err
		}
		// A memory stream is gone once its server has restarted.
		return l.publishToNew(ctx, key, limit, patience)
	}
	return l.publishToNew(ctx, key, limit, creationTime)
}

// publishToNew has the stream made while it tries to publish. In a cluster a new
// stream has no leader at once, not every server knows of it, and of several who
// make it not everyone gets an answer.
func (l *Limiter) publishToNew(ctx context.Context, key string, limit int, atMost time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	created := l.create(ctx, limit)
	var last error
	for {
		a, err := l.request(ctx, key, limit, newPatience)
		if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, context.DeadlineExceeded) {
			return a, err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return noAnswer, last
		case result := <-created:
			if result.Err != nil {
				return noAnswer, result.Err
			}
			created = nil
		case <-time.After(creationPause):
		}
	}
}

func (l *Limiter) request(ctx context.Context, key string, limit int, atMost time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	reply, err := l.bus.Conn().RequestWithContext(ctx, l.subject(limit)+key, nil)
	if err != nil {
		return noAnswer, err
	}
	return read(reply.Data)
}

// full is how the server words the refusal for want of room. Its error code is
// one that all failures to store have.
const full = "maximum messages per subject exceeded"

// read reads the acknowledgement of a publish.
func read(data []byte) (answer, error) {
	if bytes.Contains(data, []byte(`"seq":`)) && !bytes.Contains(data, []byte(`"error":`)) {
		return stored, nil
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(data, &ack); {
	case err != nil:
		return noAnswer, fmt.Errorf("acknowledgement: %w", err)
	case ack.Error == nil:
		return noAnswer, errors.New("acknowledgement without a sequence")
	case strings.Contains(ack.Error.Description, full):
		return refused, nil
	}
	return noAnswer, ack.Error
}

// subject is what the keys of a limit have before them.
func (l *Limiter) subject(limit int) string {
	return l.bus.Prefix() + ".rate." + strconv.Itoa(limit) + "."
}

func (l *Limiter) known(limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.streams[limit]
	return ok
}

// create makes the stream of a limit, or brings it to what this binary wants.
// Those who ask at the same time share one attempt, which goes on when they
// give up.
func (l *Limiter) create(ctx context.Context, limit int) <-chan singleflight.Result {
	return l.creating.DoChan(strconv.Itoa(limit), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), creationTime)
		defer cancel()
		_, err := l.bus.JetStream().CreateOrUpdateStream(ctx, l.stream(limit))
		if err == nil {
			l.mu.Lock()
			l.streams[limit] = struct{}{}
			l.mu.Unlock()
		}
		return nil, err
	})
}

func (l *Limiter) stream(limit int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 fmt.Sprintf("%s_RATE_%d", strings.ToUpper(l.bus.Prefix()), limit),
		Description:          "requests of keys that may make so many in a window",
		Subjects:             []string{l.subject(limit) + "*"},
		Storage:              jetstream.MemoryStorage,
		Replicas:             l.bus.Replicas(),
		Retention:            jetstream.LimitsPolicy,
		MaxMsgsPerSubject:    int64(limit),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxAge:               l.window,
	}
}
