package faults

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// TestSteps stops booking or pass after every commit of a purchase, or of a change of bookings, and checks
// what others see at that moment and how it ends. ARCHITECTURE.md has a table of the steps.
func TestSteps(t *testing.T) {
	t.Parallel()
	c := newStepCluster(t, 700)
	c.testSteps(t, purchaseKinds(), commits())
	c.testSteps(t, changeKinds(), lostCommits())
	t.Run("the redemption arrives after the purchase was undone", func(t *testing.T) { c.testLateCall(t, purchaseKinds()[2]) })
	t.Run("the change of credits arrives after the move was undone", func(t *testing.T) { c.testLateCall(t, changeKinds()[0]) })
	c.audit(t)
}

// TestSlowSteps also stops booking or pass at every round trip to their databases, in the middle of
// their transactions, and stops each of them after a commit of the other.
func TestSlowSteps(t *testing.T) {
	t.Parallel()
	c := newStepCluster(t, 2400)
	c.testSteps(t, append(purchaseKinds(), changeKinds()...), append(commits(), roundTrips()...))
	c.audit(t)
	t.Run("every booking has exactly one event", c.testEvents)
}

// shown is what others see of a purchase: its bookings in lists, the credits that passes have given,
// the spaces that it takes, and how many of its bookings are changed.
type shown struct{ listed, credits, spaces, changed int }

// purchaseKind is a kind of purchase, and what others see of it at its steps. The steps are those
// of a purchase of one date by pass, or those of a change of bookings.
type purchaseKind struct {
	name string
	// clients is the number of concurrent purchases, and dates how many dates each of them has.
	clients, dates int
	method         func(client int) bookingv1.PaymentMethod
	// prepare makes what the purchase needs; nil: nothing.
	prepare func(context.Context, *replica, *attempt) error
	// call makes the purchase. If keyed, it can be repeated.
	call  func(context.Context, *replica, *attempt) error
	keyed bool
	// change is what the call changes; nil: it makes or cancels a purchase.
	change *changeKind
	steps  []shown
	// undone is what is left of a purchase that nobody repeats, if it was stopped before the step
	// with the index final.
	undone shown
	final  int
	// refusal is the reason with which the purchase is refused; "": it is made.
	refusal string
}

func (k *purchaseKind) String() string {
	if k.change != nil {
		return k.name
	}
	return "purchase " + k.name
}

func purchaseKinds() []*purchaseKind {
	free, taken, paid, booked := shown{}, shown{spaces: 1}, shown{credits: 1, spaces: 1}, shown{listed: 1, credits: 1, spaces: 1}
	card := func(int) bookingv1.PaymentMethod { return byCard }
	pass := func(int) bookingv1.PaymentMethod { return byPass }
	either := func(client int) bookingv1.PaymentMethod { return []bookingv1.PaymentMethod{byCard, byPass}[client%2] }
	return []*purchaseKind{
		{name: "by card", clients: 1, dates: 1, method: card, call: buyKeyed, keyed: true, steps: []shown{free, booked}, final: 1},
		{name: "by card, two dates", clients: 1, dates: 2, method: card, call: buyKeyed, keyed: true, steps: []shown{free, booked}, final: 1},
		{name: "by pass", clients: 1, dates: 1, method: pass, call: buyKeyed, keyed: true, steps: []shown{free, taken, paid, booked}, final: 3},
		{name: "by pass, two dates", clients: 1, dates: 2, method: pass, call: buyKeyed, keyed: true, steps: []shown{free, taken, paid, booked}, final: 3},
		{name: "by pass, without a key", clients: 1, dates: 1, method: pass, call: buy, steps: []shown{free, taken, paid, booked}, final: 3},
		{name: "by pass, with too few credits", clients: 1, dates: 1, method: pass, call: buyDear, keyed: true, steps: []shown{free, taken, free}, final: 3, refusal: "PASS_EXHAUSTED"},
		{name: "of a hold, by pass", clients: 1, dates: 1, method: pass, prepare: hold, call: confirmHold, keyed: true, steps: []shown{taken, paid, booked}, final: 2},
		{name: "that is cancelled", clients: 1, dates: 1, method: pass, prepare: buyFirst, call: cancelFirst, keyed: true, steps: []shown{booked, {credits: 1}, free}, final: 1, undone: booked},
		{name: "by several clients at once", clients: groupSize, dates: 2, method: either, call: buyKeyed, keyed: true, steps: []shown{free, taken, paid, booked}, final: 3},
	}
}

