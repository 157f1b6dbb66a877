package turns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShares checks the table of the package's documentation.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ n, long, streams, own, ownLong int }{
		{1, 1, 1, 1, 1},
		{2, 1, 1, 2, 1},
		{3, 2, 1, 2, 1},
		{4, 3, 1, 3, 2},
		{8, 6, 2, 6, 4},
		{16, 12, 4, 12, 9},
		{32, 24, 8, 24, 18},
	} {
		t.Run(fmt.Sprint(row.n, " connections are shared as documented"), func(t *testing.T) {
			t.Parallel()
			// Each request is of another company, so only the limits of the classes apply.
			for class, want := range map[Class]int{Read: row.n, Write: row.long, Stream: row.streams} {
				if got := takeAll(New[int](row.n), class, func(i int) int { return i }); got != want {
					t.Errorf("%d turns of the class %s, want %d", got, class, want)
				}
			}
			own := func(int) int { return 1 }
			all := New[int](row.n)
			long := takeAll(all, Write, own)
			if long != row.ownLong {
				t.Errorf("a company has %d writes, want %d", long, row.ownLong)
			}
			if total := long + takeAll(all, Read, own); total != row.own {
				t.Errorf("a company has %d turns, want %d", total, row.own)
			}
		})
	}
}

// takeAll takes turns until one has to wait, and returns how many it got.
func takeAll(turns *Turns[int], class Class, key func(i int) int) int {
	for i := range 1000 {
		if _, w, _ := turns.request(key(i), class); w != nil {
			return i
		}
	}
	return 1000
}

