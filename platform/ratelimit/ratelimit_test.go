package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
)

func TestLimit(t *testing.T) { // invariants 1 and 7
	one, two := newLimiter(t, testkit.Bus(t), 0), newLimiter(t, testkit.Bus(t), 0)
	t.Run("is exact across two processes with concurrent callers", func(t *testing.T) {
		if n := take(t, "key_a", 100, 150, one, two); n != 100 {
			t.Errorf("%d of 150 passed", n)
		}
		for _, l := range []*Limiter{one, two} {
			d := l.Take(t.Context(), "key_a", 100)
			if d.Allowed || d.Limit != 100 || d.Remaining != 0 || d.Reset <= 0 || d.Reset > Window+serverLag {
				t.Errorf("got %+v", d)
			}
		}
	})
	t.Run("applies to each key separately", func(t *testing.T) {
		if n := take(t, "key_b", 100, 120, one, two); n != 100 {
			t.Errorf("%d of 120 passed", n)
		}
	})
	t.Run("can differ between keys, which two processes first use at the same time", func(t *testing.T) {
		var wg sync.WaitGroup
		for limit := 1; limit <= 12; limit++ {
			wg.Go(func() {
				if n := take(t, fmt.Sprint("key_of_", limit), limit, 2*limit+2, one, two); n != limit {
					t.Errorf("%d of %d passed under a limit of %d", n, 2*limit+2, limit)
				}
			})
		}
		wg.Wait()
	})
	t.Run("does not apply if it is below 1", func(t *testing.T) {
		for _, limit := range []int{0, -1} {
			if d := one.Take(t.Context(), "key_a", limit); d != (Decision{Allowed: true}) {
				t.Errorf("got %+v", d)
			}
		}
	})
	t.Run("applies to a key that cannot be part of a subject", func(t *testing.T) {
		if n := take(t, "a key.with * > \x00", 3, 8, one, two); n != 3 {
			t.Errorf("%d of 8 passed", n)
		}
	})
	t.Run("is separate for another installation on the same server", func(t *testing.T) {
		other := newLimiter(t, testkit.Bus(t), 0) // another test, another prefix
		if n := take(t, "key_a", 100, 10, other); n != 10 {
			t.Errorf("%d of 10 passed", n)
		}
	})
	t.Run("can change, and earlier requests still count", func(t *testing.T) {
		if n := take(t, "key_c", 10, 10, one); n != 10 {
			t.Fatalf("%d of 10 passed", n)
		}
		if n := take(t, "key_c", 5, 10, one); n != 0 {
			t.Errorf("%d passed under a lower limit", n)
		}
		for i := range 10 {
			if d := one.Take(t.Context(), "key_c", 15); d.Allowed != (i < 5) {
				t.Errorf("under a higher limit, request %d got %+v", i+1, d)
			}
		}
	})
}

