package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// write is a write of a test, identified by its pointer.
type write struct{ _ int }

// testQueue is a queue whose commits the test answers.
type testQueue struct {
	*Queue[string, string, *write]
	t       *testing.T
	commits chan commit
}

// commit is a commit that the test completes.
type commit struct {
	writes []*write
	wait   bool
	answer chan result
}

type result struct {
	left []int
	err  error
}

func newQueue(t *testing.T) *testQueue {
	commits := make(chan commit)
	return &testQueue{t: t, commits: commits, Queue: New[string](func(_ context.Context, _ string, writes []*write, wait bool) ([]int, error) {
		c := commit{writes, wait, make(chan result)}
		commits <- c
		r := <-c.answer
		return r.left, r.err
	})}
}

func (c commit) done() { c.answer <- result{} }

// add queues a write that names rows. The channel receives its outcome.
func (q *testQueue) add(key string, rows ...string) (*write, chan error) {
	return q.addWith(q.t.Context(), key, rows...)
}

func (q *testQueue) addWith(ctx context.Context, key string, rows ...string) (*write, chan error) {
	w := &write{}
	got := make(chan error, 1)
	go func() { got <- q.Do(ctx, key, w, rows...) }()
	return w, got
}

// addWaiting queues a write, and returns when n writes wait for the key.
func (q *testQueue) addWaiting(n int, key string, rows ...string) (*write, chan error) {
	w, got := q.add(key, rows...)
	q.waiting(key, n)
	return w, got
}

// waiting polls until n writes wait for the key.
func (q *testQueue) waiting(key string, n int) {
	q.t.Helper()
	testkit.Eventually(q.t, time.Minute, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		have := 0
		if waits := q.queues[key]; waits != nil {
			have = len(waits.waiting)
		}
		if have != n {
			return fmt.Errorf("%d wait, want %d", have, n)
		}
		return nil
	})
}

// idle polls until the queue has forgotten every key.
func (q *testQueue) idle() { q.t.Helper(); idle(q.t, q.Queue) }

func idle[R comparable, W any](t *testing.T, q *Queue[string, R, W]) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.queues) != 0 {
			return errors.New("a key is still busy")
		}
		return nil
	})
}

func (q *testQueue) want(c commit, writes ...*write) {
	q.t.Helper()
	if !slices.Equal(c.writes, writes) {
		q.t.Fatalf("%d writes share a commit, want %d others, or in another order", len(c.writes), len(writes))
	}
}

// Writes that arrive during a commit share the next one, in order, up to the maximum.
func TestWritesShareTheNextCommit(t *testing.T) { // invariant 1
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "row")
	alone := <-q.commits
	var order []*write
	var answers []chan error
	for n := range maxBatch + 2 {
		p, got := q.addWaiting(n+1, "a", "row")
		order, answers = append(order, p), append(answers, got)
	}
	alone.done()
	if err := <-first; err != nil || len(alone.writes) != 1 {
		t.Fatalf("%v, %d writes", err, len(alone.writes))
	}
	for _, want := range [][]*write{order[:maxBatch], order[maxBatch:]} {
		c := <-q.commits
		q.want(c, want...)
		c.done()
	}
	for _, got := range answers {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	q.idle()
}

func TestKeysDoNotWaitForEachOther(t *testing.T) { // invariant 5
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "row")
	_, second := q.add("b", "row")
	a, b := <-q.commits, <-q.commits
	a.done()
	b.done()
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
}

// A write never overtakes an earlier one that names a common row, also if the earlier one cannot
// start yet.
func TestOrderOfWritesWithCommonRows(t *testing.T) { // invariant 1
	t.Parallel()
	q := newQueue(t)
	_, x := q.add("a", "x")
	running := <-q.commits
	both, gotBoth := q.addWaiting(1, "a", "x", "y")
	onlyY, gotY := q.addWaiting(2, "a", "y")
	_, gotZ := q.add("a", "z")
	other := <-q.commits // the running commit waits for its own row only
	if len(other.writes) != 1 || other.writes[0] == onlyY {
		t.Fatal("y was committed before an earlier write")
	}
	other.done()
	running.done()
	c := <-q.commits
	q.want(c, both, onlyY)
	if c.wait {
		t.Error("a commit of several rows waits for locks")
	}
	c.done()
	if err := errors.Join(<-x, <-gotBoth, <-gotY, <-gotZ); err != nil {
		t.Error(err)
	}
	q.idle()
}

