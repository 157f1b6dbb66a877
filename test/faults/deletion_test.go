package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/test/harness"
)

// TestDeletions deletes and erases customers while NATS or a service is unavailable. After DELETE
// is answered 200, every replica refuses the customer.
func TestDeletions(t *testing.T) {
	t.Parallel()
	c := newReplicatedCluster(t)
	t.Run("a deletion succeeds while NATS is unavailable, and every replica refuses the customer", func(t *testing.T) {
		customer := c.newCustomer(t)
		c.NATS.Stop(t)
		defer c.NATS.Start(t)
		c.delete(t, customer, http.StatusOK)
		c.refused(t, customer)
		c.delete(t, customer, http.StatusNotFound)
	})
	for _, part := range []string{"booking", "pass"} {
		t.Run("a deletion is answered 503 until "+part+" is available", func(t *testing.T) {
			customer := c.newCustomer(t)
			c.forEachReplica(part, func(p *harness.Part) { p.Stop(t) })
			for range 2 {
				answer := c.delete(t, customer, http.StatusServiceUnavailable)
				checkUnavailable(t, answer)
				if !strings.Contains(string(answer.Body), "repeat the request") {
					t.Errorf("the error does not say what to do: %s", answer.Body)
				}
			}
			c.b.Do(t, harness.Request{Path: "/customers/" + customer, Token: c.token}).Into(t, http.StatusNotFound, nil)
			c.forEachReplica(part, func(p *harness.Part) { p.Restart(t) })
			c.deleteUntil(t, customer)
			c.refused(t, customer)
		})
	}
	t.Run("a deletion continues after the customer service is killed between its commits", func(t *testing.T) {
		customer := c.newCustomer(t)
		c.forEachReplica("pass", func(p *harness.Part) { p.Pause() })
		answered := make(chan int, 1)
		go func() {
			answer, _ := c.b.Try(t.Context(), c.deletion(customer))
			answered <- answer.Code
		}()
		harness.Eventually(t, backLimit, func() error {
			return code(t.Context(), &c.b.A, harness.Request{Path: "/customers/" + customer, Token: c.token}, http.StatusNotFound)
		})
		c.Part("customer").Kill(t)
		c.forEachReplica("pass", func(p *harness.Part) { p.Resume() })
		if got := <-answered; got == http.StatusOK {
			t.Error("the deletion was answered 200 before pass confirmed it")
		}
		c.Part("customer").Restart(t)
		c.deleteUntil(t, customer)
		c.refused(t, customer)
	})
	t.Run("an erasure is refused until booking is available, and then completes", func(t *testing.T) {
		customer := c.newCustomer(t)
		erasures := privacyv1.NewErasureServiceClient(c.Connect(t, c.Customer))
		erase := func(ctx context.Context) (*privacyv1.Erasure, error) {
			res, err := erasures.EraseCustomer(c.company.Ctx(ctx), &privacyv1.EraseCustomerRequest{CustomerId: customer})
			return res.GetErasure(), err
		}
		c.forEachReplica("booking", func(p *harness.Part) { p.Stop(t) })
		if _, err := erase(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		c.forEachReplica("booking", func(p *harness.Part) { p.Restart(t) })
		harness.Eventually(t, backLimit, func() error { _, err := erase(t.Context()); return err })
		c.refused(t, customer)
		harness.Eventually(t, time.Minute, func() error {
			e, err := erase(t.Context())
			if err == nil && e.GetCompletedAt() == nil {
				err = fmt.Errorf("the erasure is not complete: %v", e)
			}
			return err
		})
	})
}

// replicatedCluster is a cluster with two replicas of booking and of pass, and a company in it.
type replicatedCluster struct {
	*harness.Cluster
	company  *harness.Company
	b        *harness.B
	token    string // of Interface B
	tokenA   string
	class    *bookingv1.Event
	passType string
	replicas []*harness.Operator // each calls one replica of booking and one of pass
}

func newReplicatedCluster(t *testing.T) *replicatedCluster {
	t.Helper()
	c := &replicatedCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{
		Bookings: 2, Passes: 2, Gateways: 2, GatewaysB: 1, Webhooks: 1, Env: map[string]string{"SHUTDOWN_DRAIN": "2s", "ERASURE_SETTLE": "1s"},
	})}
	op := c.Operator(t)
	c.company, c.b = op.NewCompany(t, "Europe/London"), harness.NewB(t, c.GatewaysB[0])
	c.token, c.tokenA = c.b.Token(t, c.company.NewKey(t, 10_000)), c.A(t).Token(t, c.company.NewClient(t))
	ctx := c.company.Ctx(t.Context())
	made, err := op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "Ten Classes", TotalUses: 10, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 11000,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.class, c.passType = made.GetEvent(), kind.GetPassType().GetId()
	bookings, passes := strings.Split(c.Booking, ","), strings.Split(c.Pass, ",")
	for i := range bookings {
		one := c.Platform
		one.Booking, one.Pass = bookings[i], passes[i]
		c.replicas = append(c.replicas, one.Operator(t))
	}
	return c
}

