package harness

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// buyers is the number of concurrent clients. Each books at most once per pace, and stops
	// after loadLimit.
	buyers    = 6
	pace      = 100 * time.Millisecond
	loadLimit = 15 * time.Minute
)

// Load is several buyers that book and read in a loop through one client.
type Load struct {
	client *RetryingClient
	booked atomic.Int64
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// StartLoad starts several buyers. A booking or a read that still fails after its retries fails t.
func (s *RetryingClient) StartLoad(t testing.TB) *Load {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), loadLimit)
	c := &Load{client: s, stop: stop}
	for n := range buyers {
		c.all.Go(func() {
			next := time.NewTicker(pace)
			defer next.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				// Each buyer finishes what it began, because otherwise the numbers could not be
				// compared.
				if _, err := s.Book(t.Context(), fmt.Sprintf("load-%d-%d", n, i), nil); err != nil {
					t.Errorf("Interface B: %v", err)
					return
				}
				c.booked.Add(1)
				if err := s.ListBookings(t.Context(), s.customer); err != nil {
					t.Errorf("Interface A: %v", err)
					return
				}
				select {
				case <-next.C:
				case <-ctx.Done():
				}
			}
		})
	}
	t.Cleanup(func() { stop(); c.all.Wait() })
	return c
}

// AwaitMore waits until as many further registrations as there are buyers have succeeded.
func (c *Load) AwaitMore(t testing.TB, limit time.Duration) {
	t.Helper()
	before := c.booked.Load()
	Eventually(t, limit, func() error {
		if c.booked.Load() < before+buyers {
			return fmt.Errorf("no further booking after %d registrations", before)
		}
		return nil
	})
}

// Stop stops the buyers, and compares the number of registrations that succeeded with the number
// that the platform reports.
func (c *Load) Stop(t testing.TB) {
	t.Helper()
	c.stop()
	c.all.Wait()
	got, err := c.client.Registrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if booked := c.booked.Load(); got != booked {
		t.Errorf("%d registrations succeeded, but the platform reports %d", booked, got)
	}
}

func (c *Load) String() string {
	return fmt.Sprintf("%d registrations, %d retries", c.booked.Load(), c.client.repeats.Load())
}
