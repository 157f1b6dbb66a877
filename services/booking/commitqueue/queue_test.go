package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// write is a write of a test, identified by its pointer.
type write struct{ _ int }

// add queues a write of a key. The channel receives its outcome.
func add(ctx context.Context, q *Queue[string, *write], key string) (*write, chan error) {
	w := &write{}
	got := make(chan error, 1)
	go func() { got <- q.Do(ctx, key, w) }()
	return w, got
}

// waiting polls until n writes wait for the key.
func waiting(t *testing.T, q *Queue[string, *write], key string, n int) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		have := 0
		if waits := q.queues[key]; waits != nil {
			have = len(waits.tickets)
		}
		if have != n {
			return fmt.Errorf("%d wait, want %d", have, n)
		}
		return nil
	})
}

// commit is a commit that the test completes.
type commit struct {
	writes []*write
	answer chan error
}

func gate() (*Queue[string, *write], chan commit) {
	commits := make(chan commit)
	return New(func(_ context.Context, _ string, writes []*write) error {
		c := commit{writes, make(chan error)}
		commits <- c
		return <-c.answer
	}), commits
}

// Writes that arrive during a commit share the next one, in order, up to the maximum.
func TestWritesShareTheNextCommit(t *testing.T) {
	t.Parallel()
	q, commits := gate()
	_, first := add(t.Context(), q, "a")
	alone := <-commits
	var order []*write
	var answers []chan error
	for n := range maxBatch + 2 {
		p, got := add(t.Context(), q, "a")
		order, answers = append(order, p), append(answers, got)
		waiting(t, q, "a", n+1)
	}
	alone.answer <- nil
	if err := <-first; err != nil || len(alone.writes) != 1 {
		t.Fatalf("%v, %d writes", err, len(alone.writes))
	}
	for _, want := range [][]*write{order[:maxBatch], order[maxBatch:]} {
		c := <-commits
		if len(c.writes) != len(want) {
			t.Fatalf("%d share a commit, want %d", len(c.writes), len(want))
		}
		for i := range want {
			if c.writes[i] != want[i] {
				t.Fatalf("number %d is out of turn", i)
			}
		}
		c.answer <- nil
	}
	for _, got := range answers {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.queues) != 0 {
			return errors.New("the key is still busy")
		}
		return nil
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	q, commits := gate()
	_, first := add(t.Context(), q, "a")
	_, second := add(t.Context(), q, "b")
	a, b := <-commits, <-commits
	a.answer <- nil
	b.answer <- nil
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
}

func TestFailedCommitIsTriedOneByOne(t *testing.T) {
	t.Parallel()
	q, commits := gate()
	_, first := add(t.Context(), q, "a")
	alone := <-commits
	_, good := add(t.Context(), q, "a")
	waiting(t, q, "a", 1)
	_, bad := add(t.Context(), q, "a")
	waiting(t, q, "a", 2)
	alone.answer <- nil
	<-first
	trouble := errors.New("trouble")
	(<-commits).answer <- trouble
	(<-commits).answer <- nil
	(<-commits).answer <- trouble
	if err := <-good; err != nil {
		t.Error(err)
	}
	if err := <-bad; !errors.Is(err, trouble) {
		t.Errorf("got %v", err)
	}
}

// A commit that may have been stored is not tried again (invariant 2 of the booking service).
func TestUncertainCommitIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	q, commits := gate()
	_, first := add(t.Context(), q, "a")
	alone := <-commits
	_, second := add(t.Context(), q, "a")
	waiting(t, q, "a", 1)
	_, third := add(t.Context(), q, "a")
	waiting(t, q, "a", 2)
	alone.answer <- nil
	<-first
	(<-commits).answer <- fault.Away(fmt.Errorf("%w: connection lost", pg.ErrUncertain))
	for _, got := range []chan error{second, third} {
		if err := <-got; !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
	}
}

// If a caller leaves while waiting, its write is not made, and the others are.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	q, commits := gate()
	_, first := add(t.Context(), q, "a")
	alone := <-commits
	ctx, leave := context.WithCancel(t.Context())
	gone, left := add(ctx, q, "a")
	waiting(t, q, "a", 1)
	stays, got := add(t.Context(), q, "a")
	waiting(t, q, "a", 2)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	alone.answer <- nil
	<-first
	c := <-commits
	if len(c.writes) != 1 || c.writes[0] != stays || c.writes[0] == gone {
		t.Errorf("%d share the commit", len(c.writes))
	}
	c.answer <- nil
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	q := New(func(context.Context, string, []*write) error {
		if calls.Add(1) > 1 {
			panic("trouble")
		}
		close(begun)
		<-hold
		return nil
	})
	_, first := add(t.Context(), q, "a")
	<-begun
	_, second := add(t.Context(), q, "a")
	waiting(t, q, "a", 1)
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-second; err == nil {
		t.Error("no error")
	}
}
