package booking

import (
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestLastSpace lets 121 bookings compete for the last space of two dates, in both directions, while 20 pairs
// of bookings of the dates are swapped twice. Bookings of two spaces cannot use the one that the winner leaves.
func TestLastSpace(t *testing.T) { // invariants 1, 42, 43 and 48
	t.Parallel()
	const singles, doubles, pairs = 81, 40, 20
	for from := range 2 {
		to := 1 - from
		t.Run(fmt.Sprintf("one of many moves from date %d to date %d wins", from, to), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.movingEvent(singles+pairs, 48, 72)
			c := contest{world: w}
			for n := range max(singles, doubles) {
				c.enter(e, n, from, to, 1)
				if n < doubles {
					c.enter(e, n, to, from, 2)
				}
				if n < pairs {
					c.pairs = append(c.pairs, [2]*bookingv1.Booking{w.take(c.buyer(), e, from, 1), w.take(c.buyer(), e, to, 1, payByPass)})
				}
			}
			moves, before := len(c.requests), w.published(subjectBookingMoved)
			if moves != singles+doubles || w.repeats() != 0 {
				t.Fatalf("%d moves, %v transactions were repeated", moves, w.repeats())
			}
			for _, pair := range c.pairs { // in both orders
				c.requests = append(c.requests, func() error { return swapped(w.swap(pair[0], pair[1])) }, func() error { return swapped(w.swap(pair[1], pair[0])) })
			}
			outcomes := c.run()
			if outcomes["won"] != 1 || outcomes["EVENT_FULL"] != moves-1 || outcomes["swapped"] != 2*pairs {
				t.Errorf("got %v", outcomes)
			}
			want := []int32{singles + pairs - 1, singles + pairs - 1}
			want[to]++
			w.wantBooked(e, want...)
			for _, pair := range c.pairs {
				for n, date := range []int{from, to} {
					if r := w.current(pair[n]); r.GetVersion() != 3 || r.GetBooking().GetEventDateId() != e.GetDates()[date].GetId() {
						t.Errorf("after two swaps, a booking of date %d is %v", date, r)
					}
				}
			}
			w.inStep()
			w.verify()
			w.reconcile()
			if events := w.published(subjectBookingMoved) - before; events != 1+4*pairs {
				t.Errorf("%d events", events)
			}
			if n := w.repeats(); n != 0 {
				t.Errorf("%v transactions were repeated: there was a deadlock or another lost race", n)
			}
		})
	}
}

// contest is a set of requests that are made at the same time.
type contest struct {
	*world
	buyers   []id.Customer
	requests []func() error
	pairs    [][2]*bookingv1.Booking
}

// buyer returns one of a few customers, who have passes.
func (c *contest) buyer() id.Customer {
	if len(c.buyers) < 6 {
		who := c.customer(c.company, fmt.Sprintf("Buyer %d", len(c.buyers)))
		c.passes.give(who, 200)
		c.buyers = append(c.buyers, who)
		return who
	}
	c.buyers = append(c.buyers[1:], c.buyers[0])
	return c.buyers[0]
}

// enter books spaces of a date, every second time by pass, and adds their move to another date.
func (c *contest) enter(e *bookingv1.Event, n, from, to int, spaces int32) {
	how := payByPass
	if n%2 == 0 {
		how = func(*bookingv1.CreateTransactionRequest) {}
	}
	b := c.take(c.buyer(), e, from, spaces, how)
	c.requests = append(c.requests, func() error {
		_, err := c.move(b, onto(e.GetDates()[to].GetId()))
		return err
	})
}

// errSwapped is the outcome of a swap.
var errSwapped = fault.Refuse("swapped", "both bookings were swapped")

func swapped(resp *bookingv1.SwapBookingsResponse, err error) error {
	if err == nil && resp.GetChanged() {
		return errSwapped
	}
	return err
}

// run makes all requests at the same time, and counts their outcomes.
func (c *contest) run() map[string]int {
	outcomes, start := map[string]int{}, make(chan struct{})
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, request := range c.requests {
		all.Go(func() {
			<-start
			err := request()
			outcome := "won"
			if err != nil {
				if outcome = fault.From(err).Reason; outcome == "" {
					outcome = err.Error()
				}
			}
			mu.Lock()
			outcomes[outcome]++
			mu.Unlock()
		})
	}
	close(start)
	all.Wait()
	return outcomes
}

// repeats returns how many transactions were repeated, because of a deadlock or another lost race.
func (w *world) repeats() (n float64) {
	w.t.Helper()
	registry := prometheus.NewRegistry()
	if err := w.db.Collect(registry, "booking"); err != nil {
		w.t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if f.GetName() == "pg_repeats_total" && label.GetValue() == "lost_race" {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	w.t.Fatal("there is no number of repeated transactions")
	return 0
}