const (
	byCard = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	byPass = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
)

// stop is where and when a process is stopped: at a moment of a round trip of a service to its
// database.
type stop struct {
	victim, database string
	unit             harness.Unit
	at               harness.Moment
}

// commits returns the stops after a commit. Either the service never gets the answer, or the other
// service stops before it does.
func commits() []stop {
	return []stop{
		{"booking", "booking", harness.Transactions, harness.BeforeAnswer}, {"booking", "pass", harness.Transactions, harness.AtAnswer},
		{"pass", "pass", harness.Transactions, harness.BeforeAnswer}, {"pass", "booking", harness.Transactions, harness.AtAnswer},
	}
}

// lostCommits returns the stops after a commit whose service never gets the answer.
func lostCommits() []stop {
	return slices.DeleteFunc(commits(), func(s stop) bool { return s.at != harness.BeforeAnswer })
}

// roundTrips returns the stops before any request to a database.
func roundTrips() []stop {
	return []stop{{"booking", "booking", harness.RoundTrips, harness.BeforeRequest}, {"pass", "pass", harness.RoundTrips, harness.BeforeRequest}}
}

// testSteps stops a process at round trip after round trip of each kind of purchase and change.
func (c *stepCluster) testSteps(t *testing.T, kinds []*purchaseKind, stops []stop) {
	for _, kind := range kinds {
		passed := t.Run(kind.name, func(t *testing.T) {
			seen := map[shown]bool{}
			for n, stop := range stops {
				if stop.victim == "pass" && !kind.keyed {
					continue // the purchase can end before it reaches pass
				}
				if c.sweep(t, kind, stop, n, seen); t.Failed() {
					return
				}
			}
			for _, step := range (&attempt{kind: kind, method: kind.method(kind.clients - 1)}).steps() {
				if !seen[step] {
					t.Errorf("no stop showed %+v, only %v", step, slices.Collect(maps.Keys(seen)))
				}
			}
		})
		if !passed {
			t.FailNow() // not every process may be running
		}
	}
}

// awaitParts returns when the processes that are stopped run again.
func (c *stepCluster) awaitParts(t *testing.T) {
	t.Helper()
	for _, name := range []string{"booking", "pass"} {
		c.m.Part(name).AwaitReady(t)
	}
}

// sweep stops a process at the first round trip of a purchase, at the second one of another
// purchase, and so on, until a purchase is complete before that round trip. Every second client
// repeats its purchase, starting with client turn.
func (c *stepCluster) sweep(t *testing.T, kind *purchaseKind, stop stop, turn int, seen map[shown]bool) {
	var made []*attempt
	for n := 1; ; n++ {
		attempts := c.newAttempts(t, kind)
		if !c.stopAt(t, kind, stop, n, attempts) {
			break
		}
		c.kills++
		for client, a := range attempts {
			a.seen = c.look(t, a)
			if !slices.Contains(a.steps(), a.seen) {
				t.Errorf("%v at round trip %d of a %s: others see %+v, want one of %+v", stop, n, kind, a.seen, a.steps())
			}
			seen[a.seen] = true
			a.repeats = kind.keyed && (n+client+turn)%2 == 0
		}
		if kind.refusal == "" {
			c.repeat(t, attempts)
		}
		c.awaitParts(t)
		made = append(made, attempts...)
		if t.Failed() {
			return
		}
	}
	c.settle(t)
	if kind.refusal != "" {
		c.repeat(t, made) // a retry waits until the purchase is undone
	}
	for _, a := range made {
		if got, want := c.look(t, a), a.ends(); !slices.Contains(want, got) {
			t.Errorf("%v: a %s showed %+v, its last answer was %v, repeated: %v; it ended as %+v, want one of %+v",
				stop, kind, a.seen, a.err, a.repeats, got, want)
		}
	}
}

