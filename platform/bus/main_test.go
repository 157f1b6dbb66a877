package bus_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const patience = time.Minute

func event(subject, payload string) bus.Message {
	return bus.Message{
		ID: id.NewUUID(), Company: id.New[id.Company](), Subject: subject,
		Payload: []byte(payload), OccurredAt: time.Now(),
	}
}

// events returns n events whose payloads are "0", "1", …
func events(subject string, n int) []bus.Message {
	msgs := make([]bus.Message, n)
	for i := range msgs {
		msgs[i] = event(subject, fmt.Sprint(i))
	}
	return msgs
}

func publish(t *testing.T, b *bus.Bus, msgs ...bus.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := b.Publish(ctx, msgs); err != nil {
		t.Fatal(err)
	}
}

// running is a Consume or Follow in the background.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func start(t *testing.T, run func(ctx context.Context) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = run(ctx)
	}()
	t.Cleanup(func() { r.stop(t) })
	return r
}

// stop ends the function and waits until it has returned.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	r.wait(t)
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		t.Fatal("did not return")
	}
	if r.err != nil {
		t.Errorf("returned %v", r.err)
	}
}

func consume(t *testing.T, b *bus.Bus, c bus.Consumer) *running {
	t.Helper()
	return start(t, func(ctx context.Context) error { return b.Consume(ctx, c) })
}

// log collects the messages that handlers received.
type log struct {
	mu   sync.Mutex
	seen []bus.Message
}

func (l *log) add(msgs ...bus.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, msgs...)
}

func (l *log) handle(_ context.Context, msgs []bus.Message) error {
	l.add(msgs...)
	return nil
}

func (l *log) all() []bus.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

func (l *log) payloads() []string {
	var out []string
	for _, m := range l.all() {
		out = append(out, string(m.Payload))
	}
	return out
}

// wait waits until n messages were collected.
func (l *log) wait(t *testing.T, n int) []bus.Message {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if got := len(l.all()); got < n {
			return fmt.Errorf("%d of %d messages", got, n)
		}
		return nil
	})
	return l.all()
}

func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

// metric sums the values of a metric over its labels.
func metric(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum, found := 0.0, false
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			found = true
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if !found {
		t.Fatalf("no metric %s", name)
	}
	return sum
}

// storedIn returns how many messages a stream of b has.
func storedIn(t *testing.T, b *bus.Bus, stream string) uint64 {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}
