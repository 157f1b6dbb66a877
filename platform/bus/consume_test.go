package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/origin"
)

const created = "customer.v1.customer_created"

func TestConsume(t *testing.T) {
	t.Run("delivers batches in the order of the stream, no larger than Batch", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, events(created, 95)...)
		var got log
		var largest atomic.Int64
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Batch: 10, Handle: func(_ context.Context, msgs []bus.Message) error {
			largest.Store(max(largest.Load(), int64(len(msgs))))
			got.add(msgs...)
			return nil
		}})
		got.wait(t, 95)
		if !slices.Equal(got.payloads(), numbers(95)) {
			t.Errorf("got %v", got.payloads())
		}
		if n := largest.Load(); n < 2 || n > 10 {
			t.Errorf("the largest batch had %d messages", n)
		}
	})

	t.Run("tells handlers that they handle an event", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, events(created, 1)...)
		got := make(chan bool, 1)
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: func(ctx context.Context, _ []bus.Message) error {
			got <- origin.IsEvent(ctx)
			return nil
		}})
		if !<-got {
			t.Error("the context is that of a request")
		}
	})

	t.Run("processes with one name share the messages; each name gets all of them", func(t *testing.T) {
		b, other := testkit.Bus(t), testkit.Bus(t)
		var shared, own log
		for _, process := range []*bus.Bus{b, other} {
			consume(t, process, bus.Consumer{Name: "shared", Subjects: []string{created}, Batch: 5, Handle: shared.handle})
		}
		consume(t, b, bus.Consumer{Name: "own", Subjects: []string{"customer.v1.*"}, Handle: own.handle})
		publish(t, b, events(created, 300)...)
		own.wait(t, 300)
		seen := map[string]int{}
		for _, m := range shared.wait(t, 300) {
			seen[string(m.Payload)]++
		}
		if len(seen) != 300 || len(shared.all()) != 300 {
			t.Errorf("%d different of %d", len(seen), len(shared.all()))
		}
	})

	t.Run("delivers only the given subjects, also after they change", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, event(created, "a"), event("pass.v1.pass_purchased", "b"), event("booking.v1.booking_confirmed", "c"))
		var first log
		r := consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: first.handle})
		first.wait(t, 1)
		r.stop(t)
		var second log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created, "booking.v1.*"}, Handle: second.handle})
		publish(t, b, event("booking.v1.booking_confirmed", "d"))
		second.wait(t, 1)
		if slices.Contains(second.payloads(), "b") || slices.Contains(second.payloads(), "a") || len(first.all()) != 1 {
			t.Errorf("got %v, then %v", first.payloads(), second.payloads())
		}
	})

	t.Run("messages that arrive while a batch is handled form the next batch", func(t *testing.T) {
		b := testkit.Bus(t)
		var got log
		var sizes []int
		first, release := make(chan struct{}), make(chan struct{})
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Batch: 100, Handle: func(_ context.Context, msgs []bus.Message) error {
			if sizes = append(sizes, len(msgs)); len(sizes) == 1 {
				close(first)
				<-release
			}
			got.add(msgs...)
			return nil
		}})
		all := events(created, 21)
		publish(t, b, all[0])
		<-first
		consumer, err := b.JetStream().Consumer(t.Context(), strings.ToUpper(b.Prefix())+"_EVENTS", "c")
		if err != nil {
			t.Fatal(err)
		}
		for i := range all[1:] {
			publish(t, b, all[i+1])
			testkit.Eventually(t, patience, func() error { // before the next one comes
				info, err := consumer.Info(t.Context())
				if err == nil && info.NumAckPending != i+2 {
					err = fmt.Errorf("%d messages are delivered", info.NumAckPending)
				}
				return err
			})
		}
		if err := b.Conn().Flush(); err != nil { // behind them
			t.Fatal(err)
		}
		close(release)
		got.wait(t, 21)
		if len(sizes) > 10 { // two, where no goroutine is kept waiting
			t.Errorf("batches of %v", sizes)
		}
	})

	t.Run("does not delay a single message to fill its batch", func(t *testing.T) {
		b := testkit.Bus(t)
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, MaxWait: time.Hour, Handle: got.handle})
		publish(t, b, event(created, ""))
		got.wait(t, 1)
	})

	t.Run("refuses an invalid consumer", func(t *testing.T) {
		b := testkit.Bus(t)
		var none log
		for _, c := range []bus.Consumer{
			{Name: "two words", Subjects: []string{created}, Handle: none.handle},
			{Name: "c", Subjects: []string{created}},
			{Name: "c", Handle: none.handle},
			{Name: "c", Subjects: []string{"customer.>"}, Handle: none.handle},
			{Name: "c", Subjects: []string{created, "auth.v1.credential_revoked.*"}, Handle: none.handle},
			{Name: "c", Subjects: []string{created}, Batch: -1, Handle: none.handle},
		} {
			if err := b.Consume(t.Context(), c); err == nil {
				t.Errorf("%+v was accepted", c)
			}
		}
	})
}

