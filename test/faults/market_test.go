package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// TestSlowMarket sells places through two processes of each part that has to do with
// it, kills them, and checks the books row by row.
func TestSlowMarket(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	// What the killed parts said yes to is compared with the events at the end: a
	// relay that dies holds its events for half a minute.
	killed, halfway := m.newSeller(t, 12, 4000), m.newSeller(t, 6, sagaCustomers)
	silent, crowded := m.newSeller(t, 3, warmUp+gatewayKills), m.newSeller(t, 24, crowd)
	t.Run("purchases while parts are killed", func(t *testing.T) { m.testKills(t, killed) })
	t.Run("booking and pass stop in the middle of purchases by pass", func(t *testing.T) { m.testSaga(t, halfway) })
	t.Run("a gateway dies before it answers", func(t *testing.T) { m.testGatewayKilled(t, silent) })
	t.Run("a crowd at two processes", func(t *testing.T) { m.testCrowd(t, crowded) })
	t.Run("the limit of a key that two gateways share", m.testLimit)
	t.Run("every booking has its event, once", func(t *testing.T) { m.testConfirmations(t, killed, halfway, silent, crowded) })
	t.Run("the limit of a key while NATS is away", m.testLimitWithoutNATS)
}

// market is the cluster and what its answers are held to.
type market struct {
	*harness.Cluster
	op       *harness.Operator
	contract *openapitest.Contract
}

func newMarket(t *testing.T) *market {
	options := harness.ClusterOptions{Bookings: 2, Passes: 2, GatewaysB: 2, Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}}
	m := &market{Cluster: harness.StartCluster(t, options)}
	m.op = m.Operator(t)
	described := harness.NewB(t, m.GatewaysB[0]).Do(t, harness.Request{Path: "/openapi.yaml"})
	described.Into(t, http.StatusOK, nil)
	m.contract = openapitest.Load(t, described.Body, "/api/v1")
	return m
}

// client returns a client of one of the gateways (0 or 1) whose every answer is
// held to the description.
func (m *market) client(t testing.TB, gateway int) *harness.B {
	b := harness.NewB(t, m.GatewaysB[gateway])
	b.Transport = m.contract.Transport(t, b.Transport)
	return b
}

// clients are clients of both gateways.
func (m *market) clients(t testing.TB) []*harness.B {
	return []*harness.B{m.client(t, 0), m.client(t, 1)}
}

const (
	// partKills is how often processes are killed while orders come in.
	partKills = 8
	// shoppers is how many orders are under way at a time.
	shoppers = 8
	// orderLimit is how long somebody goes on asking for an answer: a repetition
	// may have to wait for the undoing of the attempt before.
	orderLimit = time.Minute
)

// testKills kills one process after the other while places are bought by pass and
// by card, cancelled and refunded. Whoever gets no answer asks again under the
// same key. In the end each order was booked once or refused, and every sum is
// right.
func (m *market) testKills(t *testing.T, s *seller) {
	clients := m.clients(t)
	closing := make(chan struct{})
	answered := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	for range shoppers {
		wg.Go(func() {
			for {
				select {
				case <-closing:
					return
				default:
				}
				o := s.newOrder()
				if o == nil {
					return
				}
				if err := m.buyFrom(t, s, o, clients); err != nil {
					t.Error(err)
					return
				}
				select {
				case answered <- struct{}{}:
				default: // enough are there to be waited for
				}
			}
		})
	}
	m.killParts(t, s, answered)
	close(closing)
	wg.Wait()
	if !t.Failed() {
		s.audit(t)
	}
}

// victims are the processes that are killed together.
func victims() [][]string {
	return [][]string{
		{"booking"}, {"booking-2"}, {"pass"}, {"pass-2"}, {"gateway-b-1"}, {"gateway-b-2"},
		{"booking", "booking-2"}, {"pass", "pass-2"}, {"booking", "pass"}, {"booking-2", "pass-2"}, {"gateway-b-1", "booking-2"},
	}
}

// killParts kills processes again and again, each time after some answers.
func (m *market) killParts(t *testing.T, s *seller, answered <-chan struct{}) {
	booking := m.connect(t, "booking")
	for n := range partKills {
		victims := victims()[rand.IntN(len(victims()))]
		for range 20 + rand.IntN(20) {
			select {
			case <-answered:
			case <-time.After(orderLimit):
				t.Error("nobody gets an answer any more")
				return
			}
		}
		// Anywhere between two steps of a purchase, all of which take milliseconds.
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		for _, name := range victims {
			m.Part(name).KillNow()
		}
		if n%4 == 0 {
			s.age(t, booking) // undo what others have only just begun
		}
		for _, name := range victims {
			m.Part(name).Kill(t) // it waits for the end
			m.Part(name).Restart(t)
		}
	}
}

// buyFrom places an order, and may cancel or refund it.
func (m *market) buyFrom(t *testing.T, s *seller, o *order, clients []*harness.B) error {
	ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
	defer cancel()
	if err := s.place(ctx, o, clients); err != nil {
		return err
	}
	for booking, is := range o.sold {
		switch rand.IntN(6) {
		case 0, 1:
			if err := s.cancel(ctx, o, booking, clients); err != nil {
				return err
			}
		case 2:
			for {
				_, err := m.op.Bookings.RefundBooking(s.company.Ctx(ctx), &bookingv1.RefundBookingRequest{BookingId: booking})
				if err == nil {
					break
				}
				if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
					return fmt.Errorf("refunding %s: %w", booking, err)
				}
			}
			is.refunded = true
		}
	}
	return nil
}

// testConfirmations holds the events of the shops' bookings to the bookings that
// were answered.
func (m *market) testConfirmations(t *testing.T, shops ...*seller) {
	byCompany := map[string]*seller{}
	for _, s := range shops {
		byCompany[s.company.ID] = s
	}
	harness.Eventually(t, eventsLimit, func() error {
		got := map[*seller][]string{}
		for _, e := range m.Events(t) {
			s := byCompany[e.Company]
			if s == nil || e.Subject != "booking.v1.booking_confirmed" {
				continue
			}
			var c bookingv1.BookingConfirmed
			if err := proto.Unmarshal(e.Payload, &c); err != nil {
				return err
			}
			got[s] = append(got[s], c.GetBooking().GetBooking().GetId())
		}
		var faults []error
		for _, s := range shops {
			var want []string
			for _, o := range s.orders {
				want = append(want, slices.Collect(maps.Keys(o.sold))...)
			}
			faults = append(faults, compareSets("confirmations", got[s], want))
		}
		return errors.Join(faults...)
	})
}
