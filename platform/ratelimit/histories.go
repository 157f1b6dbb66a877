package ratelimit

import (
	"container/list"
	"time"
)

// histories are the histories of a bounded number of keys. The least recently used ones
// are dropped, and then only the server knows those keys' requests.
type histories struct {
	most    int
	window  time.Duration
	entries map[string]*list.Element
	recent  *list.List // of *history, the most recently used first
}

func newHistories(most int, window time.Duration) *histories {
	return &histories{most: most, window: window, entries: map[string]*list.Element{}, recent: list.New()}
}

// get returns the history of a key, without expired requests.
func (s *histories) get(key string, now time.Duration) *history {
	element, ok := s.entries[key]
	if ok {
		s.recent.MoveToFront(element)
	} else {
		element = s.recent.PushFront(&history{key: key})
		s.entries[key] = element
		if s.recent.Len() > s.most {
			s.drop(s.recent.Back())
		}
	}
	h := element.Value.(*history)
	h.forget(now, s.window)
	return h
}

// sweep drops the histories that have become empty.
func (s *histories) sweep(now time.Duration) {
	for element := s.recent.Back(); element != nil; {
		next := element.Prev()
		if element.Value.(*history).idle(now, s.window) {
			s.drop(element)
		}
		element = next
	}
}

func (s *histories) drop(element *list.Element) {
	delete(s.entries, element.Value.(*history).key)
	s.recent.Remove(element)
}
