package bus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

func eventsStream(b *bus.Bus) string { return strings.ToUpper(b.Prefix()) + "_EVENTS" }

func identityStream(b *bus.Bus) string { return strings.ToUpper(b.Prefix()) + "_IDENTITY" }

func TestPublish(t *testing.T) {
	t.Run("stores a message once that is published again with the same id (invariant 1)", func(t *testing.T) {
		b := testkit.Bus(t)
		msgs := events("customer.v1.customer_created", 10)
		publish(t, b, msgs...)
		publish(t, b, msgs...)
		if got := storedIn(t, b, eventsStream(b)); got != 10 {
			t.Errorf("%d stored, want 10", got)
		}
	})

	t.Run("stores more messages than one window can hold", func(t *testing.T) {
		b := testkit.Bus(t)
		acked, err := b.Publish(t.Context(), events("customer.v1.customer_created", 2000))
		if err != nil {
			t.Fatal(err)
		}
		for i, ok := range acked {
			if !ok {
				t.Fatalf("message %d is not acknowledged", i)
			}
		}
		if got := storedIn(t, b, eventsStream(b)); got != 2000 {
			t.Errorf("%d stored, want 2000", got)
		}
	})

	t.Run("delivers a message as it was sent", func(t *testing.T) {
		b := testkit.Bus(t)
		sent := bus.Message{
			ID: id.NewUUID(), Company: id.New[id.Company](), Subject: "pass.v1.pass_purchased",
			Payload: []byte{0, 1, 255}, OccurredAt: time.Date(2026, 3, 29, 1, 30, 0, 123456000, time.FixedZone("", 3600)),
			Trace: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=1"},
		}
		plain := bus.Message{ID: id.NewUUID(), Subject: "auth.v1.signing_keys_changed.all", OccurredAt: sent.OccurredAt}
		publish(t, b, sent, plain)
		var got log
		consume(t, b, bus.Consumer{Name: "c", Subjects: []string{"pass.v1.*"}, Handle: got.handle})
		m := got.wait(t, 1)[0]
		if m.ID != sent.ID || m.Company != sent.Company || m.Subject != sent.Subject || !bytes.Equal(m.Payload, sent.Payload) ||
			!m.OccurredAt.Equal(sent.OccurredAt) || len(m.Trace) != 2 || m.Trace["tracestate"] != "a=1" || m.Attempt != 1 {
			t.Errorf("got %+v, sent %+v", m, sent)
		}
		var identity log
		start(t, func(ctx context.Context) error {
			return b.Follow(ctx, []string{"auth.v1.signing_keys_changed.*"}, func(m bus.Message) { identity.add(m) }, nil)
		})
		m = identity.wait(t, 1)[0]
		if !m.Company.IsZero() || len(m.Payload) != 0 || m.Trace != nil || m.Subject != plain.Subject {
			t.Errorf("got %+v, sent %+v", m, plain)
		}
	})

	t.Run("stores the other messages if one is refused", func(t *testing.T) {
		b := testkit.Bus(t)
		msgs := events("customer.v1.customer_created", 6)
		msgs[1].Subject = "customer.v2.customer_created"
		msgs[2].ID = id.UUID{}
		msgs[3].Payload = make([]byte, 2<<20)
		msgs[4].Subject = "customer.v1.two words"
		acked, err := b.Publish(t.Context(), msgs)
		var failed *bus.PublishError
		if !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
		for i, want := range []bool{true, false, false, false, false, true} {
			if acked[i] != want || failed.Refused(i) == want {
				t.Errorf("message %d: acked %v, cause %v", i, acked[i], failed.Causes[i])
			}
		}
		if !errors.Is(err, nats.ErrMaxPayload) {
			t.Errorf("%v does not name its causes", err)
		}
		if got := storedIn(t, b, eventsStream(b)); got != 2 {
			t.Errorf("%d stored, want 2", got)
		}
	})
}