// Many waiting writes start a further commit of other rows, few do not.
func TestFurtherCommit(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	_, x := q.add("a", "x")
	first := <-q.commits
	var answers []chan error
	for n := range 2 {
		_, got := q.addWaiting(n+1, "a", "x")
		answers = append(answers, got)
	}
	_, got := q.addWaiting(3, "a", "x", "y")
	answers = append(answers, got)
	first.done()
	shared := <-q.commits // of two rows, and therefore it will end soon
	for n := range busyBatch - 1 {
		_, got := q.addWaiting(n+1, "a", fmt.Sprint("row", n))
		answers = append(answers, got)
	}
	_, got = q.add("a", "last")
	answers = append(answers, got)
	further := <-q.commits
	if len(shared.writes) != 3 || len(further.writes) != busyBatch {
		t.Errorf("%d and %d writes share commits", len(shared.writes), len(further.writes))
	}
	further.done()
	shared.done()
	for _, got := range append(answers, x) {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	q.idle()
}

// A write whose row is locked is tried again, and at last alone, while the others are committed.
func TestLockedRow(t *testing.T) { // invariant 3
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "x", "y")
	running := <-q.commits
	stuck, gotStuck := q.addWaiting(1, "a", "x")
	free, gotFree := q.addWaiting(2, "a", "y")
	running.done()
	c := <-q.commits
	q.want(c, stuck, free)
	c.answer <- result{left: []int{0}}
	if err := errors.Join(<-first, <-gotFree); err != nil {
		t.Fatal(err)
	}
	alone := <-q.commits
	q.want(alone, stuck)
	if !alone.wait {
		t.Error("a write that is alone does not wait for its lock")
	}
	// Others are committed while it waits, and a later write of the row stays behind it.
	later, gotLater := q.addWaiting(1, "a", "x")
	_, gotY := q.add("a", "y")
	other := <-q.commits
	other.done()
	alone.answer <- result{err: ErrLocked}
	alone = <-q.commits
	q.want(alone, stuck)
	alone.done()
	c = <-q.commits
	q.want(c, later)
	c.done()
	if err := errors.Join(<-gotStuck, <-gotLater, <-gotY); err != nil {
		t.Error(err)
	}
	q.idle()
}

// Of two writes that wait for their locks, the one with fewer attempts is first, so that a row that
// stays locked does not keep another one waiting.
func TestRowThatStaysLocked(t *testing.T) { // invariant 3
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "x", "y")
	running := <-q.commits
	x, gotX := q.addWaiting(1, "a", "x")
	y, gotY := q.addWaiting(2, "a", "y")
	running.done()
	for range maxSkips {
		c := <-q.commits
		q.want(c, x, y)
		c.answer <- result{left: []int{0, 1}}
	}
	for _, step := range []struct {
		write *write
		err   error
	}{{x, ErrLocked}, {y, ErrLocked}, {x, ErrLocked}, {y, nil}, {x, nil}} {
		c := <-q.commits
		q.want(c, step.write)
		c.answer <- result{err: step.err}
	}
	if err := errors.Join(<-first, <-gotX, <-gotY); err != nil {
		t.Error(err)
	}
	q.idle()
}

func TestFailedCommitIsTriedInHalves(t *testing.T) { // invariant 3
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "row")
	alone := <-q.commits
	good, gotGood := q.addWaiting(1, "a", "row")
	bad, gotBad := q.addWaiting(2, "a", "row")
	last, gotLast := q.addWaiting(3, "a", "row")
	alone.done()
	<-first
	trouble := errors.New("trouble")
	for _, step := range []struct {
		writes []*write
		err    error
	}{
		{[]*write{good, bad, last}, trouble},
		{[]*write{good}, nil},
		{[]*write{bad, last}, trouble},
		{[]*write{bad}, trouble},
		{[]*write{last}, nil},
	} {
		c := <-q.commits
		q.want(c, step.writes...)
		c.answer <- result{err: step.err}
	}
	if err := errors.Join(<-gotGood, <-gotLast); err != nil {
		t.Error(err)
	}
	if err := <-gotBad; !errors.Is(err, trouble) {
		t.Errorf("got %v", err)
	}
}

