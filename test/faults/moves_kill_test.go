package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// TestSlowMovesDespiteKills lets many callers move, swap, transfer, resize, buy and cancel the same bookings on
// a few crowded dates, through two replicas of booking, and kills booking, pass, NATS and PostgreSQL.
// Afterwards, every acknowledged change is in the history once, with one event, and spaces and credits add up.
func TestSlowMovesDespiteKills(t *testing.T) {
	t.Parallel()
	f := newFestival(t)
	closing, answered := make(chan struct{}), make(chan struct{}, 1000)
	var all sync.WaitGroup
	for n := range festivalCallers {
		c := &festivalCaller{festival: f, name: fmt.Sprint("caller-", n)}
		all.Go(func() {
			for {
				select {
				case <-closing:
					return
				default:
				}
				if err := c.act(t.Context()); err != nil {
					t.Errorf("%s: %v", c.name, err)
					return
				}
				select {
				case answered <- struct{}{}:
				default: // enough answers are counted
				}
			}
		})
	}
	unfinished := 0
	f.m.killWhile(t, festivalVictims(), answered, func() {
		db := f.m.connect(t, "booking") // PostgreSQL may have been killed
		unfinished += number(t, db, unfinishedChangesSQL, companyID(t, f.company.ID))
		f.makeDue(t, db)
	})
	close(closing)
	all.Wait()
	t.Logf("after the kills, %d changes of credits were unfinished", unfinished)
	if !t.Failed() {
		f.audit(t)
	}
}

const (
	// festivalCallers is the number of concurrent callers.
	festivalCallers = 12
	// festivalBookings is the number of bookings from which on callers only change bookings.
	festivalBookings = 32
)

// festivalVictims returns the groups of processes that are killed together.
func festivalVictims() [][]string {
	return slices.Repeat([][]string{
		{"booking"}, {"booking-2"}, {"pass"}, {theNATS}, {"booking", "booking-2"}, {"booking", "pass"}, {"booking-2", "pass"},
		{"booking", "booking-2", "pass"}, {"pass"}, {thePostgres},
	}, 2)
}

// festival is a company with two events, whose dates have fewer spaces than its customers want. Each customer
// has a pass.
type festival struct {
	*seller
	client    *replica // of all replicas
	customers []string
	dates     []string
	options   map[string][]string // by date
	tally     *tally

	mu       sync.Mutex
	bookings []string       // that may not be cancelled yet
	changes  map[string]int // acknowledged changes, by booking and action of the history
	busy     bool           // enough bookings were made
}

func newFestival(t *testing.T) *festival {
	t.Helper()
	cluster := harness.StartCluster(t, harness.ClusterOptions{Bookings: 2, OwnNATS: true, Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}})
	m := &salesCluster{Cluster: cluster, op: cluster.Operator(t)}
	f := &festival{
		seller: &seller{m: m, company: m.op.NewCompany(t, "Europe/London")}, client: newReplica(m.Connect(t, m.Booking)),
		options: map[string][]string{}, tally: newTally(), changes: map[string]int{},
	}
	f.customers = f.company.ImportCustomers(t, "guest", festivalCallers)
	if err := f.furnish(f.company.Ctx(t.Context())); err != nil {
		t.Fatal(err)
	}
	return f
}

// furnish creates the events and the passes.
func (f *festival) furnish(ctx context.Context) error {
	for n, priced := range [][]*bookingv1.NewPricingOption{
		{{Name: "Class", Price: 1200, Credits: proto.Int32(1)}, {Name: "Long class", Price: 2000, Credits: proto.Int32(2)}},
		{{Name: "Workshop", Price: 3100, Credits: proto.Int32(3)}},
	} {
		req := &bookingv1.CreateEventRequest{Title: fmt.Sprint("Event ", n), PricingOptions: priced}
		for day := range 3 {
			req.Dates = append(req.Dates, &bookingv1.NewEventDate{
				StartsAt: timestamppb.New(time.Now().Add(time.Duration(7+day) * aDay).Truncate(time.Second)), DurationMinutes: 60, Capacity: proto.Int32(14),
			})
		}
		made, err := f.m.op.Events.CreateEvent(ctx, req)
		if err != nil {
			return err
		}
		for _, d := range made.GetEvent().GetDates() {
			f.dates = append(f.dates, d.GetId())
			for _, o := range made.GetEvent().GetPricingOptions() {
				f.options[d.GetId()] = append(f.options[d.GetId()], o.GetId())
			}
		}
	}
	kind, err := f.m.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "A pass", TotalUses: uses, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	for _, customer := range f.customers {
		if err != nil {
			return err
		}
		_, err = f.m.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: kind.GetPassType().GetId()})
	}
	return err
}

// festivalCaller makes one call after the other, about any booking.
type festivalCaller struct {
	*festival
	name  string
	calls int
}

// call makes a call with an idempotency key, as tally does.
func (c *festivalCaller) call(ctx context.Context, action string, do func(ctx context.Context) error, reasons ...string) error {
	c.calls++
	ctx, cancel := context.WithTimeout(rpc.WithIdempotencyKey(c.company.Ctx(ctx), fmt.Sprintf("%s-%d", c.name, c.calls)), orderLimit)
	defer cancel()
	_, err := c.tally.call(ctx, action, do, append(reasons, "EVENT_FULL", "PASS_EXHAUSTED", "ALREADY_CANCELLED")...)
	return err
}

// randomOf returns a random element.
func randomOf[T any](all []T) T { return all[rand.IntN(len(all))] }

