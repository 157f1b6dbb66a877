package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

const (
	// groupSize is the number of clients that buy at once.
	groupSize = 4
	// singleDates and sharedDates are more than the test needs.
	singleDates, sharedDates = 500, 400
	// maxLooks is more than the commits of a purchase.
	maxLooks = 10
)

// replica is a client of a replica of booking.
type replica struct {
	bookingv1.BookingServiceClient
	bookingv1.BookingChangeServiceClient
	bookingv1.WaitlistServiceClient
}

func newReplica(conn grpc.ClientConnInterface) *replica {
	return &replica{bookingv1.NewBookingServiceClient(conn), bookingv1.NewBookingChangeServiceClient(conn), bookingv1.NewWaitlistServiceClient(conn)}
}

// stepCluster is a cluster with two replicas of booking. The first one, which is stopped, and pass
// use their databases through proxies. The first one also calls pass through a gate.
type stepCluster struct {
	*seller
	survivor *replica // the second one
	proxies  map[string]*harness.DatabaseProxy
	gate     *harness.CallGate
	booking  *pgx.Conn
	kills    int

	single, shared      []string // unused dates with one space, and with a space for each client
	customers           []string // who have bought nothing
	passes              map[string]string
	cheap, double, dear map[string]string // pricing options, by date
}

// newStepCluster starts a cluster with a number of customers, which must be enough for the test.
func newStepCluster(t *testing.T, customers int) *stepCluster {
	m := &salesCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{Bookings: 2, Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}})}
	m.op = m.Operator(t)
	c := &stepCluster{
		seller:  &seller{m: m, company: m.op.NewCompany(t, "Europe/London")},
		proxies: map[string]*harness.DatabaseProxy{}, gate: harness.NewCallGate(t, m.Pass), booking: m.connect(t, "booking"),
		passes: map[string]string{}, cheap: map[string]string{}, double: map[string]string{}, dear: map[string]string{},
	}
	for _, part := range []string{"booking", "pass"} {
		c.proxies[part] = harness.NewDatabaseProxy(t, m.AppURL(part))
		m.Part(part).Stop(t)
		m.Part(part).Set(map[string]string{"DATABASE_URL": c.proxies[part].URL(t, m.AppURL(part))})
	}
	m.Part("booking").Set(map[string]string{"PASS_ADDR": c.gate.Addr()})
	m.Part("pass").Restart(t)
	m.Part("booking").Restart(t)
	c.survivor = newReplica(m.Connect(t, c.replica(1)))
	c.stock(t, customers)
	return c
}

// replica returns the address of a replica of booking: 0 is stopped, 1 survives.
func (c *stepCluster) replica(n int) string { return strings.Split(c.m.Booking, ",")[n] }

