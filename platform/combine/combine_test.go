package combine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reservation.dev/platform/id"
)

func TestReads(t *testing.T) {
	ours, theirs := id.New[id.Company](), id.New[id.Company]()
	t.Run("start immediately if none is in progress", func(t *testing.T) {
		var reads [][]int
		r := New(func(_ context.Context, _ id.Company, keys []int) (map[int]string, error) {
			reads = append(reads, keys)
			return map[int]string{1: "one"}, nil
		})
		for key, want := range map[int]bool{1: true, 2: false} {
			if v, ok, err := r.Get(t.Context(), ours, key); err != nil || ok != want || ok && v != "one" {
				t.Errorf("%d: got %q, %v, %v", key, v, ok, err)
			}
		}
		if len(reads) != 2 || len(r.groups) != 0 {
			t.Errorf("read %v, %d groups with a read in progress", reads, len(r.groups))
		}
	})
	t.Run("that arrive during a round trip share the next one of their group", func(t *testing.T) {
		started, release := make(chan id.Company), make(chan struct{})
		var mu sync.Mutex
		reads := map[id.Company][][]int{}
		r := New(func(_ context.Context, c id.Company, keys []int) (map[int]id.Company, error) {
			slices.Sort(keys)
			mu.Lock()
			reads[c] = append(reads[c], keys)
			mu.Unlock()
			started <- c
			<-release
			found := map[int]id.Company{}
			for _, k := range keys {
				found[k] = c
			}
			return found, nil
		})
		var wg sync.WaitGroup
		get := func(c id.Company, key int) {
			wg.Go(func() {
				if v, ok, err := r.Get(t.Context(), c, key); err != nil || !ok || v != c {
					t.Errorf("got %v, %v, %v", v, ok, err)
				}
			})
		}
		get(ours, 0)
		<-started
		get(theirs, 0)
		<-started
		for _, key := range []int{3, 1, 2, 1} {
			get(ours, key)
		}
		for waiting := 0; waiting < 3; {
			r.mu.Lock()
			if g := r.groups[ours]; g != nil && len(g.waiting) > 0 {
				waiting = len(g.waiting[0].keys)
			}
			r.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		close(release)
		if c := <-started; c != ours {
			t.Errorf("read for %v", c)
		}
		wg.Wait()
		if got := reads[ours]; len(got) != 2 || !slices.Equal(got[1], []int{1, 2, 3}) || len(reads[theirs]) != 1 {
			t.Errorf("read %v", reads)
		}
	})
	t.Run("do not wait for a round trip that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			hung := make(chan struct{})
			r := New(func(_ context.Context, _ id.Company, keys []int) (map[int]int, error) {
				if slices.Contains(keys, 0) {
					<-hung
				}
				found := map[int]int{}
				for _, k := range keys {
					found[k] = k
				}
				return found, nil
			})
			var first, others sync.WaitGroup
			get := func(wg *sync.WaitGroup, key int) {
				wg.Go(func() {
					if v, ok, err := r.Get(t.Context(), ours, key); v != key || !ok || err != nil {
						t.Errorf("%d: got %v, %v, %v", key, v, ok, err)
					}
				})
				synctest.Wait()
			}
			get(&first, 0)
			get(&others, 1)
			time.Sleep(slow)
			get(&others, 2)
			if n := len(r.groups[ours].waiting[0].keys); n != 2 {
				t.Errorf("%d reads wait for one that is not slow yet", n)
			}
			time.Sleep(time.Nanosecond)
			get(&others, 3)
			others.Wait()
			close(hung)
			first.Wait()
			if len(r.groups) != 0 {
				t.Errorf("%d groups with a read in progress", len(r.groups))
			}
		})
	})
	t.Run("see what was committed before they were called", func(t *testing.T) {
		var committed atomic.Int64
		r := New(func(context.Context, id.Company, []int) (map[int]int64, error) {
			seen := committed.Load()
			time.Sleep(50 * time.Microsecond)
			return map[int]int64{0: seen}, nil
		})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 200 {
					asked := committed.Add(1)
					if seen, _, err := r.Get(t.Context(), ours, 0); err != nil || seen < asked {
						t.Errorf("saw %d after %d, %v", seen, asked, err)
					}
				}
			})
		}
		wg.Wait()
		for left := 1; left > 0; { // wait until no read is in progress
			r.mu.Lock()
			left = len(r.groups)
			r.mu.Unlock()
		}
	})
}

func TestReadsWithManyCallers(t *testing.T) {
	ours := id.New[id.Company]()
	t.Run("split more keys than a batch can have", func(t *testing.T) {
		var most atomic.Int64
		r := New(func(_ context.Context, _ id.Company, keys []int) (map[int]int, error) {
			most.Store(max(most.Load(), int64(len(keys))))
			time.Sleep(time.Millisecond)
			return map[int]int{keys[0]: keys[0]}, nil
		})
		var wg sync.WaitGroup
		for key := range 3 * mostKeys {
			wg.Go(func() { _, _, _ = r.Get(t.Context(), ours, key) })
		}
		wg.Wait()
		if n := most.Load(); n > mostKeys || n < 2 {
			t.Errorf("%d keys shared a read", n)
		}
	})
	t.Run("end for a cancelled caller only", func(t *testing.T) {
		release, started := make(chan struct{}), make(chan struct{}, 2)
		r := New(func(ctx context.Context, _ id.Company, _ []int) (map[int]int, error) {
			started <- struct{}{}
			<-release
			return map[int]int{0: 1}, ctx.Err()
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = r.Get(t.Context(), ours, 0) })
		<-started
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := r.Get(ctx, ours, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		// A caller that joins the batch of the cancelled one still gets the value.
		wg.Go(func() {
			if v, ok, err := r.Get(t.Context(), ours, 0); v != 1 || !ok || err != nil {
				t.Errorf("got %v, %v, %v", v, ok, err)
			}
		})
		close(release)
		wg.Wait()
	})
	t.Run("that panic fail without affecting the next", func(t *testing.T) {
		n := 0
		r := New(func(context.Context, id.Company, []int) (map[int]int, error) {
			if n++; n == 1 {
				panic("ouch")
			}
			return map[int]int{0: 1}, nil
		})
		if _, _, err := r.Get(t.Context(), ours, 0); err == nil || !strings.Contains(err.Error(), "ouch") {
			t.Errorf("got %v", err)
		}
		if _, ok, err := r.Get(t.Context(), ours, 0); !ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
	})
}
