package faults

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/test/harness"
)

// TestSlowResetDuringWrites deletes test data while clients add more, so that events about deleted data are
// on their way. When the clients have ended and a last reset has succeeded, no test data are left, and none
// appear later. The data in live mode are as before.
func TestSlowResetDuringWrites(t *testing.T) {
	t.Parallel()
	c := newModeCluster(t)
	before := harness.SettledRows(t, c.databases, c.live.ID)
	for range 3 {
		c.resetDuringWrites(t)
		c.reset(t)
		c.onlyEndpoints(t, harness.SettledRows(t, c.databases, c.test.ID))
	}
	harness.SameRows(t, before, harness.SettledRows(t, c.databases, c.live.ID))
}

// resetDuringWrites makes resets, two at a time, while clients write. Then every client writes all kinds of
// data once more, and those are left.
func (c *modeCluster) resetDuringWrites(t *testing.T) {
	t.Helper()
	var clients, resets sync.WaitGroup
	over := make(chan struct{}) // closed after the resets
	for range concurrent {
		clients.Go(func() {
			for resetting := true; resetting; {
				select {
				case <-over:
					resetting = false
				default:
				}
				// A write during a reset can fail, because half of the data that it needs are deleted.
				if err := c.visit(c.test.Ctx(t.Context())); err != nil && !resetting {
					t.Errorf("a client after the resets: %v", err)
				}
			}
		})
	}
	for range 2 {
		resets.Go(func() {
			for range 3 {
				if err := c.tryReset(newKey(c.test.Ctx(t.Context()))); err != nil && !repeats(err) {
					t.Errorf("a reset during writes: %v", err)
				}
			}
		})
	}
	resets.Wait()
	close(over)
	clients.Wait()
}

// visit adds a customer with bookings, and one who is erased.
func (c *modeCluster) visit(ctx context.Context) error {
	var customers []string
	for range 2 {
		res, err := c.op.Customers.CreateCustomer(newKey(ctx), &customerv1.CreateCustomerRequest{FirstName: "Zoë", LastName: "Núñez", Email: "zoe@example.com"})
		if err != nil {
			return err
		}
		customers = append(customers, res.GetCustomer().GetId())
	}
	if err := c.write(ctx, customers[0]); err != nil {
		return err
	}
	_, err := c.erasures.EraseCustomer(newKey(ctx), &privacyv1.EraseCustomerRequest{CustomerId: customers[1]})
	return err
}

// reset deletes the test data. It repeats the request until it succeeds without a warning: auth does not
// wait long for a service that handles events late.
func (c *modeCluster) reset(t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, func() error {
		before := c.warnings(t)
		err := c.tryReset(newKey(c.test.Ctx(t.Context())))
		if err != nil && !repeats(err) {
			t.Fatalf("the last reset: %v", err)
		}
		if err == nil && c.warnings(t) > before {
			return errors.New("services handled events late")
		}
		return err
	})
}

// warnings counts the warnings in auth's log that test data can remain.
func (c *modeCluster) warnings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(c.Part("auth").LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("test data can remain"))
}

func (c *modeCluster) tryReset(ctx context.Context) error {
	_, err := c.modes.ResetTestData(ctx, &authv1.ResetTestDataRequest{})
	return err
}

// repeats reports whether a client repeats a request after an error.
func repeats(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Conflict)
}