func TestWindowSlides(t *testing.T) { // invariants 1 and 2
	const window, limit = time.Second, 10
	one, two := newLimiter(t, testkit.Bus(t), window), newLimiter(t, testkit.Bus(t), window)
	run(t, one)
	run(t, two)
	var mu sync.Mutex
	var begun, ended []time.Duration
	var wg sync.WaitGroup
	start := time.Now()
	for i := range 4 {
		l := []*Limiter{one, two}[i%2]
		wg.Go(func() {
			pace := time.NewTicker(7 * time.Millisecond)
			defer pace.Stop()
			for ; time.Since(start) < 4*window; <-pace.C {
				asked := time.Since(start)
				d := l.Take(t.Context(), "key_a", limit)
				if d.Allowed {
					mu.Lock()
					begun, ended = append(begun, asked), append(ended, time.Since(start))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(begun)
	slices.Sort(ended)
	// The server stores each request between these two instants.
	for i := limit; i < len(ended); i++ {
		if ended[i]-begun[i-limit] < window {
			t.Errorf("%d passed between %v and %v", limit+1, begun[i-limit], ended[i])
		}
	}
	if len(ended) < 2*limit {
		t.Errorf("only %d requests were allowed in four windows: capacity does not return", len(ended))
	}
	if n := metric(t, one, "ratelimit_decisions_total", "allowed_alone", "refused_alone"); n != 0 {
		t.Errorf("%v decisions were made alone", n)
	}
}

func TestRefusesWithoutNATS(t *testing.T) { // invariant 3
	one, two := newLimiter(t, testkit.Bus(t), 0), newLimiter(t, testkit.Bus(t), 0)
	run(t, one)
	run(t, two)
	one.Take(t.Context(), "first", 5) // has the stream made
	asked := published(t, one, 5)
	for i := range 20 {
		d := one.Take(t.Context(), "key_a", 5)
		want := Decision{Allowed: i < 5, Limit: 5, Remaining: max(4-i, 0)}
		reset := d.Reset
		d.Reset = 0
		if d != want || reset <= 0 || reset > Window+serverLag {
			t.Errorf("request %d got %+v, reset in %v", i+1, d, reset)
		}
	}
	if n := asked(); n != 5 {
		t.Errorf("%d requests were published, want those that passed", n)
	}
	t.Run("a process that received the count from another does not call NATS", func(t *testing.T) {
		testkit.Eventually(t, time.Minute, func() error { return checkCount(two, "key_a", 5) })
		if d := two.Take(t.Context(), "key_a", 5); d.Allowed || d.Reset < Window/2 {
			t.Errorf("got %+v", d)
		}
		if n := asked(); n != 5 {
			t.Errorf("%d requests were published", n)
		}
	})
	t.Run("a process without counts calls NATS, and then does not call again", func(t *testing.T) {
		three := newLimiter(t, one.bus, 0)
		for range 2 {
			if d := three.Take(t.Context(), "key_a", 5); d.Allowed || d.Reset != serverLag {
				t.Errorf("got %+v", d)
			}
		}
		if n := asked(); n < 6 || n > 10 { // the first call may try several times, as its limiter does not know the stream
			t.Errorf("%d requests were published", n)
		}
	})
}

// checkCount returns an error unless a limiter counts want requests of key.
func checkCount(l *Limiter, key string, want int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if n, _ := l.keys.get(key, now).within(now, l.window); n != want {
		return fmt.Errorf("the limiter counts %d requests", n)
	}
	return nil
}

func TestRemaining(t *testing.T) {
	one, two := newLimiter(t, testkit.Bus(t), 0), newLimiter(t, testkit.Bus(t), 0)
	run(t, one)
	run(t, two)
	if n := take(t, "key_a", 100, 30, one); n != 30 {
		t.Fatalf("%d of 30 passed", n)
	}
	testkit.Eventually(t, time.Minute, func() error { return checkCount(two, "key_a", 30) })
	if d := two.Take(t.Context(), "key_a", 100); !d.Allowed || d.Remaining != 69 || d.Reset > Window {
		t.Errorf("got %+v", d)
	}
	testkit.Eventually(t, time.Minute, func() error { return checkCount(one, "key_a", 31) })
	if n := take(t, "key_a", 100, 100, one, two); n != 69 {
		t.Errorf("%d passed, want as many as remained", n)
	}
}

func TestManyKeys(t *testing.T) { // invariant 6
	one, two := newLimiter(t, testkit.Bus(t), long), newLimiter(t, testkit.Bus(t), long)
	one.keys.most, two.keys.most = 500, 500
	const keys = 3000
	var wg sync.WaitGroup
	counts := make([]int, keys)
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < keys; i += 8 {
				counts[i] = take(t, fmt.Sprint("key_", i), 2, 4, one, two)
			}
		})
	}
	wg.Wait()
	for i, n := range counts {
		if n != 2 {
			t.Errorf("key %d: %d of 4 passed", i, n)
		}
	}
	for _, l := range []*Limiter{one, two} {
		if n := len(l.keys.entries); n > 500 {
			t.Errorf("%d keys are remembered", n)
		}
	}
	t.Run("that the process no longer remembers are still counted by the server", func(t *testing.T) {
		for i := range 100 {
			if n := take(t, fmt.Sprint("key_", i), 2, 2, one, two); n != 0 {
				t.Errorf("key %d: %d more passed", i, n)
			}
		}
	})
}

func TestCancelledRequest(t *testing.T) { // invariant 4
	l := newLimiter(t, testkit.Bus(t), 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has gone"))
	l.Take(ctx, "key_a", 5)
	if metric(t, l, "ratelimit_fallback") != 0 || l.pausedUntil != 0 {
		t.Error("a cancelled request started the fallback")
	}
	if d := l.Take(t.Context(), "key_b", 5); !d.Allowed || metric(t, l, "ratelimit_decisions_total", "allowed") != 1 {
		t.Errorf("got %+v", d)
	}
}

func BenchmarkTake(b *testing.B) {
	l := newLimiter(b, testkit.Bus(b), 0)
	run(b, l)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key_%026d", i)
	}
	b.Run("one after another", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			l.Take(b.Context(), keys[i%len(keys)], 1_000_000)
		}
	})
	b.Run("at once", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				l.Take(b.Context(), keys[i%len(keys)], 1_000_000)
			}
		})
	})
	b.Run("of a key that is full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Take(b.Context(), "key_full", 1)
		}
	})
}
