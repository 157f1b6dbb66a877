package turns

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Class is what a turn is for, in the order of how long it can last.
type Class int

// The classes.
const (
	Read Class = iota
	Write
	Stream

	classes = 3
)

// String returns the class as a label: read, write or stream.
func (c Class) String() string { return [classes]string{"read", "write", "stream"}[c] }

const (
	// maxQueue is how many requests of a company can wait for a class. A company with four writes
	// at a time, of four milliseconds each, ends as many in less than half a second. Callers wait for
	// five seconds, so a queue that is full has stopped, and a longer one would only use memory.
	maxQueue = 384
	// maxWaiting is how many requests can wait altogether. A queue can take an eighth of the room
	// that is left, so that the queues of a few companies never leave no room for another.
	maxWaiting = 8192
)

// ErrFull is the error of a request beyond the length of its company's queue.
var ErrFull = errors.New("too many requests of the company are waiting for a connection")

// Turns gives the turns of one pool to keys K. It is safe for concurrent use.
type Turns[K comparable] struct {
	mu sync.Mutex
	// limits[c] is the most turns of class c and the classes after it, and held[c] is how many of
	// them are taken.
	limits, held [classes]int
	companies    map[K]*company[K] // those that hold a turn or wait for one
	spare        []*company[K]     // for reuse
	// rings has the queues in which somebody waits, by class. The first of them is the next to
	// get a turn.
	rings   [classes]list.List // of *queue[K]
	next    Class              // the class that gets the next turn
	waiting int
	stats   [classes]Stats
}

// company is a key that holds a turn or waits for one.
type company[K comparable] struct {
	key    K
	held   [classes]int // turns of each class and the classes after it
	queues [classes]queue[K]
}

// queue has the requests of a company that wait for a class, the oldest first.
type queue[K comparable] struct {
	company *company[K]
	waiters list.List     // of *waiter
	place   *list.Element // in the ring; nil if nobody waits
}

type waiter struct {
	since   time.Time
	granted chan struct{} // closed when the request has its turn
	place   *list.Element // in its queue; nil once the request has its turn
}

// Turn is a turn that is held. End it exactly once.
type Turn[K comparable] struct {
	turns   *Turns[K]
	company *company[K]
	class   Class
}

// Stats describes a class.
type Stats struct {
	Held    int           // turns that are taken
	Waiting int           // requests that wait now
	Oldest  time.Duration // how long the oldest of them has waited
	Waits   int64         // requests that had to wait and got their turn
	Waited  time.Duration // how long those waited altogether
	GaveUp  int64         // requests whose context ended while they waited
	Refused int64         // requests that failed with ErrFull
}

// New returns the turns of a pool with n connections.
func New[K comparable](n int) *Turns[K] {
	quarter := max(1, n/4)
	return &Turns[K]{
		limits:    [classes]int{Read: n, Write: max(1, n-quarter), Stream: quarter},
		companies: map[K]*company[K]{},
	}
}

// Take returns a turn, and waits for it if necessary. It returns the error of ctx, or ErrFull.
func (t *Turns[K]) Take(ctx context.Context, key K, class Class) (Turn[K], error) {
	turn, w, err := t.request(key, class)
	if w == nil {
		return turn, err
	}
	select {
	case <-w.granted:
		return turn, nil
	case <-ctx.Done():
		t.leave(turn, w)
		return Turn[K]{}, ctx.Err()
	}
}

// request takes a turn without waiting. If that is not possible, it returns the turn as the one
// that the request waits for in its queue.
func (t *Turns[K]) request(key K, class Class) (Turn[K], *waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.company(key)
	if t.isAllowed(c, class) {
		t.add(c, class, 1)
		return Turn[K]{t, c, class}, nil, nil
	}
	q := &c.queues[class]
	if q.waiters.Len() >= min(maxQueue, (maxWaiting-t.waiting)/8) {
		t.stats[class].Refused++
		t.forget(c)
		return Turn[K]{}, nil, ErrFull
	}
	w := &waiter{since: time.Now(), granted: make(chan struct{})}
	t.enqueue(q, class, w)
	return Turn[K]{t, c, class}, w, nil
}

// End gives the turn back.
func (turn Turn[K]) End() {
	t := turn.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(turn.company, turn.class)
}