// stock creates dates, and customers with a pass each.
func (c *stepCluster) stock(t *testing.T, customers int) {
	t.Helper()
	c.single = slices.Concat(c.newDates(t, singleDates, 1), c.newDates(t, singleDates, 1))
	c.shared = c.newDates(t, sharedDates, groupSize)
	c.customers = c.company.ImportCustomers(t, "step", customers)
	ctx := c.company.Ctx(t.Context())
	kind, err := c.m.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "A pass", TotalUses: uses, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for some := range slices.Chunk(c.customers, customers/8) {
		all.Go(func() {
			for _, customer := range some {
				made, err := c.m.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: kind.GetPassType().GetId()})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				c.passes[customer] = made.GetCustomerPass().GetId()
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// newDates creates an event with n dates. Its prices are 1 credit, 2 credits, and more than a pass can pay.
func (c *stepCluster) newDates(t *testing.T, n int, capacity int32) (dates []string) {
	t.Helper()
	req := &bookingv1.CreateEventRequest{Title: "Evening Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{
		{Name: "Class", Price: 1200, Credits: proto.Int32(1)}, {Name: "Long class", Price: 2400, Credits: proto.Int32(2)},
		{Name: "Private class", Price: 120_000, Credits: proto.Int32(2 * uses)},
	}}
	first := time.Now().Add(7 * aDay).Truncate(time.Second)
	for i := range n {
		req.Dates = append(req.Dates, &bookingv1.NewEventDate{
			StartsAt: timestamppb.New(first.Add(time.Duration(i) * time.Hour)), DurationMinutes: 60, Capacity: &capacity,
		})
	}
	made, err := bookingv1.NewEventServiceClient(c.m.Connect(t, c.replica(1))).CreateEvent(c.company.Ctx(t.Context()), req)
	if err != nil {
		t.Fatal(err)
	}
	options := made.GetEvent().GetPricingOptions()
	for _, date := range made.GetEvent().GetDates() {
		dates = append(dates, date.GetId())
		c.cheap[date.GetId()], c.double[date.GetId()], c.dear[date.GetId()] = options[0].GetId(), options[1].GetId(), options[2].GetId()
	}
	return dates
}

// attempt is a purchase of one space on each of its dates, or a change of bookings on them.
type attempt struct {
	c        *stepCluster
	kind     *purchaseKind
	customer string
	dates    []string
	method   bookingv1.PaymentMethod
	subject  string // the hold or the booking that the purchase is about

	// Of a change: another customer, the bookings that it changes, the entry of the customer who waits for the
	// first date, and the answer to the client.
	partner  string
	bookings []string
	entry    string
	answer   proto.Message

	transaction string // that the client was answered
	err         error  // of the last call
	seen        shown  // when the process was stopped
	repeats     bool   // the client repeats the purchase
}

// newAttempts prepares purchases of a kind.
func (c *stepCluster) newAttempts(t *testing.T, kind *purchaseKind) []*attempt {
	t.Helper()
	stock := &c.single
	if kind.clients > 1 || kind.change != nil && kind.change.shared {
		stock = &c.shared
	}
	if len(*stock) < kind.dates || len(c.customers) < kind.clients+1 {
		t.Fatalf("%d dates and %d customers are left", len(*stock), len(c.customers))
	}
	dates := (*stock)[:kind.dates]
	*stock = (*stock)[kind.dates:]
	var all []*attempt
	for client := range kind.clients {
		a := &attempt{c: c, kind: kind, customer: c.customers[client], dates: slices.Clone(dates), method: kind.method(client)}
		if client%3 == 2 {
			slices.Reverse(a.dates)
		}
		if kind.change != nil {
			a.partner = c.customers[kind.clients]
		}
		if kind.prepare != nil {
			// The survivor may still be waiting to connect to the process that was started again.
			ctx := rpc.WithIdempotencyKey(c.company.Ctx(t.Context()), "prepare-"+a.customer)
			harness.Eventually(t, backLimit, func() error { return kind.prepare(ctx, c.survivor, a) })
		}
		all = append(all, a)
	}
	c.customers = c.customers[kind.clients:]
	if kind.change != nil {
		c.customers = c.customers[1:]
	}
	return all
}

func (a *attempt) lines(options map[string]string) (lines []*bookingv1.TransactionLine) {
	for _, date := range a.dates {
		lines = append(lines, &bookingv1.TransactionLine{EventDateId: date, PricingOptionId: options[date], Spaces: 1})
	}
	return lines
}

// buyAt makes the purchase at given prices.
func (a *attempt) buyAt(ctx context.Context, client *replica, options map[string]string) (*bookingv1.Transaction, error) {
	res, err := client.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{PurchaserId: a.customer, Lines: a.lines(options), PaymentMethod: a.method})
	if err != nil {
		return nil, err
	}
	return res.GetTransaction(), a.answered(res.GetTransaction())
}

// answered records an answer, which must be the same every time.
func (a *attempt) answered(made *bookingv1.Transaction) error {
	if a.transaction != "" && a.transaction != made.GetId() {
		return fmt.Errorf("the answer was %s, and later %s", a.transaction, made.GetId())
	}
	a.transaction = made.GetId()
	return nil
}

func buy(ctx context.Context, client *replica, a *attempt) error {
	_, err := a.buyAt(ctx, client, a.c.cheap)
	return err
}

func buyKeyed(ctx context.Context, client *replica, a *attempt) error {
	return buy(rpc.WithIdempotencyKey(ctx, a.customer), client, a)
}

func buyDear(ctx context.Context, client *replica, a *attempt) error {
	_, err := a.buyAt(rpc.WithIdempotencyKey(ctx, a.customer), client, a.c.dear)
	return err
}

func hold(ctx context.Context, client *replica, a *attempt) error {
	res, err := client.HoldPlaces(ctx, &bookingv1.HoldPlacesRequest{PurchaserId: a.customer, Lines: a.lines(a.c.cheap)})
	a.subject = res.GetHold().GetId()
	return err
}

func confirmHold(ctx context.Context, client *replica, a *attempt) error {
	res, err := client.ConfirmHold(ctx, &bookingv1.ConfirmHoldRequest{HoldId: a.subject, PaymentMethod: a.method})
	if err != nil {
		return err
	}
	return a.answered(res.GetTransaction())
}

func buyFirst(ctx context.Context, client *replica, a *attempt) error {
	made, err := a.buyAt(ctx, client, a.c.cheap)
	if err == nil {
		a.subject = made.GetBookings()[0].GetId()
	}
	return err
}

func cancelFirst(ctx context.Context, client *replica, a *attempt) error {
	_, err := client.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: a.subject})
	return err
}

