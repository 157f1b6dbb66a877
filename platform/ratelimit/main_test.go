package ratelimit

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// long is a window from which no request expires while a test runs.
const long = time.Hour

// newLimiter returns the limiter of another process of the installation of t. It waits for NATS for as long as a busy
// machine needs, because its limits are exact only if NATS answers.
func newLimiter(t testing.TB, b *bus.Bus, window time.Duration) *Limiter {
	t.Helper()
	l := New(b, Options{Window: window, Log: testkit.Log(t)})
	l.waits = waits{answer: 20 * time.Second, creation: 20 * time.Second}
	return l
}

// run runs a limiter until the test ends.
func run(t testing.TB, l *Limiter) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// take makes n concurrent requests, spread over the limiters, and returns how many were
// allowed.
func take(t testing.TB, key string, limit, n int, limiters ...*Limiter) (allowed int) {
	t.Helper()
	var wg sync.WaitGroup
	passed := make(chan bool, n)
	for i := range n {
		wg.Go(func() { passed <- limiters[i%len(limiters)].Take(t.Context(), key, limit).Allowed })
	}
	wg.Wait()
	close(passed)
	for ok := range passed {
		if ok {
			allowed++
		}
	}
	return allowed
}

// published counts the requests of a limit that reach NATS from now on.
func published(t testing.TB, l *Limiter, limit int) func() int {
	t.Helper()
	sub, err := l.bus.Conn().SubscribeSync(l.subject(limit) + "*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() int {
		if err := l.bus.Conn().Flush(); err != nil {
			t.Fatal(err)
		}
		n, _, err := sub.Pending()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// metric returns the value of a metric of the limiter, summed over the given label values.
func metric(t testing.TB, l *Limiter, name string, labels ...string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := l.Collect(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			matches := len(labels) == 0
			for _, pair := range m.GetLabel() {
				for _, label := range labels {
					matches = matches || pair.GetValue() == label
				}
			}
			if family.GetName() == name && matches {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// lockedBuffer collects log lines of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.b.Bytes(), []byte(text))
}

func (l *lockedBuffer) log() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
