package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

func TestAwaitHandled(t *testing.T) {
	b := testkit.Bus(t)
	publish := func() {
		m := bus.Message{ID: id.NewUUID(), Subject: "customer.v1.customer_created", Payload: []byte("x"), OccurredAt: time.Now()}
		if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AwaitHandled(t.Context()); err != nil {
		t.Errorf("without a consumer: %v", err)
	}
	handle, handled := make(chan struct{}), make(chan struct{}, 10)
	for name, subject := range map[string]string{"slow": "customer.v1.*", "elsewhere": "booking.v1.*"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := b.Consume(ctx, bus.Consumer{Name: name, Subjects: []string{subject}, Handle: func(_ context.Context, msgs []bus.Message) error {
				<-handle
				handled <- struct{}{}
				return nil
			}})
			if err != nil {
				t.Error(err)
			}
		}()
		t.Cleanup(func() { cancel(); <-done })
	}
	publish()
	testkit.Eventually(t, time.Minute, func() error { // until the consumer exists
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := b.AwaitHandled(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "slow") {
			return fmt.Errorf("with an event that is not handled: %w", err)
		}
		return nil
	})
	close(handle)
	if err := b.AwaitHandled(t.Context()); err != nil || len(handled) != 1 {
		t.Errorf("%v, %d handled", err, len(handled))
	}
}
