package ratelimit

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// shareInterval is how often each process sends its allowed requests to the others, while
	// there are any.
	shareInterval = 250 * time.Millisecond
	// mostShared is the largest number of keys in one message, which then has about 100 kB.
	mostShared = 1000
	// maxCount is the highest valid number of requests, and of milliseconds, in a line.
	maxCount = 1_000_000
)

// Run exchanges the allowed requests with the other processes until ctx ends.
func (l *Limiter) Run(ctx context.Context) error {
	sub, err := l.bus.Conn().Subscribe(l.shareSubject(), l.receiveCounts)
	if err != nil {
		return fmt.Errorf("rate limits of other processes: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	sweep := time.NewTicker(l.window / 4)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			l.publishCounts()
			return nil
		case <-sweep.C:
			l.sweep(l.now())
		case <-l.toShare:
			select {
			case <-ctx.Done():
			case <-time.After(shareInterval):
			}
			l.publishCounts()
		}
	}
}

func (l *Limiter) sweep(now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys.sweep(now)
	l.metrics.keys.Set(float64(len(l.keys.entries)))
}

// shareSubject returns the subject of the messages. No stream has it, because a lost message
// does not need to be repeated.
func (l *Limiter) shareSubject() string { return l.bus.Prefix() + ".rate.shared" }

// publishCounts publishes the requests allowed since the last call. A message has a line
// with the name of this process, then a line per key with the number of its requests and
// the age of the first one in milliseconds.
func (l *Limiter) publishCounts() {
	l.mu.Lock()
	unshared, now := l.unshared, l.now()
	l.unshared = nil
	var messages [][]byte
	var b *bytes.Buffer
	for i, h := range unshared {
		if i%mostShared == 0 {
			b = bytes.NewBufferString(l.name + "\n")
		}
		fmt.Fprintln(b, h.key, h.unshared, (now - h.unsharedAt).Milliseconds())
		h.unshared = 0
		if i%mostShared == mostShared-1 || i == len(unshared)-1 {
			messages = append(messages, b.Bytes())
		}
	}
	l.mu.Unlock()
	for _, m := range messages {
		// The library buffers messages while disconnected, and they would arrive too late.
		if !l.bus.Connected() || l.bus.Conn().Publish(l.shareSubject(), m) != nil {
			return
		}
	}
}

// receiveCounts records the requests that another process allowed.
func (l *Limiter) receiveCounts(m *nats.Msg) {
	lines := bytes.Split(m.Data, []byte("\n"))
	if string(lines[0]) == l.name {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, line := range lines[1:] {
		key, count, age, ok := parseCount(line)
		if ok {
			l.keys.get(key, now).add(now-min(age, l.window), count, l.window)
		}
	}
}

// parseCount parses a line of a message from publishCounts.
func parseCount(line []byte) (key string, count int, age time.Duration, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) != 3 || len(fields[0]) > longestToken+1 {
		return "", 0, 0, false
	}
	count, errCount := strconv.Atoi(string(fields[1]))
	ms, errAge := strconv.Atoi(string(fields[2]))
	ok = errCount == nil && errAge == nil && 0 < count && count <= maxCount && 0 <= ms && ms <= maxCount
	return string(fields[0]), count, time.Duration(ms) * time.Millisecond, ok
}
