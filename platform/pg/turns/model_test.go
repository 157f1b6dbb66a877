package turns

import (
	"errors"
	"fmt"
	"slices"
)

// model is the specification of Turns without regard to cost: it counts everything again each time.
type model struct {
	n        int
	requests []*request // in the order of their arrival
	rotation [classes][]int
	next     Class
}

// request is a request that has a turn or waits for one.
type request struct {
	key     int
	class   Class
	has     bool
	turn    Turn[int]
	w       *waiter
	overdue map[int]int // turns of its class that other companies got while it waited and held nothing
}

// keys is the number of companies in a run.
const keys = 5

// run does the steps with both, and returns the first difference or broken invariant.
func run(n int, steps []byte) error {
	turns, m := New[int](n), &model{n: n}
	for i, step := range steps {
		if err := m.step(turns, step); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := errors.Join(m.compare(turns), m.check()); err != nil {
			return fmt.Errorf("after step %d: %w", i, err)
		}
	}
	for len(m.requests) > 0 {
		m.remove(turns, m.requests[0])
	}
	if turns.held != [classes]int{} || turns.waiting != 0 || len(turns.companies) != 0 {
		return fmt.Errorf("at the end %v are held, %d wait, %d companies are kept", turns.held, turns.waiting, len(turns.companies))
	}
	return nil
}

// step is an arrival, or the end or departure of a request. More arrive than leave until many wait.
func (m *model) step(turns *Turns[int], step byte) error {
	kind, which := int(step%8), int(step/8)
	if kind < 5 && len(m.requests) < 40 || len(m.requests) == 0 {
		// Company 0 has about half of the requests.
		key := max(0, which%(2*keys-1)-keys+1)
		return m.arrive(turns, key, Class(kind%classes))
	}
	m.remove(turns, m.requests[which%len(m.requests)])
	return nil
}

func (m *model) arrive(turns *Turns[int], key int, class Class) error {
	r := &request{key: key, class: class, overdue: map[int]int{}}
	var err error
	if r.turn, r.w, err = turns.request(key, class); err != nil {
		return err
	}
	r.has = m.isAllowed(r)
	if !r.has && !slices.Contains(m.rotation[class], key) {
		m.rotation[class] = append(m.rotation[class], key)
	}
	m.requests = append(m.requests, r)
	if r.has {
		m.count(r)
	}
	return nil
}

// remove ends a request's turn, or lets it leave the queue.
func (m *model) remove(turns *Turns[int], r *request) {
	if r.w == nil {
		r.turn.End()
	} else {
		turns.leave(r.turn, r.w) // ends the turn, if it has one
	}
	m.requests = slices.DeleteFunc(m.requests, func(other *request) bool { return other == r })
	m.tidy(r.key, r.class)
	for m.grantNext() {
	}
}

// tidy removes a company without waiting requests from the rotation.
func (m *model) tidy(key int, class Class) {
	if m.oldest(key, class) == nil {
		m.rotation[class] = slices.DeleteFunc(m.rotation[class], func(other int) bool { return other == key })
	}
}

func (m *model) oldest(key int, class Class) *request {
	for _, r := range m.requests {
		if !r.has && r.key == key && r.class == class {
			return r
		}
	}
	return nil
}

func (m *model) grantNext() bool {
	for range classes {
		class := m.next
		m.next = (m.next + 1) % classes
		for _, key := range m.rotation[class] {
			r := m.oldest(key, class)
			if !m.isAllowed(r) {
				continue
			}
			r.has = true
			m.rotation[class] = slices.DeleteFunc(m.rotation[class], func(other int) bool { return other == key })
			if m.oldest(key, class) != nil {
				m.rotation[class] = append(m.rotation[class], key)
			}
			m.count(r)
			return true
		}
	}
	return false
}

// count records a turn for the requests that wait for one of the same class.
func (m *model) count(granted *request) {
	for _, r := range m.requests {
		if !r.has && r.class == granted.class && r.key != granted.key {
			r.overdue[granted.key]++
		}
	}
}

// held counts the turns of a class or longer, of one company or, with key -1, of all.
func (m *model) held(level Class, key int) (n int) {
	for _, r := range m.requests {
		if r.has && r.class >= level && (key < 0 || r.key == key) {
			n++
		}
	}
	return n
}

// limit is the most turns of a class or longer: the second and third line of the table.
func (m *model) limit(level Class) int {
	switch {
	case level == Read:
		return m.n
	case level == Write && m.n > 1:
		return m.n - max(1, m.n/4)
	}
	return max(1, m.n/4)
}

func (m *model) isAllowed(r *request) bool {
	free, share := true, true
	for level := Read; level <= r.class; level++ {
		own, all := m.held(level, r.key), m.held(level, -1)
		free = free && all < m.limit(level)
		share = share && (own == 0 || 4*(own+1) <= 3*(m.limit(level)-all+own))
	}
	firstRead := r.class == Read && m.held(Read, r.key) == m.held(Write, r.key)
	return free && (share || firstRead)
}

// compare checks that the same requests have their turns.
func (m *model) compare(turns *Turns[int]) error {
	for _, r := range m.requests {
		if got := r.w == nil || isGranted(r.w); got != r.has {
			return fmt.Errorf("a %s of company %d has its turn: %v, want %v", r.class, r.key, got, r.has)
		}
	}
	return nil
}

// check checks the invariants that are not part of the rules themselves.
func (m *model) check() error {
	for level := Read; level < classes; level++ {
		if held := m.held(level, -1); held > m.limit(level) {
			return fmt.Errorf("invariant 1: %d turns of the class %s or longer", held, level)
		}
	}
	reads := m.held(Read, -1) - m.held(Write, -1)
	for _, r := range m.requests {
		if r.has {
			continue
		}
		if m.isAllowed(r) {
			return fmt.Errorf("invariant 5: a %s of company %d waits but need not", r.class, r.key)
		}
		if r.class == Read && reads == 0 && m.n > 1 {
			return fmt.Errorf("invariant 4: a read of company %d waits and no read is in progress", r.key)
		}
		if m.held(Read, r.key) > 0 {
			continue
		}
		if enough := map[Class]int{Read: 3, Write: 3, Stream: 8}[r.class]; m.holders() == 1 && m.n >= enough {
			return fmt.Errorf("invariant 3: a %s of company %d waits for one other company", r.class, r.key)
		}
	}
	return m.checkRotation()
}

// checkRotation checks invariant 6 for the companies that have held nothing since they began to wait.
func (m *model) checkRotation() error {
	for _, r := range m.requests {
		if m.held(Read, r.key) > 0 || m.oldest(r.key, r.class) != r {
			clear(r.overdue)
		}
		for key, turns := range r.overdue {
			if !r.has && turns > 1 {
				return fmt.Errorf("invariant 6: company %d got %d turns while a %s of company %d waited", key, turns, r.class, r.key)
			}
		}
	}
	return nil
}

// holders counts the companies that hold turns.
func (m *model) holders() (n int) {
	for key := range keys {
		if m.held(Read, key) > 0 {
			n++
		}
	}
	return n
}
