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

	"reservation.dev/platform/id"
)

const (
	// answerTime is how long a request waits for NATS, which usually answers within about
	// one millisecond.
	answerTime = time.Second
	// creationTime is how long the first requests of a limit wait for its stream to be
	// created.
	creationTime = 3 * time.Second
	// newStreamTime is how long they wait before they publish again, because a publish
	// before the stream has a leader is never answered.
	newStreamTime = 250 * time.Millisecond
	// creationPause is how long they wait if no stream received the publish.
	creationPause = 10 * time.Millisecond
	// pauseTime is how long no request calls NATS after NATS has not answered.
	pauseTime = time.Second
)

// waits are the times after which a request is decided locally: answerTime and creationTime. Tests of exact limits need
// longer ones.
type waits struct {
	answer, creation time.Duration
}

// answer is the server's result for a request.
type answer int

const (
	noAnswer answer = iota
	stored
	refused
)

// callServer publishes a request, unless NATS is unavailable.
func (l *Limiter) callServer(ctx context.Context, key string, limit int) answer {
	if ctx.Err() != nil || !l.mayCallServer() {
		return noAnswer
	}
	a, err := l.publish(ctx, key, limit)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		// The caller has cancelled, which does not mean that NATS is unavailable.
		l.mu.Lock()
		l.probing = false
		l.mu.Unlock()
		return noAnswer
	}
	l.recordAnswer(err)
	return a
}

// mayCallServer reports whether to call NATS: always while it answers, otherwise for one request
// from time to time.
func (l *Limiter) mayCallServer() bool {
	connected := l.bus.Connected()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !connected {
		l.pauseCalls(l.now(), nats.ErrDisconnected)
		return false
	}
	if l.pausedUntil == 0 {
		return true
	}
	if l.probing || l.now() < l.pausedUntil {
		return false
	}
	l.probing = true
	return true
}

// recordAnswer records whether NATS answered.
func (l *Limiter) recordAnswer(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.probing = false
	if err != nil {
		l.pauseCalls(l.now()+pauseTime, err)
		return
	}
	if l.pausedUntil != 0 {
		l.pausedUntil = 0
		l.metrics.fallback.Set(0)
		l.log.Info("rate limits apply across all processes again")
	}
}

// pauseCalls stops calls to NATS until an instant. The caller holds l.mu.
func (l *Limiter) pauseCalls(until time.Duration, err error) {
	if l.pausedUntil == 0 {
		l.metrics.fallback.Set(1)
		l.log.Warn("rate limits apply per process while nats does not answer", "error", err.Error())
	}
	l.pausedUntil = max(until, 1)
}

// publish publishes to the stream of the limit, and creates the stream if it is missing.
func (l *Limiter) publish(ctx context.Context, key string, limit int) (answer, error) {
	if l.hasStream(limit) {
		a, err := l.request(ctx, key, limit, "", l.waits.answer)
		if !errors.Is(err, nats.ErrNoResponders) {
			return a, err
		}
		// A memory stream does not survive a restart of its server.
		return l.publishToNew(ctx, key, limit, l.waits.answer)
	}
	return l.publishToNew(ctx, key, limit, l.waits.creation)
}

// publishToNew tries to publish while the stream is being created. In a cluster, a new
// stream does not have a leader immediately, not every server knows it yet, and if several
// processes create it, not all of them get an answer. All tries have the same message identifier, so
// that the server counts the request once, also if the answer to a try was late.
func (l *Limiter) publishToNew(ctx context.Context, key string, limit int, atMost time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	created, message := l.create(ctx, limit), id.NewUUID().String()
	var last error
	for {
		a, err := l.request(ctx, key, limit, message, newStreamTime)
		if !isTooEarly(err) {
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

// tryInProcess is the server's error code while it stores another try of the same message.
const tryInProcess = 10158

// isTooEarly reports whether a try got no result, so that another one may.
func isTooEarly(err error) bool {
	var refusal *jetstream.APIError
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &refusal) && refusal.ErrorCode == tryInProcess
}

// request publishes a request once. A message identifier is only needed for several tries; "": none.
func (l *Limiter) request(ctx context.Context, key string, limit int, message string, atMost time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	m := nats.NewMsg(l.subject(limit) + key)
	if message != "" {
		m.Header.Set(jetstream.MsgIDHeader, message)
	}
	reply, err := l.bus.Conn().RequestMsgWithContext(ctx, m)
	if err != nil {
		return noAnswer, err
	}
	return parseAck(reply.Data)
}

// full is the server's message when a subject has reached its limit. The error code is the
// same for all failures to store.
const full = "maximum messages per subject exceeded"

// parseAck parses the acknowledgement of a publish.
func parseAck(data []byte) (answer, error) {
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

// subject returns the prefix of the subjects of a limit.
func (l *Limiter) subject(limit int) string {
	return l.bus.Prefix() + ".rate." + strconv.Itoa(limit) + "."
}

func (l *Limiter) hasStream(limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.streams[limit]
	return ok
}

// create creates the stream of a limit, or updates it to this binary's configuration.
// Concurrent callers share one attempt, which continues if they give up.
func (l *Limiter) create(ctx context.Context, limit int) <-chan singleflight.Result {
	return l.creating.DoChan(strconv.Itoa(limit), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.waits.creation)
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
		Description:          "the requests of each key in the window, for one limit",
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