// TestModel compares random arrivals, ends and departures with a simple model, and checks the
// invariants after every step.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 5, 8, 11} {
		t.Run(fmt.Sprint(n, " connections"), func(t *testing.T) {
			t.Parallel()
			for range 5 {
				seed := rand.Uint64()
				random := rand.New(rand.NewPCG(seed, 0))
				steps := make([]byte, 1000)
				for i := range steps {
					steps[i] = byte(random.Uint32())
				}
				if err := run(n, steps); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// FuzzTurns runs TestModel's comparison with other sequences of steps.
func FuzzTurns(f *testing.F) {
	f.Add(uint8(8), []byte("the first steps of a company with many requests and of one with few"))
	f.Add(uint8(1), []byte{0, 8, 16, 1, 9, 17, 3, 3, 3, 6, 6, 6})
	f.Fuzz(func(t *testing.T, n uint8, steps []byte) {
		if err := run(int(n%32)+1, steps); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTake(t *testing.T) {
	t.Parallel()
	t.Run("a waiting request gets the turn that ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := New[string](1)
			first := take(t, turns, "a", Write)
			got := make(chan Turn[string])
			go func() { got <- take(t, turns, "b", Read) }()
			synctest.Wait()
			if s := turns.Stats(Read); s.Waiting != 1 {
				t.Fatalf("%+v", s)
			}
			time.Sleep(time.Second)
			if s := turns.Stats(Read); s.Oldest != time.Second {
				t.Fatalf("%+v", s)
			}
			first.End()
			(<-got).End()
			if s := turns.Stats(Read); s != (Stats{Waits: 1, Waited: time.Second}) {
				t.Fatalf("%+v", s)
			}
			checkEmpty(t, turns)
		})
	})
	t.Run("a request whose context ends leaves the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := New[string](1)
			first := take(t, turns, "a", Write)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := turns.Take(ctx, "b", Read); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if s := turns.Stats(Read); s != (Stats{GaveUp: 1}) {
				t.Fatalf("%+v", s)
			}
			first.End()
			checkEmpty(t, turns)
		})
	})
	t.Run("a turn given to a request that leaves at the same moment is passed on", func(t *testing.T) {
		t.Parallel()
		turns := New[string](1)
		first := take(t, turns, "a", Read)
		leaver, w, _ := turns.request("b", Read)
		_, next, _ := turns.request("c", Read)
		first.End()
		if !isGranted(w) || isGranted(next) {
			t.Fatal("the turn did not go to the first request")
		}
		turns.leave(leaver, w)
		if !isGranted(next) {
			t.Fatal("the turn was lost")
		}
	})
	t.Run("an ended turn wakes every request that may now take one", func(t *testing.T) {
		t.Parallel()
		// With four writes of others, a may hold one; when they end, up to four.
		turns := New[string](8)
		var others []Turn[string]
		for i := range 4 {
			others = append(others, take(t, turns, fmt.Sprint("other ", i), Write))
		}
		take(t, turns, "a", Write)
		var waiting []*waiter
		for range 4 {
			_, w, _ := turns.request("a", Write)
			waiting = append(waiting, w)
		}
		for i, want := range []int{1, 2, 2, 3} {
			others[i].End()
			got := 0
			for _, w := range waiting {
				if isGranted(w) {
					got++
				}
			}
			if got != want {
				t.Errorf("after %d ends, %d of the waiting requests have turns, want %d", i+1, got, want)
			}
		}
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	t.Run("a company's queue of a class is bounded, and no other queue is affected", func(t *testing.T) {
		t.Parallel()
		turns := New[int](8)
		for i := range 4 + maxQueue {
			if _, _, err := turns.request(1, Write); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		for range 3 {
			if _, _, err := turns.request(1, Write); !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
		}
		if s := turns.Stats(Write); s.Held != 4 || s.Waiting != maxQueue || s.Refused != 3 {
			t.Fatalf("%+v", s)
		}
		for _, request := range []struct {
			key   int
			class Class
		}{{1, Read}, {2, Write}, {2, Read}} {
			if _, w, err := turns.request(request.key, request.class); w != nil || err != nil {
				t.Errorf("a %s of company %d has to wait, or failed: %v", request.class, request.key, err)
			}
		}
	})
	t.Run("a company can still queue while fifty others fill their queues", func(t *testing.T) {
		t.Parallel()
		turns := New[int](8)
		for key := range 50 {
			for {
				if _, _, err := turns.request(key, Write); err != nil {
					break
				}
			}
		}
		if _, w, err := turns.request(50, Write); w == nil || err != nil {
			t.Error(err)
		}
		if waiting := turns.Stats(Write).Waiting; waiting <= maxQueue || waiting > maxWaiting {
			t.Errorf("%d wait", waiting)
		}
	})
	t.Run("a request that is refused leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		turns := New[int](1)
		refused := 0
		for key := range 2 * maxWaiting {
			if _, _, err := turns.request(key, Read); err != nil {
				refused++
			}
		}
		if kept := len(turns.companies); refused == 0 || kept != 2*maxWaiting-refused {
			t.Errorf("%d were refused, %d companies are kept", refused, kept)
		}
	})
}

// TestConcurrently takes turns from many goroutines, some of which give up, and checks the limits.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	const callers, rounds, connections = 64, 200, 5
	turns := New[int](connections)
	var held [classes]atomic.Int64
	var took, gaveUp atomic.Int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for round := range rounds {
				class := Class((caller + round) % classes)
				ctx, cancel := context.WithCancel(t.Context())
				if round%3 == 0 {
					go cancel()
				}
				turn, err := turns.Take(ctx, caller%7, class)
				if err != nil {
					gaveUp.Add(1)
					cancel()
					continue
				}
				for level := Read; level <= class; level++ {
					if now := held[level].Add(1); now > int64(turns.limits[level]) {
						t.Errorf("%d turns of the class %s or longer", now, level)
					}
				}
				took.Add(1)
				for level := Read; level <= class; level++ {
					held[level].Add(-1)
				}
				turn.End()
				cancel()
			}
		})
	}
	wg.Wait()
	if took.Load()+gaveUp.Load() != callers*rounds || took.Load() < callers*rounds/2 {
		t.Errorf("%d got a turn, %d gave up", took.Load(), gaveUp.Load())
	}
	checkEmpty(t, turns)
}

// BenchmarkTake measures what a turn costs a request that need not wait.
func BenchmarkTake(b *testing.B) {
	turns := New[string](8)
	b.ReportAllocs()
	for b.Loop() {
		turn, err := turns.Take(b.Context(), "a8a3f6a0-0000-4000-8000-000000000000", Read)
		if err != nil {
			b.Fatal(err)
		}
		turn.End()
	}
}

func take(t *testing.T, turns *Turns[string], key string, class Class) Turn[string] {
	t.Helper()
	turn, err := turns.Take(t.Context(), key, class)
	if err != nil {
		t.Error(err)
	}
	return turn
}

func isGranted(w *waiter) bool {
	select {
	case <-w.granted:
		return true
	default:
		return false
	}
}

// checkEmpty checks that nothing is held and nobody is remembered (invariant 9).
func checkEmpty[K comparable](t *testing.T, turns *Turns[K]) {
	t.Helper()
	if turns.held != [classes]int{} || turns.waiting != 0 || len(turns.companies) != 0 {
		t.Errorf("held %v, waiting %d, companies %d", turns.held, turns.waiting, len(turns.companies))
	}
}
