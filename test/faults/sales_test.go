package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// TestSlowSales sells spaces through two replicas of each service involved, kills them, and
// checks the databases row by row.
func TestSlowSales(t *testing.T) {
	t.Parallel()
	m := newSalesCluster(t, harness.ClusterOptions{Bookings: 2, Passes: 2, GatewaysB: 2, Webhooks: 1, OwnNATS: true})
	// The acknowledged writes of the killed services are compared with the events at the end,
	// because a killed relay keeps the lease of its events for half a minute.
	killed := []*seller{m.newSeller(t, 12, 2000), m.newSeller(t, 12, 2000)}
	for _, s := range killed {
		s.addSeries(t)
		s.mailbox = m.NewMailbox(t, s.company, nil)
	}
	halfway := m.newSeller(t, 6, sagaCustomers)
	silent, crowded := m.newSeller(t, 3, warmUp+gatewayKills), m.newSeller(t, 24, concurrentOrders)
	t.Run("purchases while services are killed", func(t *testing.T) { m.testKills(t, killed...) })
	t.Run("booking and pass stop in the middle of purchases by pass", func(t *testing.T) { m.testSaga(t, halfway) })
	t.Run("a gateway is killed before it answers", func(t *testing.T) { m.testGatewayKilled(t, silent) })
	t.Run("many concurrent buyers use two replicas", func(t *testing.T) { m.testConcurrency(t, crowded) })
	t.Run("two gateways share the limit of a key", m.testLimit)
	t.Run("every booking has exactly one event", func(t *testing.T) { m.testConfirmations(t, append(killed, halfway, silent, crowded)...) })
	t.Run("every booking has its webhook", func(t *testing.T) { m.testNotifications(t, killed...) })
	t.Run("the limit of a key while NATS is unavailable", m.testLimitWithoutNATS)
}

// salesCluster is the cluster, with the description that every answer must match.
type salesCluster struct {
	*harness.Cluster
	op       *harness.Operator
	contract *openapitest.Contract
}

func newSalesCluster(t *testing.T, options harness.ClusterOptions) *salesCluster {
	options.Env = map[string]string{"SHUTDOWN_DRAIN": "2s"}
	m := &salesCluster{Cluster: harness.StartCluster(t, options)}
	m.op = m.Operator(t)
	described := harness.NewB(t, m.GatewaysB[0]).Do(t, harness.Request{Path: "/openapi.yaml"})
	described.Into(t, http.StatusOK, nil)
	m.contract = openapitest.Load(t, described.Body, "/api/v1")
	return m
}

// client returns a client of one of the gateways (0 or 1). Every answer is checked against the
// description.
func (m *salesCluster) client(t testing.TB, gateway int) *harness.B {
	b := harness.NewB(t, m.GatewaysB[gateway])
	b.Transport = m.contract.Transport(t, b.Transport)
	return b
}

// clients returns clients of both gateways.
func (m *salesCluster) clients(t testing.TB) []*harness.B {
	return []*harness.B{m.client(t, 0), m.client(t, 1)}
}

const (
	// processKills is how often processes are killed while orders are placed.
	processKills = 24
	// shoppers is the number of concurrent orders of each company.
	shoppers = 6
	// orderLimit is how long a client retries: a retry may have to wait until the previous
	// attempt is undone.
	orderLimit = time.Minute
)

// testKills kills processes one after another while companies sell spaces on crowded dates and on
// hundreds of others. An order has one date or several, is paid by pass or by card, may be held
// first, and may be cancelled or refunded. A request without an answer is retried with the same key.
// At the end each order is booked once or refused, and every sum is correct.
func (m *salesCluster) testKills(t *testing.T, companies ...*seller) {
	clients := m.clients(t)
	closing := make(chan struct{})
	answered := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	for n := range shoppers * len(companies) {
		s := companies[n%len(companies)]
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
				default: // enough answers are counted
				}
			}
		})
	}
	m.killParts(t, companies, answered)
	close(closing)
	wg.Wait()
	for _, s := range companies {
		if !t.Failed() {
			s.audit(t)
		}
	}
}

// The servers that killParts kills in addition to processes of the platform.
const (
	thePostgres = "PostgreSQL"
	theNATS     = "NATS"
)

// victims returns the groups of processes that are killed together.
func victims() [][]string {
	return [][]string{
		{"booking"}, {"booking-2"}, {"pass"}, {"pass-2"}, {"gateway-b-1"}, {"gateway-b-2"},
		{"reports"}, {"booking", "booking-2"}, {"pass", "pass-2"}, {"booking", "pass"}, {"booking-2", "pass-2"}, {"gateway-b-1", "booking-2"},
		{thePostgres}, {theNATS},
	}
}