// act does one thing.
func (c *festivalCaller) act(ctx context.Context) error {
	one, other, few := c.pick()
	switch n := rand.IntN(24); {
	case few || n < 2:
		return c.buy(ctx)
	case n < 11:
		return c.move(ctx, one)
	case n < 14:
		return c.resize(ctx, one)
	case n < 18 && one != other:
		return c.swap(ctx, one, other)
	case n < 21:
		return c.transfer(ctx, one)
	case n < 22:
		return c.wait(ctx)
	}
	return c.cancel(ctx, one)
}

// pick returns two bookings, unless there are few.
func (f *festival) pick() (one, other string, few bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.bookings) < festivalBookings {
		f.busy = f.busy && len(f.bookings) > festivalBookings/2
	} else {
		f.busy = true
	}
	if !f.busy {
		return "", "", true
	}
	return randomOf(f.bookings), randomOf(f.bookings), false
}

// changed records an acknowledged change of bookings.
func (f *festival) changed(action string, bookings ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range bookings {
		f.changes[b+" "+action]++
	}
}

func (c *festivalCaller) buy(ctx context.Context) error {
	date := randomOf(c.dates)
	req := &bookingv1.CreateTransactionRequest{PurchaserId: randomOf(c.customers), PaymentMethod: []bookingv1.PaymentMethod{byCard, byPass, byPass}[rand.IntN(3)]}
	for range 1 + rand.IntN(2) {
		req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: date, PricingOptionId: randomOf(c.options[date]), Spaces: 1 + rand.Int32N(2)})
	}
	return c.call(ctx, "buy", func(ctx context.Context) error {
		res, err := c.client.CreateTransaction(ctx, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, b := range res.GetTransaction().GetBookings() {
			c.bookings = append(c.bookings, b.GetId())
		}
		return err
	})
}

// move moves a booking to another date, option or number of spaces, or to several of them.
func (c *festivalCaller) move(ctx context.Context, booking string) error {
	date := randomOf(c.dates)
	return c.moveTo(ctx, "move", &bookingv1.MoveBookingRequest{
		BookingId: booking, EventDateId: date, PricingOptionId: randomOf(c.options[date]), Spaces: rand.Int32N(4), KeepPrice: rand.IntN(8) == 0,
	})
}

func (c *festivalCaller) resize(ctx context.Context, booking string) error {
	return c.moveTo(ctx, "resize", &bookingv1.MoveBookingRequest{BookingId: booking, Spaces: 1 + rand.Int32N(4)})
}

func (c *festivalCaller) moveTo(ctx context.Context, action string, req *bookingv1.MoveBookingRequest) error {
	return c.call(ctx, action, func(ctx context.Context) error {
		res, err := c.client.MoveBooking(ctx, req)
		if res.GetChanged() {
			c.changed("moved", req.GetBookingId())
		}
		return err
	})
}

func (c *festivalCaller) swap(ctx context.Context, one, other string) error {
	return c.call(ctx, "swap", func(ctx context.Context) error {
		res, err := c.client.SwapBookings(ctx, &bookingv1.SwapBookingsRequest{BookingId: one, OtherBookingId: other})
		if res.GetChanged() {
			c.changed("moved", one, other)
		}
		return err
	})
}

func (c *festivalCaller) transfer(ctx context.Context, booking string) error {
	req := &bookingv1.TransferBookingRequest{BookingId: booking, CustomerId: randomOf(c.customers), BuyerKeepsControl: rand.IntN(2) == 0}
	return c.call(ctx, "transfer", func(ctx context.Context) error {
		res, err := c.client.TransferBooking(ctx, req)
		if res.GetChanged() {
			c.changed("transferred", booking)
		}
		return err
	})
}

func (c *festivalCaller) cancel(ctx context.Context, booking string) error {
	return c.call(ctx, "cancel", func(ctx context.Context) error {
		res, err := c.client.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
		if err != nil {
			return err
		}
		if res.GetChanged() {
			c.changed("cancelled", booking)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bookings = slices.DeleteFunc(c.bookings, func(b string) bool { return b == booking })
		return nil
	})
}

func (c *festivalCaller) wait(ctx context.Context) error {
	date := randomOf(c.dates)
	req := &bookingv1.JoinWaitlistRequest{
		EventDateId: date, CustomerId: randomOf(c.customers), PricingOptionId: c.options[date][0], Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
	}
	return c.call(ctx, "wait", func(ctx context.Context) error {
		_, err := c.client.JoinWaitlist(ctx, req)
		return err
	}, "EVENT_NOT_FULL", "ALREADY_WAITING")
}

// audit settles the rows, and checks them against each other, against the answers, and with the operator's
// commands.
func (f *festival) audit(t *testing.T) {
	t.Helper()
	f.tally.check(t, []string{"buy", "move", "resize", "swap", "transfer", "wait", "cancel"}, []string{"move EVENT_FULL", "resize EVENT_FULL"})
	db := f.m.connect(t, "booking")
	f.settle(t, db)
	stored := f.rows(t)
	f.auditDates(t, stored)
	f.auditPasses(t, stored)
	auditChanges(t, f.m, db, f.company.ID)
	got := map[string]int{}
	for _, r := range rows[changeRow](t, db, changesSQL, companyID(t, f.company.ID)) {
		if r.Action != "refunded" { // a cancellation returned the credits
			got[id.Booking(r.Booking).String()+" "+r.Action]++
		}
	}
	if err := errors.Join(more("answered", f.changes, got), more("stored", got, f.changes)); err != nil {
		t.Error(err)
	}
	f.verify(t)
}

// more returns an error for each change of which there are more than in other.
func more(what string, changes, other map[string]int) error {
	var faults []error
	for change, n := range changes {
		if n > other[change] {
			faults = append(faults, fmt.Errorf("%s: %d %s, not %d", change, n, what, other[change]))
		}
	}
	return errors.Join(faults...)
}
