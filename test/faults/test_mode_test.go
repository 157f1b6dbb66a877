package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/test/harness"
)

// TestSlowTestModeDespiteKills kills processes while they delete test data and advance the test clock.
// After the request is repeated, all test data are deleted, every service has the new time, and the
// data in live mode are as before.
func TestSlowTestModeDespiteKills(t *testing.T) {
	t.Parallel()
	c := newModeCluster(t)
	before := harness.SettledRows(t, c.databases, c.live.ID)
	for _, part := range []string{"booking", "subscription", "pass", "media", "reports", "customer", "webhook"} {
		t.Run("auth is killed while "+part+" deletes test data", func(t *testing.T) { c.testReset(t, part, "auth") })
		t.Run(part+" is killed while it deletes test data", func(t *testing.T) { c.testReset(t, part, part) })
	}
	for _, part := range []string{"booking", "subscription", "pass", "media", "reports", "customer"} {
		t.Run("auth is killed while "+part+" gets the new time", func(t *testing.T) { c.testAdvance(t, part, "auth") })
		t.Run(part+" is killed before it gets the new time", func(t *testing.T) { c.testAdvance(t, part, part) })
	}
	harness.SameRows(t, before, harness.SettledRows(t, c.databases, c.live.ID))
}

// modeCluster is a cluster with a company in both modes. Auth calls the other services through gates.
type modeCluster struct {
	*harness.Cluster
	op         *harness.Operator
	modes      authv1.TestModeServiceClient
	erasures   privacyv1.ErasureServiceClient
	live, test *harness.Company
	gates      map[string]*harness.CallGate
	databases  []*pgx.Conn
	kept       map[string][]string // the tables that a reset keeps, by service
	requests   int
}

func newModeCluster(t *testing.T) *modeCluster {
	t.Helper()
	c := &modeCluster{
		// Retries of deliveries, and deliveries that wait for an endpoint that fails, would change rows during the test.
		Cluster: harness.StartCluster(t, harness.ClusterOptions{Webhooks: 1, Env: map[string]string{
			"SHUTDOWN_DRAIN": "2s", "WEBHOOK_RETRIES": "24h", "WEBHOOK_BREAKER_FAILURES": "1000000",
		}}),
		gates: map[string]*harness.CallGate{},
		kept:  harness.KeptTestData(t),
	}
	env := map[string]string{}
	for part, addr := range map[string]string{
		"booking": c.Booking, "pass": c.Pass, "subscription": c.Subscription, "media": c.Media, "reports": c.Reports, "customer": c.Customer, "webhook": c.Webhook,
	} {
		c.gates[part] = harness.NewCallGate(t, addr)
		env[strings.ToUpper(part)+"_ADDR"] = c.gates[part].Addr()
	}
	c.Part("auth").Stop(t)
	c.Part("auth").Set(env)
	c.Part("auth").Restart(t)
	for _, part := range []string{"auth", "booking", "subscription", "pass", "media", "reports", "customer", "webhook"} {
		conn, err := pgx.Connect(t.Context(), c.OwnerURL(part))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		c.databases = append(c.databases, conn)
	}
	c.op, c.modes = c.Operator(t), authv1.NewTestModeServiceClient(c.Connect(t, c.Auth))
	c.erasures = privacyv1.NewErasureServiceClient(c.Connect(t, c.Customer))
	c.live = c.op.NewCompany(t, "Europe/London")
	enabled, err := c.modes.EnableTestMode(c.live.Ctx(t.Context()), &authv1.EnableTestModeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c.test = c.op.Company(enabled.GetCompany().GetId())
	c.live.NewEndpoint(t, "https://receiver.invalid/live")
	c.test.NewEndpoint(t, "https://receiver.invalid/test")
	c.fill(t, c.live)
	return c
}

// fill adds data of a company to every service.
func (c *modeCluster) fill(t *testing.T, company *harness.Company) {
	t.Helper()
	customer := company.ImportCustomers(t, fmt.Sprint("mode", c.requests, "-"), 40)[0]
	if err := callUntilConnected(t, func(ctx context.Context) error { return c.write(company.Ctx(ctx), customer) }); err != nil {
		t.Fatal(err)
	}
}

// write gives a customer a pass, and bookings that are paid by card and by pass.
func (c *modeCluster) write(ctx context.Context, customer string) error {
	kind, err := c.op.Passes.CreatePassType(newKey(ctx), &passv1.CreatePassTypeRequest{
		Title: "Ten Classes", TotalUses: 10, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 11000,
	})
	if err != nil {
		return fmt.Errorf("pass type: %w", err)
	}
	if _, err := c.op.Passes.AssignCustomerPass(newKey(ctx), &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: kind.GetPassType().GetId()}); err != nil {
		return fmt.Errorf("pass: %w", err)
	}
	made, err := c.op.Events.CreateEvent(newKey(ctx), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	for _, method := range []bookingv1.PaymentMethod{bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, bookingv1.PaymentMethod_PAYMENT_METHOD_PASS} {
		if _, err := c.op.Bookings.CreateTransaction(newKey(ctx), &bookingv1.CreateTransactionRequest{
			PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventId: made.GetEvent().GetId(), Spaces: 1}}, PaymentMethod: method,
		}); err != nil {
			return fmt.Errorf("purchase: %w", err)
		}
	}
	return nil
}