// killParts kills each group of victims at least once, in random order, each time after some
// answers.
func (m *salesCluster) killParts(t *testing.T, companies []*seller, answered <-chan struct{}) {
	groups := victims()
	for len(groups) < processKills {
		groups = append(groups, victims()[rand.IntN(len(victims()))])
	}
	rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	kills := map[string]int{}
	for n, group := range groups {
		for range 20 + rand.IntN(20) {
			select {
			case <-answered:
			case <-time.After(orderLimit):
				t.Error("no more answers arrive")
				return
			}
		}
		// Stop at a random point between two steps of a purchase, which take milliseconds.
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		for _, name := range group {
			kills[name]++
		}
		m.killGroup(t, group)
		if n%4 == 0 { // make unfinished purchases of the last victims due
			booking := m.connect(t, "booking")
			for _, s := range companies {
				s.makeDue(t, booking)
			}
		}
	}
	t.Logf("%d kills: %v", processKills, kills)
}

// killGroup kills processes at the same time, and starts them again.
func (m *salesCluster) killGroup(t *testing.T, names []string) {
	t.Helper()
	switch names[0] {
	case thePostgres:
		m.Postgres.Crash(t)
		m.Postgres.Start(t)
		return
	case theNATS:
		m.NATS.Crash(t)
		m.NATS.Start(t)
		return
	}
	for _, name := range names {
		m.Part(name).KillNow()
	}
	for _, name := range names {
		m.Part(name).Kill(t) // waits until it has ended
		m.Part(name).Restart(t)
	}
}

// buyFrom places an order, and sometimes cancels or refunds it.
func (m *salesCluster) buyFrom(t *testing.T, s *seller, o *order, clients []*harness.B) error {
	ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
	defer cancel()
	cancelBooking := func(booking string) error { return s.cancelOne(ctx, o, booking) }
	var err error
	switch {
	case o.held:
		err = s.placeHeld(ctx, o, clients)
	case len(o.more) > 0:
		err = s.placeMany(ctx, o)
	default:
		err = s.placeOrder(ctx, o, clients)
		cancelBooking = func(booking string) error { return s.cancel(ctx, o, booking, clients) }
	}
	if err != nil {
		return err
	}
	for booking, is := range o.sold {
		switch rand.IntN(6) {
		case 0, 1:
			if err := cancelBooking(booking); err != nil {
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

// testConfirmations compares the events about the sellers' bookings with the acknowledged
// bookings.
func (m *salesCluster) testConfirmations(t *testing.T, shops ...*seller) {
	harness.Eventually(t, eventsLimit, func() error {
		got := m.confirmed(t)
		var faults []error
		for _, s := range shops {
			var want []string
			for _, o := range s.orders {
				want = append(want, slices.Collect(maps.Keys(o.sold))...)
			}
			faults = append(faults, compareSets("confirmations", got[s.company.ID], want))
		}
		return errors.Join(faults...)
	})
}

// notifiedLimit is longer than a lease of the webhook service and its first retries.
const notifiedLimit = 2 * time.Minute

// testNotifications compares the registrations that the companies' endpoints received with the
// acknowledged bookings. A notification can arrive more than once.
func (m *salesCluster) testNotifications(t *testing.T, companies ...*seller) {
	harness.Eventually(t, notifiedLimit, func() error {
		var faults []error
		for _, s := range companies {
			got := map[string]bool{}
			for _, mail := range s.mailbox.Mail() {
				if mail.Accepted {
					got[registrationOf(t, mail)] = true
				}
			}
			var want []string
			for _, o := range s.orders {
				for booking := range o.sold {
					want = append(want, "reg_"+strings.TrimPrefix(booking, "booking_"))
				}
			}
			faults = append(faults, compareKeys(got, slices.Sorted(slices.Values(want))))
		}
		return errors.Join(faults...)
	})
}

// confirmed returns the bookings that the events confirm, by company. An event that was published
// twice fails t.
func (m *salesCluster) confirmed(t *testing.T) map[string][]string {
	t.Helper()
	bookings, seen := map[string][]string{}, map[string]bool{}
	for _, e := range m.Events(t) {
		if seen[e.ID] {
			t.Errorf("event %s was published twice", e.ID)
		}
		seen[e.ID] = true
		if e.Subject != "booking.v1.booking_confirmed" {
			continue
		}
		var c bookingv1.BookingConfirmed
		if err := proto.Unmarshal(e.Payload, &c); err != nil {
			t.Fatal(err)
		}
		bookings[e.Company] = append(bookings[e.Company], c.GetBooking().GetBooking().GetId())
	}
	return bookings
}