func TestPublishOutages(t *testing.T) {
	t.Run("fails immediately while NATS is unavailable, and reports no message as refused", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := b.Reconnected()
		srv.Stop(t)
		testkit.Eventually(t, patience, func() error {
			if b.Connected() {
				return errors.New("still connected")
			}
			return nil
		})
		if b.Ready(t.Context()) == nil {
			t.Error("ready without a server")
		}
		acked, err := b.Publish(t.Context(), events("customer.v1.customer_created", 1))
		var failed *bus.PublishError
		if acked[0] || !errors.As(err, &failed) || failed.Refused(0) {
			t.Errorf("acked %v, %v", acked, err)
		}
		srv.Start(t)
		select {
		case <-again:
		case <-time.After(patience):
			t.Fatal("the reconnect was not announced")
		}
		if err := b.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		publish(t, b, events("customer.v1.customer_created", 1)...)
	})

	t.Run("reports no message as acknowledged to a caller that gives up (invariant 2)", func(t *testing.T) {
		b := testkit.Bus(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		acked, err := b.Publish(ctx, events("customer.v1.customer_created", 2))
		if acked[0] || acked[1] || !errors.Is(err, context.Canceled) {
			t.Errorf("acked %v, %v", acked, err)
		}
	})

	t.Run("creates the streams again that a server has lost", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := b.Reconnected()
		srv.Stop(t)
		srv.Wipe(t)
		srv.Start(t)
		<-again
		publish(t, b, event("customer.v1.customer_created", ""), event("auth.v1.signing_keys_changed.all", ""))
	})

	t.Run("two prefixes never see each other's messages (invariant 7)", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		one, two := srv.Connect(t, bus.Config{Prefix: "one"}), srv.Connect(t, bus.Config{Prefix: "two"})
		for _, b := range []*bus.Bus{one, two} {
			if err := b.EnsureStreams(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		msgs := events("customer.v1.customer_created", 2)
		publish(t, one, msgs...)
		publish(t, two, msgs[1]) // the same id, another installation
		var got log
		consume(t, two, bus.Consumer{Name: "c", Subjects: []string{"*.v1.*"}, Handle: got.handle})
		if all := got.wait(t, 1); len(all) != 1 || all[0].ID != msgs[1].ID {
			t.Errorf("got %v", all)
		}
		if storedIn(t, one, "ONE_EVENTS") != 2 || storedIn(t, two, "TWO_EVENTS") != 1 {
			t.Error("messages are in the wrong stream")
		}
	})
}

func TestEnsureStreams(t *testing.T) {
	t.Run("several processes can create the streams at the same time", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		var all sync.WaitGroup
		for range 8 {
			b := srv.Connect(t, bus.Config{})
			all.Go(func() {
				if err := b.EnsureStreams(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})

	t.Run("updates an older stream and keeps its other settings", func(t *testing.T) {
		b := testkit.Bus(t)
		js := b.JetStream()
		s, err := js.Stream(t.Context(), eventsStream(b))
		if err != nil {
			t.Fatal(err)
		}
		older := s.CachedInfo().Config
		older.MaxAge = time.Hour
		older.MaxBytes = 1 << 30
		if _, err := js.UpdateStream(t.Context(), older); err != nil {
			t.Fatal(err)
		}
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err = js.Stream(t.Context(), eventsStream(b))
		if err != nil {
			t.Fatal(err)
		}
		if c := s.CachedInfo().Config; c.MaxAge != 7*24*time.Hour || c.MaxBytes != 1<<30 || c.Storage != jetstream.FileStorage {
			t.Errorf("got %+v", c)
		}
	})

	t.Run("the identity stream keeps only the last message of each key", func(t *testing.T) {
		b := testkit.Bus(t)
		for range 5 {
			publish(t, b, event("auth.v1.credential_revoked.m2m_a", ""), event("auth.v1.credential_revoked.m2m_b", ""))
		}
		if got := storedIn(t, b, identityStream(b)); got != 2 {
			t.Errorf("%d stored, want 2", got)
		}
		if got := storedIn(t, b, eventsStream(b)); got != 0 {
			t.Errorf("%d among the events, want 0", got)
		}
	})
}

func TestConnect(t *testing.T) {
	t.Run("reports every invalid setting", func(t *testing.T) {
		err := bus.Config{Prefix: "Two.Tokens", Replicas: 9, StartTimeout: -1}.Validate()
		if err == nil {
			t.Fatal("no fault")
		}
		for _, name := range []string{"NATS_URL", "BUS_PREFIX", "BUS_REPLICAS", "NATS_START_TIMEOUT"} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
		}
	})

	t.Run("waits for a server that starts late", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		srv.Stop(t)
		connected := start(t, func(ctx context.Context) error {
			b, err := bus.Connect(ctx, bus.Config{URL: srv.URL()}, testkit.Log(t))
			if err != nil {
				return err
			}
			defer b.Close()
			return b.EnsureStreams(ctx)
		})
		srv.Start(t)
		connected.wait(t)
	})

	t.Run("returns an error after StartTimeout without a server", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		srv.Stop(t)
		_, err := bus.Connect(t.Context(), bus.Config{URL: srv.URL(), StartTimeout: 100 * time.Millisecond}, testkit.Log(t))
		if err == nil || !strings.Contains(err.Error(), "100ms") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCheckSubject(t *testing.T) {
	for subject, ok := range map[string]bool{
		"customer.v1.customer_created":         true,
		"auth.v1.company_created":              true,
		"auth.v1.credential_revoked.m2m_01jb4": true,
		"auth.v1.signing_keys_changed.all":     true,
		"":                                     false,
		"customer.v2.customer_created":         false,
		"customer.v1.*":                        false,
		"customer.v1.>":                        false,
		"customer.v1.customer_created.x":       false,
		"auth.v1.credential_revoked.*":         false,
		"auth.v1.credential_revoked.a b":       false,
		"customer.v1.customer\r\nPUB":          false,
	} {
		if got := bus.CheckSubject(subject) == nil; got != ok {
			t.Errorf("%q: %v, want %v", subject, got, ok)
		}
	}
}
