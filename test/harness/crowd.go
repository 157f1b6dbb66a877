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
	// buyers is how many clients there are at once, each of which books no more
	// often than pace, and not after crowdLimit.
	buyers     = 6
	pace       = 100 * time.Millisecond
	crowdLimit = 15 * time.Minute
)

// Crowd is several buyers that book and read again and again, through one client.
type Crowd struct {
	client *RetryingClient
	booked atomic.Int64
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// Open lets a crowd in. A booking or a look that fails in spite of its repeats
// fails t.
func (s *RetryingClient) Open(t testing.TB) *Crowd {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), crowdLimit)
	c := &Crowd{client: s, stop: stop}
	for n := range buyers {
		c.all.Go(func() {
			next := time.NewTicker(pace)
			defer next.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				// What has begun is finished: only then the books can be compared.
				if _, err := s.Book(t.Context(), fmt.Sprintf("load-%d-%d", n, i), nil); err != nil {
					t.Errorf("Interface B: %v", err)
					return
				}
				c.booked.Add(1)
				if err := s.Look(t.Context()); err != nil {
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

// AwaitMore waits until as many registrations as there are clients have been
// answered from now on.
func (c *Crowd) AwaitMore(t testing.TB, limit time.Duration) {
	t.Helper()
	before := c.booked.Load()
	Eventually(t, limit, func() error {
		if c.booked.Load() < before+buyers {
			return fmt.Errorf("since %d registrations nothing more is booked", before)
		}
		return nil
	})
}

// Close sends the crowd home, and compares what its clients were answered with
// what there is.
func (c *Crowd) Close(t testing.TB) {
	t.Helper()
	c.stop()
	c.all.Wait()
	got, err := c.client.Registrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if booked := c.booked.Load(); got != booked {
		t.Errorf("%d registrations were answered, and there are %d", booked, got)
	}
}

func (c *Crowd) String() string {
	return fmt.Sprintf("%d registrations, %d requests were made again", c.booked.Load(), c.client.repeats.Load())
}
