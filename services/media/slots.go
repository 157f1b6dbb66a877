package media

import (
	"sync"

	"reservation.dev/platform/id"
)

// slots bounds the work that is in progress, of one company and of the process. // invariant 13
type slots struct {
	perCompany, total int

	mu    sync.Mutex
	used  int
	using map[id.Company]int
}

func newSlots(perCompany, total int) *slots {
	return &slots{perCompany: perCompany, total: total, using: map[id.Company]int{}}
}

// take takes a slot for a company. It returns nil if none is free; otherwise the caller calls release
// once.
func (s *slots) take(company id.Company) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.total || s.using[company] >= s.perCompany {
		return nil
	}
	s.used++
	s.using[company]++
	return func() { s.release(company) }
}

func (s *slots) release(company id.Company) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.using[company]--; s.using[company] == 0 {
		delete(s.using, company)
	}
}

// inUse returns the number of slots that are taken.
func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// busy returns the companies that have no free slot.
func (s *slots) busy() (companies []id.Company) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for company, n := range s.using {
		if n >= s.perCompany {
			companies = append(companies, company)
		}
	}
	return companies
}