// isAllowed reports whether a company may take a turn now (invariants 1 and 2).
func (t *Turns[K]) isAllowed(c *company[K], class Class) bool {
	for level := Read; level <= class; level++ {
		if t.held[level] >= t.limits[level] {
			return false
		}
	}
	if class == Read && c.held[Read] == c.held[Write] {
		return true // the company's only read
	}
	for level := Read; level <= class; level++ {
		left := t.limits[level] - (t.held[level] - c.held[level]) // by the other companies
		if c.held[level] >= max(1, left*3/4) {
			return false
		}
	}
	return true
}

// add adds n to the turns that a company holds.
func (t *Turns[K]) add(c *company[K], class Class, n int) {
	for level := Read; level <= class; level++ {
		t.held[level] += n
		c.held[level] += n
	}
}

func (t *Turns[K]) end(c *company[K], class Class) {
	t.add(c, class, -1)
	for t.waiting > 0 && t.grantNext() {
	}
	t.forget(c)
}

// enqueue adds a request to the end of its queue.
func (t *Turns[K]) enqueue(q *queue[K], class Class, w *waiter) {
	w.place = q.waiters.PushBack(w)
	if q.place == nil {
		q.place = t.rings[class].PushBack(q)
	}
	t.waiting++
}

// dequeue removes a request from its queue.
func (t *Turns[K]) dequeue(q *queue[K], class Class, w *waiter) {
	q.waiters.Remove(w.place)
	w.place = nil
	if q.waiters.Len() == 0 {
		t.rings[class].Remove(q.place)
		q.place = nil
	}
	t.waiting--
}

// leave removes a request whose context has ended. If it was just given its turn, leave ends it.
func (t *Turns[K]) leave(turn Turn[K], w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.place == nil {
		t.end(turn.company, turn.class)
		return
	}
	// No turn becomes free, so nobody else may take one because of this.
	t.stats[turn.class].GaveUp++
	t.dequeue(&turn.company.queues[turn.class], turn.class, w)
	t.forget(turn.company)
}

// grantNext gives a turn to the request whose turn it is, and reports whether there was one that
// may take a turn (invariant 5).
func (t *Turns[K]) grantNext() bool {
	for i := range Class(classes) {
		class := (t.next + i) % classes
		if q := t.nextQueue(class); q != nil {
			t.grant(q, class)
			t.next = (class + 1) % classes
			return true
		}
	}
	return false
}

// nextQueue returns the first queue of a class whose company may take a turn. The companies before it
// hold turns, so they are no more than there are connections.
func (t *Turns[K]) nextQueue(class Class) *queue[K] {
	for level := Read; level <= class; level++ {
		if t.held[level] >= t.limits[level] {
			return nil
		}
	}
	for e := t.rings[class].Front(); e != nil; e = e.Next() {
		if q := e.Value.(*queue[K]); t.isAllowed(q.company, class) {
			return q
		}
	}
	return nil
}

// grant gives a turn to the first request of a queue, and moves the queue to the end of its ring.
func (t *Turns[K]) grant(q *queue[K], class Class) {
	w := q.waiters.Front().Value.(*waiter)
	t.dequeue(q, class, w)
	if q.place != nil {
		t.rings[class].MoveToBack(q.place)
	}
	t.add(q.company, class, 1)
	t.stats[class].Waits++
	t.stats[class].Waited += time.Since(w.since)
	close(w.granted)
}

// company returns the company of a key.
func (t *Turns[K]) company(key K) *company[K] {
	if c := t.companies[key]; c != nil {
		return c
	}
	var c *company[K]
	if last := len(t.spare) - 1; last >= 0 {
		c, t.spare = t.spare[last], t.spare[:last]
	} else {
		c = &company[K]{}
		for class := range c.queues {
			c.queues[class].company = c
		}
	}
	c.key = key
	t.companies[key] = c
	return c
}

// forget removes a company that neither holds a turn nor waits for one.
func (t *Turns[K]) forget(c *company[K]) {
	if c.held[Read] > 0 {
		return
	}
	for class := range c.queues {
		if c.queues[class].place != nil {
			return
		}
	}
	delete(t.companies, c.key)
	if len(t.spare) < t.limits[Read] {
		t.spare = append(t.spare, c)
	}
}

// Stats returns the state of a class.
func (t *Turns[K]) Stats(class Class) Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats[class]
	s.Held = t.held[class]
	if class < Stream {
		s.Held -= t.held[class+1]
	}
	for e := t.rings[class].Front(); e != nil; e = e.Next() {
		q := e.Value.(*queue[K])
		s.Waiting += q.waiters.Len()
		s.Oldest = max(s.Oldest, time.Since(q.waiters.Front().Value.(*waiter).since))
	}
	return s
}