// reason returns the reason with which the last call was refused, "" if it was not, and the whole
// error if it is something else.
func (a *attempt) reason() string {
	if f := fault.From(a.err); a.err != nil && f != nil && f.Kind == fault.Refused {
		return f.Reason
	}
	if a.err != nil {
		return a.err.Error()
	}
	return ""
}

// steps returns what others can see of the purchase. A purchase by card has one step.
func (a *attempt) steps() []shown {
	steps := a.kind.steps
	if a.method == byCard {
		steps = []shown{steps[0], steps[len(steps)-1]}
	}
	all := make([]shown, len(steps))
	for n := range steps {
		all[n] = a.whole(steps[n])
	}
	return all
}

// whole returns what is shown of all of the purchase's dates if one is given for one date.
func (a *attempt) whole(one shown) shown {
	if a.kind.change != nil {
		return one
	}
	if a.method == byCard {
		one.credits = 0
	}
	n := a.kind.dates
	return shown{listed: n * one.listed, credits: n * one.credits, spaces: n * one.spaces}
}

// ends returns how the purchase can end. If several purchases were made at once, the database may
// have committed more than others saw at first.
func (a *attempt) ends() []shown {
	last, undone := a.whole(a.kind.steps[len(a.kind.steps)-1]), a.whole(a.kind.undone)
	switch {
	case a.repeats || a.seen == last || slices.Index(a.steps(), a.seen) >= a.kind.final:
		return []shown{last}
	case a.kind.clients > 1:
		return []shown{last, undone}
	}
	return []shown{undone}
}

const (
	// The spaces of a customer, and the dates whose counts differ from their bookings.
	lookSQL = `select coalesce((select sum(b.spaces) from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
				where b.company_id = $1 and t.purchaser_id = $2 and not b.is_cancelled and t.status <> 'released'), 0)::integer,
			(select count(*) from (` + datesSQL + `) d where d.booked <> d.spaces or d.booked > d.capacity)`

	attemptsUnsettledSQL = `select (select count(*) from transactions where company_id = $1 and purchaser_id = any($2) and status in ('pending', 'undoing'))
		+ (select count(*) from credit_returns r join transactions t on t.company_id = r.company_id and t.id = r.transaction_id
			where r.company_id = $1 and t.purchaser_id = any($2))
		+ (select count(*) from credit_changes c join bookings b on b.company_id = c.company_id and b.id = c.booking_id
			join transactions t on t.company_id = b.company_id and t.id = b.transaction_id where c.company_id = $1 and t.purchaser_id = any($2))`
)

