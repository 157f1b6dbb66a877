package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

const (
	// sagaKills is how often a service dies altogether in the middle of purchases.
	sagaKills = 16
	// sagaOrders are under way each time; every other one is given up.
	sagaOrders = 6
)

// testSaga kills all processes of booking or of pass, by turns, at some moment of
// purchases by pass: between two commits, or within one. Those that are asked for
// again are booked once, and of the others nothing is left that is half done.
func (m *market) testSaga(t *testing.T, s *shop) {
	clients := m.clients(t)
	batch := func(fickle int, meanwhile func()) (took time.Duration) {
		began := time.Now()
		var wg sync.WaitGroup
		for n := range sagaOrders {
			o := s.newOrder()
			o.event, o.byPass, o.fickle = s.events[2], true, n < fickle
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
				defer cancel()
				if err := s.place(ctx, o, clients); err != nil {
					t.Error(err)
				}
			})
		}
		meanwhile()
		wg.Wait()
		return time.Since(began)
	}
	usual := orderLimit // customers who are met for the first time take longer
	for range warmUp {
		usual = min(usual, batch(0, func() {}))
	}
	for n := range sagaKills {
		victims := [][]string{{"booking", "booking-2"}, {"pass", "pass-2"}}[n%2]
		batch(sagaOrders/2, func() {
			<-time.After(rand.N(usual))
			for _, name := range victims {
				m.Part(name).KillNow()
			}
			for _, name := range victims {
				m.Part(name).Kill(t) // it waits for the end
				m.Part(name).Restart(t)
			}
		})
	}
	t.Logf("%d times services died within %s of the beginning of %d purchases", sagaKills, usual, sagaOrders)
	s.audit(t)
}