// A commit that may have been stored is not tried again (invariant 2 of the booking service), nor is
// one that failed because the database is unavailable.
func TestCommitThatIsNotTriedAgain(t *testing.T) { // invariant 4
	t.Parallel()
	for name, cause := range map[string]error{"uncertain": pg.ErrUncertain, "unavailable": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			_, first := q.add("a", "row")
			alone := <-q.commits
			_, second := q.addWaiting(1, "a", "row")
			_, third := q.addWaiting(2, "a", "row")
			alone.done()
			<-first
			(<-q.commits).answer <- result{err: fault.Away(fmt.Errorf("%w: connection lost", cause))}
			for _, got := range []chan error{second, third} {
				if err := <-got; !fault.Is(err, fault.Unavailable) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

// If a caller leaves while waiting, its write is not made, and the others are.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "row")
	alone := <-q.commits
	ctx, leave := context.WithCancel(t.Context())
	_, left := q.addWith(ctx, "a", "row")
	q.waiting("a", 1)
	stays, got := q.addWaiting(2, "a", "row")
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	alone.done()
	<-first
	c := <-q.commits
	q.want(c, stays)
	c.done()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestTooManyWrites(t *testing.T) { // invariant 5
	t.Parallel()
	q := newQueue(t)
	_, first := q.add("a", "row")
	running := <-q.commits
	for range maxWaiting {
		q.add("a", "row")
	}
	q.waiting("a", maxWaiting)
	err := q.Do(t.Context(), "a", &write{}, "row")
	if f := fault.From(err); f == nil || f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
	_, other := q.add("b", "row")
	(<-q.commits).done()
	_, admitted := q.add("a") // continues what was admitted before
	(<-q.commits).done()
	running.done()
	for range maxWaiting / maxBatch {
		(<-q.commits).done()
	}
	if err := errors.Join(<-first, <-other, <-admitted); err != nil {
		t.Error(err)
	}
	q.idle()
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	q := New[string](func(context.Context, string, []*write, bool) ([]int, error) {
		if calls.Add(1) > 1 {
			panic("trouble")
		}
		close(begun)
		<-hold
		return nil, nil
	})
	first, second := make(chan error), make(chan error)
	go func() { first <- q.Do(t.Context(), "a", &write{}, "row") }()
	<-begun
	go func() { second <- q.Do(t.Context(), "a", &write{}, "row") }()
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-second; err == nil {
		t.Error("no error")
	}
}

// TestRandomWrites commits random writes of few rows, some of which are locked or fail, and checks
// what the queue promises.
func TestRandomWrites(t *testing.T) { // invariants 1, 3 and 5
	t.Parallel()
	c := &randomCommits{t: t, running: map[int]bool{}, done: map[int][]int{}, hold: make(chan struct{})}
	q := New[int](c.commit)
	var all sync.WaitGroup
	add := func(n int, w *randomWrite) {
		all.Go(func() {
			want := 1
			if w.fails {
				want = 0
			}
			if err := q.Do(t.Context(), "a", w, w.rows...); (err != nil) != w.fails || w.commits != want {
				t.Errorf("got %v, %d commits", err, w.commits)
			}
		})
		// Each write is added when the one before it has arrived and few are waiting, so that the
		// order is known and no write is refused.
		deadline := time.Now().Add(time.Minute)
		for ready := false; !ready; runtime.Gosched() {
			q.mu.Lock()
			added := q.queues["a"]
			ready = added != nil && added.arrivals > n && len(added.waiting) < maxWaiting/2
			q.mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatalf("write %d has not arrived, or the writes before it are not committed", n)
			}
		}
	}
	add(0, &randomWrite{rows: []int{-1}, holds: true}) // so that the key is never idle
	for n := range 3000 {
		w := &randomWrite{number: n, fails: rand.IntN(50) == 0}
		for range rand.IntN(4) {
			w.rows = append(w.rows, rand.IntN(12))
		}
		add(n+1, w)
	}
	close(c.hold)
	all.Wait()
	for r, order := range c.done {
		if !slices.IsSorted(order) {
			t.Errorf("row %d: out of order", r)
		}
	}
	idle(t, q)
}

type randomWrite struct {
	rows    []int
	number  int
	fails   bool
	holds   bool
	commits int
}

type randomCommits struct {
	t       *testing.T
	hold    chan struct{}
	mu      sync.Mutex
	commits int          // running
	running map[int]bool // their rows
	done    map[int][]int
}

func (c *randomCommits) commit(_ context.Context, _ string, writes []*randomWrite, wait bool) (left []int, err error) {
	if writes[0].holds {
		<-c.hold
		writes[0].commits++
		return nil, nil
	}
	names := c.begin(writes)
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits--
	for r := range names {
		delete(c.running, r)
	}
	var locked []int
	if rand.IntN(10) == 0 {
		if wait {
			return nil, ErrLocked
		}
		locked = append(locked, rand.IntN(12))
	}
	if slices.ContainsFunc(writes, func(w *randomWrite) bool { return w.fails }) {
		return nil, errors.New("trouble")
	}
	for i, w := range writes {
		if slices.ContainsFunc(w.rows, func(r int) bool { return slices.Contains(locked, r) }) {
			left = append(left, i)
			locked = append(locked, w.rows...)
			continue
		}
		w.commits++
		for _, r := range w.rows {
			c.done[r] = append(c.done[r], w.number)
		}
	}
	return left, nil
}

// begin checks that no other running commit names the rows of writes, and returns them.
func (c *randomCommits) begin(writes []*randomWrite) map[int]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.commits++; c.commits > maxCommits {
		c.t.Errorf("%d commits run at the same time", c.commits)
	}
	names := map[int]bool{}
	for _, w := range writes {
		for _, r := range w.rows {
			if c.running[r] {
				c.t.Errorf("two commits name row %d", r)
			}
			names[r] = true
		}
	}
	maps.Copy(c.running, names)
	return names
}