// stopAt makes purchases, and stops a process at the n-th round trip. It returns false if they are
// complete before that.
func (c *stepCluster) stopAt(t *testing.T, kind *purchaseKind, stop stop, n int, attempts []*attempt) bool {
	t.Helper()
	proxy, victim := c.proxies[stop.database], c.m.Part(stop.victim)
	proxy.Set(t, harness.Trap{Company: c.company.ID, Unit: stop.unit, N: n, At: stop.at, Stop: func() {
		if err := victim.Crash(); err != nil {
			t.Error(err)
		}
	}})
	client := newReplica(c.m.Connect(t, c.replica(0)))
	ctx, cancel := context.WithTimeout(c.company.Ctx(t.Context()), orderLimit)
	defer cancel()
	var all sync.WaitGroup
	for _, a := range attempts {
		all.Go(func() {
			// Booking needs a moment to reach a pass service that was started again.
			for {
				a.err = kind.call(ctx, client, a)
				if !kind.keyed || !inDoubt(a.err) || proxy.Sprung() || ctx.Err() != nil {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	if !proxy.Sprung() {
		c.awaitSettled(t, proxy, attempts) // something may go on in the background
	}
	if !proxy.Disarm() {
		for _, a := range attempts {
			if a.reason() != kind.refusal {
				t.Errorf("no process was stopped, and a %s was answered %v", kind, a.err)
			}
		}
		return false
	}
	victim.Start(t)
	if stop.victim == "pass" {
		victim.AwaitReady(t) // it is needed to look at the credits
	}
	return true
}

// inDoubt reports whether the outcome of a purchase is not known.
func inDoubt(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Conflict)
}

// repeat repeats purchases at the other replica, as their clients do, twice. The answers must be
// those of one purchase.
func (c *stepCluster) repeat(t *testing.T, attempts []*attempt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(c.company.Ctx(t.Context()), orderLimit)
	defer cancel()
	var all sync.WaitGroup
	for _, a := range attempts {
		if !a.repeats {
			continue
		}
		all.Go(func() {
			for range 2 {
				a.err = persist(ctx, func(ctx context.Context) error { return a.kind.call(ctx, c.survivor, a) })
				if a.reason() != a.kind.refusal {
					t.Errorf("a %s that showed %+v was repeated and answered %v", a.kind, a.seen, a.err)
				}
			}
		})
	}
	all.Wait()
}

// testLateCall holds back the call that takes the credits of an attempt of a kind, stops booking, and lets the
// call continue after the other replica has undone the attempt.
func (c *stepCluster) testLateCall(t *testing.T, kind *purchaseKind) {
	a := c.newAttempts(t, kind)[0]
	held := c.gate.Hold()
	client := newReplica(c.m.Connect(t, c.replica(0)))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		a.err = kind.call(c.company.Ctx(t.Context()), client, a)
	}()
	select {
	case <-held.Arrived():
	case <-answered:
		t.Fatalf("booking has not called pass: %v", a.err)
	}
	c.m.Part("booking").Kill(t)
	<-answered
	if a.seen = c.look(t, a); a.seen != kind.steps[kind.final-2] {
		t.Errorf("before the credits are taken, others see %+v", a.seen)
	}
	c.settle(t)
	<-held.Release()
	if got := c.look(t, a); got != kind.undone {
		t.Errorf("after the credits were refused, others see %+v", got)
	}
	c.m.Part("booking").Restart(t)
	a.repeats = true
	c.repeat(t, []*attempt{a})
	if got := c.look(t, a); !slices.Contains(a.ends(), got) {
		t.Errorf("after a retry, others see %+v", got)
	}
}