// look returns what others see of a purchase or a change, once two looks are equal. It can advance between the
// parts of a look, even if its process was killed, because the database completes what it has received.
func (c *stepCluster) look(t *testing.T, a *attempt) shown {
	t.Helper()
	last := c.lookOnce(t, a)
	for range maxLooks {
		now := c.lookOnce(t, a)
		if now == last {
			return now
		}
		last = now
	}
	t.Fatalf("%s never stops changing", a.kind.name)
	return last
}

func (c *stepCluster) lookOnce(t *testing.T, a *attempt) shown {
	t.Helper()
	s := shown{listed: c.listed(t, a), credits: c.given(t, a.customer), spaces: c.spaces(t, a)}
	if len(a.bookings) > 1 {
		s.credits += c.given(t, a.partner)
	}
	if a.kind.change != nil {
		s.changed = c.changed(t, a)
	}
	return s
}

// listed returns how many bookings a list of the customer's purchases has.
func (c *stepCluster) listed(t *testing.T, a *attempt) (n int) {
	t.Helper()
	list, err := c.survivor.ListTransactions(c.company.Ctx(t.Context()), &bookingv1.ListTransactionsRequest{CustomerId: a.customer})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range list.GetTransactions() {
		for _, b := range made.GetBookings() {
			if !b.GetIsCancelled() {
				n++
			}
		}
	}
	return n
}

// given returns how many credits the pass of a customer has given.
func (c *stepCluster) given(t *testing.T, customer string) int {
	t.Helper()
	pass, err := c.m.op.Passes.GetCustomerPass(c.company.Ctx(t.Context()), &passv1.GetCustomerPassRequest{Id: c.passes[customer]}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return uses - int(pass.GetCustomerPass().GetRemainingUses())
}

// spaces returns how many spaces the customer's purchases take, and checks the counts of all dates.
func (c *stepCluster) spaces(t *testing.T, a *attempt) (taken int) {
	t.Helper()
	wrong := 0
	err := c.booking.QueryRow(t.Context(), lookSQL, companyID(t, c.company.ID), uuid(t, a.customer, id.Parse[id.Customer])).Scan(&taken, &wrong)
	if err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d dates do not count the spaces of their bookings, or have more than their capacity", wrong)
	}
	return taken
}

// awaitSettled returns when nothing is in progress for the purchases, or when what goes on in the
// background has sprung the trap of proxy.
func (c *stepCluster) awaitSettled(t *testing.T, proxy *harness.DatabaseProxy, attempts []*attempt) {
	t.Helper()
	var customers [][16]byte
	for _, a := range attempts {
		customers = append(customers, uuid(t, a.customer, id.Parse[id.Customer]))
		if a.partner != "" {
			customers = append(customers, uuid(t, a.partner, id.Parse[id.Customer]))
		}
	}
	harness.Eventually(t, settledLimit, func() error {
		if proxy.Sprung() {
			return nil
		}
		c.makeDue(t, c.booking)
		if n := number(t, c.booking, attemptsUnsettledSQL, companyID(t, c.company.ID), customers); n > 0 {
			return fmt.Errorf("%d transactions and returns of credits are in progress", n)
		}
		return nil
	})
}

func (c *stepCluster) settle(t *testing.T) {
	t.Helper()
	c.seller.settle(t, c.booking)
}

// audit checks the company's rows, and prints how many processes were killed.
func (c *stepCluster) audit(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	t.Logf("%d processes were killed", c.kills)
	stored := c.rows(t)
	c.auditPasses(t, stored)
	auditChanges(t, c.m, c.booking, c.company.ID)
	c.verify(t)
}

// testEvents compares the events with the stored bookings.
func (c *stepCluster) testEvents(t *testing.T) {
	want := map[string]bool{}
	for _, b := range rows[bookingRow](t, c.booking, bookingsSQL, companyID(t, c.company.ID)) {
		if b.Status == "confirmed" {
			want[id.Booking(b.ID).String()] = true
		}
	}
	harness.Eventually(t, eventsLimit, func() error {
		return compareSets("confirmations", c.m.confirmed(t)[c.company.ID], slices.Collect(maps.Keys(want)))
	})
}