// forEachReplica calls do for each replica of a service.
func (c *replicatedCluster) forEachReplica(service string, do func(*harness.Part)) {
	do(c.Part(service))
	do(c.Part(service + "-2"))
}

// newCustomer creates a customer with a booking and a pass. Every replica then knows the
// customer.
func (c *replicatedCluster) newCustomer(t *testing.T) string {
	t.Helper()
	customer := c.company.NewCustomer(t, "Ada", "Lovelace").GetId()
	for i, op := range c.replicas {
		for _, act := range c.customerCalls(op, customer) {
			if err := callUntilConnected(t, act); err != nil {
				t.Fatalf("replica %d: %v", i, err)
			}
		}
	}
	return customer
}

// customerCalls returns the calls that a replica makes for a customer.
func (c *replicatedCluster) customerCalls(op *harness.Operator, customer string) []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := op.Bookings.CreateTransaction(op.As(ctx, c.company.ID), &bookingv1.CreateTransactionRequest{
				PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventId: c.class.GetId(), Spaces: 1}},
			})
			return err
		},
		func(ctx context.Context) error {
			_, err := op.Passes.AssignCustomerPass(op.As(ctx, c.company.ID), &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: c.passType})
			return err
		},
		func(ctx context.Context) error {
			_, err := op.Bookings.ListTransactions(op.As(ctx, c.company.ID), &bookingv1.ListTransactionsRequest{CustomerId: customer})
			return err
		},
	}
}

// callUntilConnected returns the answer to a call. It retries while the connection to a restarted
// process is not yet established again.
func callUntilConnected(t *testing.T, call func(context.Context) error) (err error) {
	t.Helper()
	harness.Eventually(t, backLimit, func() error {
		if err = call(t.Context()); fault.Is(err, fault.Unavailable) {
			return err
		}
		return nil
	})
	return err
}

// refused checks that every replica refuses a customer in its first answer.
func (c *replicatedCluster) refused(t *testing.T, customer string) {
	t.Helper()
	for i, op := range c.replicas {
		for n, act := range c.customerCalls(op, customer) {
			if err := callUntilConnected(t, act); !fault.Is(err, fault.NotFound) {
				t.Errorf("replica %d, act %d: got %v", i, n, err)
			}
		}
	}
	for _, gateway := range c.Gateways {
		a := harness.NewA(t, gateway)
		for _, path := range []string{profilePath(customer), bookingsPath(customer), "/customer/" + customer + "/booking/txn_01jb4x9m3vf6ksn8w2d7pq5r0t"} {
			var got harness.Answer
			harness.Eventually(t, backLimit, func() (err error) {
				got, err = a.Try(t.Context(), harness.Request{Path: path, Token: c.tokenA})
				if err == nil && got.Code == http.StatusServiceUnavailable {
					err = fmt.Errorf("%s is unavailable", path)
				}
				return err
			})
			if got.Code != http.StatusNotFound {
				t.Errorf("%s was answered %d: %s", path, got.Code, got.Body)
			}
		}
	}
}

func (c *replicatedCluster) deletion(customer string) harness.Request {
	return harness.Request{Method: http.MethodDelete, Path: "/customers/" + customer, Token: c.token}
}

// delete deletes a customer on Interface B and checks the answer.
func (c *replicatedCluster) delete(t *testing.T, customer string, want int) harness.Answer {
	t.Helper()
	answer := c.b.Do(t, c.deletion(customer))
	if answer.Code != want {
		t.Errorf("DELETE was answered %d, want %d: %s", answer.Code, want, answer.Body)
	}
	return answer
}

// deleteUntil repeats a deletion until it is answered 200. The next deletion must be answered
// 404.
func (c *replicatedCluster) deleteUntil(t *testing.T, customer string) {
	t.Helper()
	harness.Eventually(t, backLimit, func() error { return code(t.Context(), &c.b.A, c.deletion(customer), http.StatusOK) })
	c.delete(t, customer, http.StatusNotFound)
}
