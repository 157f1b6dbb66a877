package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	// sagaKills is how often all replicas of a service are killed during purchases, and
	// sagaPauses how often a process is suspended.
	sagaKills, sagaPauses = 8, 4
	// sagaOrders is the number of concurrent orders each time.
	sagaOrders = 6
	// sagaCustomers is the number of guests that the test needs.
	sagaCustomers = (warmUp + sagaKills + sagaPauses) * sagaOrders
)

// purchases makes some concurrent purchases by pass, every third one with a hold, and calls the
// given function at the same time. It returns how long all purchases took. The first fickle
// purchases are abandoned if they get no answer.
func (s *seller) purchases(t *testing.T, clients []*harness.B, fickle int, meanwhile func()) time.Duration {
	t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for n := range sagaOrders {
		o := s.newOrder()
		o.event, o.byPass, o.abandons = s.events[2], true, n < fickle
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
			defer cancel()
			place := s.placeOrder
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

// placeHeld holds spaces and then pays for them. The hold may expire in between.
func (s *seller) placeHeld(ctx context.Context, o *order, _ []*harness.B) error {
	ctx = s.company.Ctx(ctx)
	var held *bookingv1.HoldPlacesResponse
	req := &bookingv1.HoldPlacesRequest{PurchaserId: o.buyer, Lines: s.lines(o)}
	err := persist(ctx, func(ctx context.Context) (err error) {
		held, err = s.m.op.Bookings.HoldPlaces(rpc.WithIdempotencyKey(ctx, o.key()), req)
		return err
	})
	if err != nil && slices.Contains(refusals(), fault.From(err).Reason) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("order %d: hold: %w", o.guest, err)
	}
	bought, err := s.confirm(ctx, s.m.op, o, held.GetHold().GetId())
	if f := fault.From(err); err != nil && (f.Reason == "HOLD_EXPIRED" || slices.Contains(refusals(), f.Reason)) {
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

// testSaga stops the processes of booking and of pass at a random moment of purchases by pass:
// between two commits, or within one. A retried purchase is booked once, a hold once or not at
// all, and an abandoned purchase leaves nothing half done.
func (m *salesCluster) testSaga(t *testing.T, s *seller) {
	clients := m.clients(t)
	usual := orderLimit // first purchases of a customer take longer
	for range warmUp {
		usual = min(usual, s.purchases(t, clients, 0, func() {}))
	}
	t.Logf("%d concurrent purchases take %s", sagaOrders, usual)
	t.Run("all replicas of a service are killed", func(t *testing.T) {
		for n := range sagaKills {
			victims := [][]string{{"booking", "booking-2"}, {"pass", "pass-2"}}[n%2]
			s.purchases(t, clients, sagaOrders/2, func() {
				<-time.After(rand.N(usual))
				for _, name := range victims {
					m.Part(name).KillNow()
				}
				for _, name := range victims {
					m.Part(name).Kill(t) // waits until it has ended
					m.Part(name).Restart(t)
				}
			})
		}
		s.audit(t)
	})
	t.Run("a process is suspended until the others have undone its purchases", func(t *testing.T) {
		booking := m.connect(t, "booking")
		for n := range sagaPauses {
			part := m.Part([]string{"booking", "pass", "booking-2", "pass-2"}[n%4])
			s.purchases(t, clients, 0, func() {
				<-time.After(rand.N(usual))
				part.Pause()
				defer part.Resume()
				// Rows that the suspended process has locked are settled when it continues.
				for end := time.After(undoneLimit); ; {
					s.makeDue(t, booking)
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

// undoneLimit is the time within which a job that runs every second has undone something.
const undoneLimit = 1500 * time.Millisecond
