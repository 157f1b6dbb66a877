package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	// sagaKills is how often a service dies altogether in the middle of purchases,
	// sagaPauses how often a process stands still in it.
	sagaKills, sagaPauses = 8, 4
	// sagaOrders are under way each time.
	sagaOrders = 6
	// sagaCustomers is how many guests it takes.
	sagaCustomers = (warmUp + sagaKills + sagaPauses) * sagaOrders
)

// purchases makes some purchases by pass at once, every third one of a hold, does
// something meanwhile, and says how long all took. The first ones are given up when
// they get no answer.
func (s *seller) purchases(t *testing.T, clients []*harness.B, fickle int, meanwhile func()) time.Duration {
	t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for n := range sagaOrders {
		o := s.newOrder()
		o.event, o.byPass, o.fickle = s.events[2], true, n < fickle
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
			defer cancel()
			place := s.place
			if n%3 == 2 {
				place = s.placeHeld
			}
			if err := place(ctx, o, clients); err != nil {
				t.Error(err)
			}
		})
	}
	meanwhile()
	wg.Wait()
	return time.Since(began)
}

// placeHeld holds places, and then pays them by pass. The hold may expire meanwhile.
func (s *seller) placeHeld(ctx context.Context, o *order, _ []*harness.B) error {
	ctx = s.company.Ctx(ctx)
	var held *bookingv1.HoldPlacesResponse
	err := persist(ctx, func(ctx context.Context) (err error) {
		held, err = s.m.op.Bookings.HoldPlaces(rpc.WithIdempotencyKey(ctx, o.key()), &bookingv1.HoldPlacesRequest{PurchaserId: o.buyer, Lines: s.lines(o)})
		return err
	})
	if err != nil {
		return fmt.Errorf("order %d: hold: %w", o.guest, err)
	}
	bought, err := s.confirm(ctx, s.m.op, o, held.GetHold().GetId())
	if f := fault.From(err); f != nil && f.Reason == "HOLD_EXPIRED" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("order %d: confirm: %w", o.guest, err)
	}
	for _, b := range bought.GetBookings() {
		o.sold[b.GetId()] = &sold{}
	}
	return nil
}

// testSaga stops the processes of booking and of pass at some moment of purchases
// by pass: between two commits, or within one. Those that are asked for again are
// booked once, holds once or not at all, and of what was given up nothing is left
// that is half done.
func (m *market) testSaga(t *testing.T, s *seller) {
	clients := m.clients(t)
	usual := orderLimit // customers who are met for the first time take longer
	for range warmUp {
		usual = min(usual, s.purchases(t, clients, 0, func() {}))
	}
	t.Logf("%d purchases at once take %s", sagaOrders, usual)
	t.Run("all of a service are killed", func(t *testing.T) {
		for n := range sagaKills {
			victims := [][]string{{"booking", "booking-2"}, {"pass", "pass-2"}}[n%2]
			s.purchases(t, clients, sagaOrders/2, func() {
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
		s.audit(t)
	})
	t.Run("one stands still until others have undone what it was about to do", func(t *testing.T) {
		booking := m.connect(t, "booking")
		for n := range sagaPauses {
			part := m.Part([]string{"booking", "pass", "booking-2", "pass-2"}[n%4])
			s.purchases(t, clients, 0, func() {
				<-time.After(rand.N(usual))
				part.Pause()
				defer part.Resume()
				// What it has locked is settled when it goes on.
				for end := time.After(undoneLimit); ; {
					s.age(t, booking)
					if s.unsettled(t, booking) == nil {
						return
					}
					select {
					case <-end:
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			})
		}
		s.audit(t)
	})
}

// undoneLimit is how soon a job that looks every second has undone something.
const undoneLimit = 1500 * time.Millisecond