func TestConsumeFailures(t *testing.T) {
	t.Run("redelivers a failed message without holding up the others (invariant 3)", func(t *testing.T) {
		b := testkit.Bus(t)
		registry := prometheus.NewRegistry()
		if err := b.Collect(registry); err != nil {
			t.Fatal(err)
		}
		publish(t, b, events(created, 20)...)
		var handled, poison log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Batch: 10, Handle: func(_ context.Context, msgs []bus.Message) error {
			for _, m := range msgs {
				if string(m.Payload) == "4" && m.Attempt < 3 {
					if len(msgs) == 1 {
						poison.add(m)
					}
					return errors.New("poison")
				}
			}
			handled.add(msgs...)
			return nil
		}})
		handled.wait(t, 20)
		want := append(slices.DeleteFunc(numbers(20), func(s string) bool { return s == "4" }), "4")
		if !slices.Equal(handled.payloads(), want) {
			t.Errorf("handled %v", handled.payloads())
		}
		if got := poison.all(); len(got) != 2 || got[0].Attempt != 1 || got[1].Attempt != 2 {
			t.Errorf("the failing message was tried as %+v", got)
		}
		for name, want := range map[string]float64{
			"bus_consumer_redeliveries_total": 2, "bus_consumer_failures_total": 2,
			"bus_consumer_handled_total": 20, "bus_published_total": 20, "bus_publish_failures_total": 0, "bus_connected": 1,
		} {
			if got := metric(t, registry, name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})

	t.Run("treats a panic as a failure of the message", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, events(created, 2)...)
		var handled log
		var panicked atomic.Bool
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: func(_ context.Context, msgs []bus.Message) error {
			if string(msgs[0].Payload) == "0" && len(msgs) == 1 && !panicked.Swap(true) {
				panic("no such thing")
			}
			if len(msgs) > 1 {
				return errors.New("one by one")
			}
			return handled.handle(context.Background(), msgs)
		}})
		handled.wait(t, 2)
		if !slices.Equal(handled.payloads(), []string{"1", "0"}) {
			t.Errorf("handled %v", handled.payloads())
		}
	})

	t.Run("an unreadable message does not hold up the others", func(t *testing.T) {
		b := testkit.Bus(t)
		if _, err := b.JetStream().Publish(t.Context(), b.Prefix()+"."+created, []byte("from a stranger")); err != nil {
			t.Fatal(err)
		}
		publish(t, b, events(created, 3)...)
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		if got.wait(t, 3); !slices.Equal(got.payloads(), numbers(3)) {
			t.Errorf("handled %v", got.payloads())
		}
	})

	t.Run("returns the rest of a batch untried while a dependency is unavailable", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, events(created, 50)...)
		var tried log
		var back atomic.Bool
		gone := make(chan struct{})
		var once sync.Once
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Batch: 50, Handle: func(_ context.Context, msgs []bus.Message) error {
			if back.Load() {
				return tried.handle(context.Background(), msgs)
			}
			if len(msgs) == 1 {
				tried.add(msgs...)
				if len(tried.all()) == 3 {
					once.Do(func() { close(gone) })
				}
			}
			return fault.Away(errors.New("no database"))
		}})
		<-gone
		back.Store(true)
		// A first batch that is short adds up to three tries, and so does each second until this goroutine runs again.
		// Without the limit, all 50 are tried twice.
		if all := tried.wait(t, 53); len(all) > 80 {
			t.Errorf("%d messages tried, want 3 and 50, and a few more at most", len(all))
		}
	})

	t.Run("repeats a message whose handling hangs", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, events(created, 3)...)
		var handled log
		var hung atomic.Int32
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, HandleTime: 50 * time.Millisecond, Handle: func(ctx context.Context, msgs []bus.Message) error {
			if _, ok := ctx.Deadline(); ok {
				t.Error("a deadline replaces the shorter limit of calls")
			}
			if msgs[0].Attempt == 1 {
				hung.Add(1)
				<-ctx.Done() // as a statement does if the server hangs
				return ctx.Err()
			}
			return handled.handle(context.Background(), msgs)
		}})
		if handled.wait(t, 3); hung.Load() == 0 {
			t.Error("no handling has hung")
		}
	})

	t.Run("does not redeliver a message whose handling takes longer than AckWait", func(t *testing.T) {
		t.Parallel() // it takes time
		b, other := testkit.Bus(t), testkit.Bus(t)
		const ackWait = 3 * time.Second // longer than a busy machine delays a report of progress
		var got log
		finished := make(chan struct{}, 10)
		for _, process := range []*bus.Bus{b, other} {
			consume(t, process, bus.Consumer{Name: "c", Subjects: []string{created}, AckWait: ackWait, Handle: func(ctx context.Context, msgs []bus.Message) error {
				got.add(msgs...)
				<-time.After(2 * ackWait)
				finished <- struct{}{}
				return nil
			}})
		}
		publish(t, b, event(created, "slow"))
		<-finished
		if all := got.all(); len(all) != 1 {
			t.Errorf("handled %d times", len(all))
		}
	})
}

