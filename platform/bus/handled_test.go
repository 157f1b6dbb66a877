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

func TestProgress(t *testing.T) {
	b := testkit.Bus(t)
	publish := func(subject string) uint64 {
		t.Helper()
		m := bus.Message{ID: id.NewUUID(), Subject: subject, Payload: []byte("x"), OccurredAt: time.Now()}
		if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
			t.Fatal(err)
		}
		_, last, err := b.Progress(t.Context(), "reader")
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	if _, _, err := b.Progress(t.Context(), "reader"); err == nil {
		t.Error("a consumer that does not exist has progress")
	}
	handle := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(ctx, bus.Consumer{Name: "reader", Subjects: []string{"customer.v1.*"}, Handle: func(_ context.Context, msgs []bus.Message) error {
			select {
			case err := <-handle:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	wait := func(want uint64) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() error {
			handled, _, err := b.Progress(t.Context(), "reader")
			if err == nil && handled != want {
				err = fmt.Errorf("handled up to %d, want %d", handled, want)
			}
			return err
		})
	}
	wait(0)
	wait(publish("booking.v1.booking_confirmed")) // it has no events of this kind to handle
	// The server counts a new event as pending only after it has confirmed it.
	for range 100 {
		first := publish("customer.v1.customer_created")
		if handled, last, err := b.Progress(t.Context(), "reader"); err != nil || last != first || handled >= first {
			t.Fatalf("a new event: handled up to %d of %d, %v", handled, last, err)
		}
		handle <- nil
		wait(first)
	}
	first := publish("customer.v1.customer_created")
	if handled, last, err := b.Progress(t.Context(), "reader"); err != nil || last != first || handled >= first {
		t.Errorf("while an event is handled: up to %d of %d, %v", handled, last, err)
	}
	handle <- errors.New("it fails")
	if handled, _, err := b.Progress(t.Context(), "reader"); err != nil || handled >= first {
		t.Errorf("while an event waits for a retry: up to %d, %v", handled, err)
	}
	handle <- nil
	wait(first)
}

func TestHasAfterFindsTheEventsOfACompany(t *testing.T) {
	b := testkit.Bus(t)
	ours, theirs := id.New[id.Company](), id.New[id.Company]()
	publish := func(company id.Company) {
		m := bus.Message{ID: id.NewUUID(), Company: company, Subject: "customer.v1.customer_created", Payload: []byte("x"), OccurredAt: time.Now()}
		if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	publish(ours)
	last, err := b.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	publish(theirs)
	for _, step := range []struct {
		after uint64
		want  bool
	}{{last, false}, {last - 1, true}} {
		if has, err := b.HasAfter(t.Context(), step.after, ours, ours.Test()); err != nil || has != step.want {
			t.Errorf("after %d: %v, %v; want %v", step.after, has, err, step.want)
		}
	}
}