// newKey returns ctx with a new idempotency key.
func newKey(ctx context.Context) context.Context {
	return rpc.WithIdempotencyKey(ctx, id.NewUUID().String())
}

// interrupt makes a request, kills a process as soon as auth calls a service for it, and repeats the
// request until it succeeds.
func (c *modeCluster) interrupt(t *testing.T, part, killed string, request func(ctx context.Context) error) {
	t.Helper()
	c.requests++
	ctx := rpc.WithIdempotencyKey(c.test.Ctx(t.Context()), fmt.Sprint("request-", c.requests))
	held, answered := c.gates[part].Hold(), make(chan error, 1)
	go func() { answered <- request(ctx) }()
	select {
	case <-held.Arrived():
	case err := <-answered:
		t.Fatalf("auth did not call %s: %v", part, err)
	}
	if killed == "auth" {
		c.Part(killed).Kill(t)
		<-held.Release()
	} else {
		held.Release()
		c.Part(killed).Kill(t)
	}
	first := <-answered
	if killed == "auth" && first == nil {
		t.Error("the request was answered after auth was killed")
	}
	c.Part(killed).Restart(t)
	harness.Eventually(t, backLimit, func() error {
		err := request(ctx)
		if err != nil && !repeats(err) {
			t.Errorf("the repeated request: %v", err)
			return nil
		}
		return err
	})
}

func (c *modeCluster) testReset(t *testing.T, part, killed string) {
	c.fill(t, c.test)
	if filled := c.testRows(harness.SettledRows(t, c.databases, c.test.ID)); len(filled) < 15 {
		t.Fatalf("only %v have rows", filled)
	}
	c.interrupt(t, part, killed, func(ctx context.Context) error {
		_, err := c.modes.ResetTestData(ctx, &authv1.ResetTestDataRequest{})
		return err
	})
	c.onlyEndpoints(t, harness.CompanyRows(t, c.databases, c.test.ID))
	c.sameClock(t, 0)
}

// onlyEndpoints checks that a reset has left the webhook endpoint, with its secret, and no other test data.
func (c *modeCluster) onlyEndpoints(t *testing.T, all map[string]harness.Rows) {
	t.Helper()
	for _, table := range []string{"webhook.endpoints", "webhook.endpoint_secrets"} {
		if n := all[table].Number; n != 1 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if left := c.testRows(all); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// testRows returns the tables that have rows of test data.
func (c *modeCluster) testRows(all map[string]harness.Rows) map[string]harness.Rows {
	maps.DeleteFunc(all, func(table string, rows harness.Rows) bool {
		database, name, _ := strings.Cut(table, ".")
		return rows.Number == 0 || database == "auth" || name == "companies" || slices.Contains(c.kept[database], name)
	})
	return all
}

func (c *modeCluster) testAdvance(t *testing.T, part, killed string) {
	clock, err := c.modes.GetTestClock(c.test.Ctx(t.Context()), &authv1.GetTestClockRequest{})
	if err != nil {
		t.Fatal(err)
	}
	to := timestamppb.New(clock.GetClock().GetNow().AsTime().Add(aDay))
	var moved *authv1.TestClock
	c.interrupt(t, part, killed, func(ctx context.Context) error {
		res, err := c.modes.AdvanceTestClock(ctx, &authv1.AdvanceTestClockRequest{To: to})
		moved = res.GetClock()
		return err
	})
	if ahead := moved.GetOffsetSeconds() - clock.GetClock().GetOffsetSeconds(); ahead < 86_000 || ahead > 86_401 {
		t.Errorf("the clock moved by %d s", ahead)
	}
	c.sameClock(t, moved.GetOffsetSeconds())
}

// sameClock checks the position of the test clock in auth and in every copy of the company.
func (c *modeCluster) sameClock(t *testing.T, want int64) {
	t.Helper()
	company, err := id.Parse[id.Company](c.test.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range c.databases {
		var got int64
		name := db.Config().Database
		if name == "webhook" { // it has no copy
			continue
		}
		if err := db.QueryRow(t.Context(), `select clock_offset_seconds from companies where company_id = $1`, company).Scan(&got); err != nil || got != want {
			t.Errorf("the clock of %s is %d s ahead, not %d: %v", name, got, want, err)
		}
	}
}