func TestConsumeShutdown(t *testing.T) {
	t.Run("finishes the current batch and passes on the rest immediately (invariant 4)", func(t *testing.T) {
		b, other := testkit.Bus(t), testkit.Bus(t)
		var first, second log
		working, finish := make(chan context.Context, 1), make(chan struct{})
		end := sync.OnceFunc(func() { close(finish) })
		defer end()
		c := bus.Consumer{Name: "c", Subjects: []string{created}, Batch: 10}
		c.Handle = func(ctx context.Context, msgs []bus.Message) error {
			working <- ctx
			<-finish
			return first.handle(ctx, msgs)
		}
		r := consume(t, b, c)
		msgs := events(created, 20)
		publish(t, b, msgs[0])
		ctx := <-working
		publish(t, b, msgs[1:]...)
		testkit.Eventually(t, patience, func() error {
			// A batch is requested in advance.
			durable, err := b.JetStream().Consumer(t.Context(), eventsStream(b), "c")
			if err != nil {
				return err
			}
			if n := durable.CachedInfo().NumAckPending; n < 10 {
				return fmt.Errorf("%d messages are with the consumer", n)
			}
			return nil
		})
		r.cancel()
		c.Handle = second.handle
		consume(t, other, c)
		select {
		case <-r.done:
			t.Fatal("returned before its batch was finished")
		case <-ctx.Done():
			t.Fatal("the handler was interrupted")
		case <-time.After(100 * time.Millisecond):
		}
		end()
		began := time.Now()
		r.wait(t)
		second.wait(t, 19)
		// The messages of a process that crashed would arrive only after AckWait (10 s).
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("took %s", took)
		}
		all := append(first.payloads(), second.payloads()...)
		slices.Sort(all)
		want := numbers(20)
		slices.Sort(want)
		if len(first.all()) != 1 || !slices.Equal(all, want) {
			t.Errorf("handled %v, then %v", first.payloads(), second.payloads())
		}
	})

	t.Run("an idle consumer returns immediately", func(t *testing.T) {
		b := testkit.Bus(t)
		var got log
		r := consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		publish(t, b, event(created, ""))
		got.wait(t, 1)
		began := time.Now()
		r.stop(t)
		// Without a message, it would otherwise wait for the server's next heartbeat.
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestConsumeOutages(t *testing.T) {
	t.Run("continues after a restart of NATS (invariant 6)", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b, publisher := srv.Connect(t, bus.Config{}), srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		publish(t, publisher, event(created, "before"))
		got.wait(t, 1)
		again := publisher.Reconnected()
		srv.Stop(t)
		srv.Start(t)
		<-again
		publish(t, publisher, event(created, "after"))
		began := time.Now()
		testkit.Eventually(t, patience, func() error {
			if !slices.Contains(got.payloads(), "after") {
				return fmt.Errorf("got %v", got.payloads())
			}
			return nil
		})
		// A consumer that did not begin a new session would wait for two heartbeats (10 s).
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("took %s", took)
		}
	})

	t.Run("starts again on a server that lost its store", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		publish(t, b, event(created, "before"))
		got.wait(t, 1)
		again := b.Reconnected()
		srv.Stop(t)
		srv.Wipe(t)
		srv.Start(t)
		<-again
		publish(t, b, event(created, "after"))
		got.wait(t, 2)
	})

	t.Run("creates a deleted durable consumer again", func(t *testing.T) {
		b := testkit.Bus(t)
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		publish(t, b, event(created, "before"))
		got.wait(t, 1)
		if err := b.JetStream().DeleteConsumer(t.Context(), eventsStream(b), "c"); err != nil {
			t.Fatal(err)
		}
		publish(t, b, event(created, "after"))
		testkit.Eventually(t, patience, func() error {
			if !slices.Contains(got.payloads(), "after") {
				return fmt.Errorf("got %v", got.payloads())
			}
			return nil
		})
	})

	t.Run("can start before the streams exist", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
		testkit.Eventually(t, patience, func() error {
			_, err := b.JetStream().Stream(t.Context(), "RESERVATION_EVENTS")
			return err
		})
		publish(t, b, event(created, ""))
		got.wait(t, 1)
	})
}

func TestTraceReachesTheHandler(t *testing.T) {
	b := testkit.Bus(t)
	m := event(created, "")
	m.Trace = map[string]string{"traceparent": "x", "Nats-Expected-Stream": "ELSEWHERE"}
	publish(t, b, m)
	msg, err := b.JetStream().Stream(t.Context(), eventsStream(b))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := msg.GetLastMsgForSubject(t.Context(), b.Prefix()+"."+created)
	if err != nil {
		t.Fatal(err)
	}
	if raw.Header.Get("traceparent") != "x" || raw.Header.Get("Nats-Expected-Stream") != "" {
		t.Errorf("headers %v", raw.Header)
	}
	if !strings.HasSuffix(raw.Header.Get(nats.MsgIdHdr), m.ID.String()) {
		t.Errorf("message id %q", raw.Header.Get(nats.MsgIdHdr))
	}
}
