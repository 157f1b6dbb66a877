package media

import "sync"

// slots bounds the work that is in progress, of one holder, which is a company or a player, and of the
// process. // invariant 13
type slots[K comparable] struct {
	each, total int

	mu    sync.Mutex
	used  int
	using map[K]int
}

func newSlots[K comparable](each, total int) *slots[K] {
	return &slots[K]{each: each, total: total, using: map[K]int{}}
}

// take takes a slot for a holder. It returns nil if none is free; otherwise the caller calls release
// once.
func (s *slots[K]) take(holder K) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.total || s.using[holder] >= s.each {
		return nil
	}
	s.used++
	s.using[holder]++
	return func() { s.release(holder) }
}

func (s *slots[K]) release(holder K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.using[holder]--; s.using[holder] == 0 {
		delete(s.using, holder)
	}
}

// inUse returns the number of slots that are taken.
func (s *slots[K]) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// busy returns the holders that have no free slot.
func (s *slots[K]) busy() (holders []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for holder, n := range s.using {
		if n >= s.each {
			holders = append(holders, holder)
		}
	}
	return holders
}
