package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
)

// following is a Follow in the background, with the messages that it has delivered.
type following struct {
	process *running
	log
	caughtUp chan int // how many messages were delivered at that moment
}

func follow(t *testing.T, b *bus.Bus, subjects ...string) *following {
	t.Helper()
	f := &following{caughtUp: make(chan int, 10)}
	f.process = start(t, func(ctx context.Context) error {
		return b.Follow(ctx, subjects, func(m bus.Message) { f.add(m) }, func() { f.caughtUp <- len(f.all()) })
	})
	return f
}

func (f *following) waitCaughtUp(t *testing.T) int {
	t.Helper()
	select {
	case n := <-f.caughtUp:
		return n
	case <-time.After(patience):
		t.Fatal("never caught up")
		return 0
	}
}

func (f *following) waitFor(t *testing.T, payload string) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if !slices.Contains(f.payloads(), payload) {
			return fmt.Errorf("got %v, not %q", f.payloads(), payload)
		}
		return nil
	})
}

const revoked = "auth.v1.credential_revoked."

func TestFollow(t *testing.T) {
	t.Run("delivers the last message of each subject before it has caught up, and new ones after (invariant 5)", func(t *testing.T) {
		b := testkit.Bus(t)
		for i := range 100 {
			publish(t, b, event(fmt.Sprintf("%sm2m_%d", revoked, i%10), fmt.Sprint(i)))
		}
		f := follow(t, b, revoked+"*", "auth.v1.signing_keys_changed.all")
		if n := f.waitCaughtUp(t); n != 10 {
			t.Errorf("caught up after %d messages", n)
		}
		if want := numbers(100)[90:]; !slices.Equal(f.payloads(), want) {
			t.Errorf("got %v, want %v", f.payloads(), want)
		}
		publish(t, b, event("auth.v1.signing_keys_changed.all", "keys"), event(revoked+"m2m_3", "new"))
		f.wait(t, 12)
		if got := f.payloads()[10:]; !slices.Equal(got, []string{"keys", "new"}) {
			t.Errorf("got %v", got)
		}
	})

	t.Run("has caught up immediately if there are no messages", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, event("auth.v1.signing_keys_changed.all", "not asked for"))
		f := follow(t, b, revoked+"*")
		if n := f.waitCaughtUp(t); n != 0 {
			t.Errorf("caught up after %d messages", n)
		}
		publish(t, b, event(revoked+"m2m_1", "a"))
		f.wait(t, 1)
	})

	t.Run("delivers all messages to every process", func(t *testing.T) {
		b, other := testkit.Bus(t), testkit.Bus(t)
		one, two := follow(t, b, "booking.v1.*"), follow(t, other, "booking.v1.*")
		one.waitCaughtUp(t)
		two.waitCaughtUp(t)
		publish(t, b, events("booking.v1.event_updated", 50)...)
		for _, f := range []*following{one, two} {
			if f.wait(t, 50); !slices.Equal(f.payloads(), numbers(50)) {
				t.Errorf("got %v", f.payloads())
			}
		}
	})

	t.Run("can start before the streams exist", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		f := follow(t, b, revoked+"*")
		f.waitCaughtUp(t)
		publish(t, b, event(revoked+"m2m_1", "a"))
		f.wait(t, 1)
	})

	t.Run("skips an unreadable message", func(t *testing.T) {
		b := testkit.Bus(t)
		if _, err := b.JetStream().Publish(t.Context(), b.Prefix()+"."+revoked+"m2m_1", []byte("from a stranger")); err != nil {
			t.Fatal(err)
		}
		f := follow(t, b, revoked+"*")
		f.waitCaughtUp(t)
		publish(t, b, event(revoked+"m2m_2", "a"))
		if f.wait(t, 1); !slices.Equal(f.payloads(), []string{"a"}) {
			t.Errorf("got %v", f.payloads())
		}
	})
}

func TestFollowOutages(t *testing.T) {
	// restart stops the server and starts it again after every client has noticed.
	restart := func(t *testing.T, srv *testkit.NATSServer, between func(), all ...*bus.Bus) {
		t.Helper()
		var again []<-chan struct{}
		for _, b := range all {
			again = append(again, b.Reconnected())
		}
		srv.Stop(t)
		between()
		srv.Start(t)
		for _, back := range again {
			<-back
		}
	}

	t.Run("identity: delivers the last message of each subject again after a restart, and new messages (invariant 6)", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b, publisher := srv.Connect(t, bus.Config{}), srv.Connect(t, bus.Config{})
		f := follow(t, b, revoked+"*")
		f.waitCaughtUp(t)
		publish(t, publisher, event(revoked+"m2m_1", "a"), event(revoked+"m2m_2", "b"))
		f.wait(t, 2)
		restart(t, srv, func() {}, publisher)
		publish(t, publisher, event(revoked+"m2m_1", "c"))
		began := time.Now()
		f.waitFor(t, "c")
		// A follower that did not begin a new session would wait for two heartbeats (4 s).
		if took := time.Since(began); took > 3500*time.Millisecond {
			t.Errorf("took %s", took)
		}
		testkit.Eventually(t, patience, func() error {
			if again := f.payloads()[2:]; !slices.Contains(again, "b") {
				return fmt.Errorf("got %v after the restart", again)
			}
			return nil
		})
		if len(f.caughtUp) != 0 {
			t.Error("caught up a second time")
		}
	})

	t.Run("events: misses and repeats nothing across a restart (invariant 6)", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b, publisher := srv.Connect(t, bus.Config{}), srv.Connect(t, bus.Config{})
		f := follow(t, b, "booking.v1.*")
		f.waitCaughtUp(t)
		msgs := events("booking.v1.event_updated", 60)
		for round := range 3 {
			publish(t, publisher, msgs[20*round:20*round+20]...)
			restart(t, srv, func() {}, b, publisher)
		}
		f.wait(t, 60)
		if !slices.Equal(f.payloads(), numbers(60)) {
			t.Errorf("got %v", f.payloads())
		}
	})

	t.Run("follows a stream that was lost from its new beginning", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b, publisher := srv.Connect(t, bus.Config{}), srv.Connect(t, bus.Config{})
		f := follow(t, b, "booking.v1.*")
		f.waitCaughtUp(t)
		publish(t, publisher, events("booking.v1.event_updated", 5)...)
		f.wait(t, 5)
		restart(t, srv, func() { srv.Wipe(t) }, b, publisher)
		publish(t, publisher, event("booking.v1.event_updated", "new"))
		publish(t, publisher, event("booking.v1.event_updated", "newer"))
		f.waitFor(t, "newer")
		if got := f.payloads()[5:]; !slices.Equal(got, []string{"new", "newer"}) {
			t.Errorf("got %v", got)
		}
	})

	// forget deletes the consumers of followers.
	forget := func(t *testing.T, b *bus.Bus) {
		t.Helper()
		s, err := b.JetStream().Stream(t.Context(), eventsStream(b))
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.ConsumerNames(t.Context()).Name() {
			if err := s.DeleteConsumer(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}

	t.Run("creates the consumer again if the server lost it", func(t *testing.T) {
		b := testkit.Bus(t)
		f := follow(t, b, "booking.v1.*")
		f.waitCaughtUp(t)
		publish(t, b, event("booking.v1.event_updated", "a"))
		f.wait(t, 1)
		forget(t, b)
		publish(t, b, event("booking.v1.event_updated", "b"))
		f.wait(t, 2)
		if !slices.Equal(f.payloads(), []string{"a", "b"}) {
			t.Errorf("got %v", f.payloads())
		}
	})

	for stream, before := range map[string][]bus.Message{
		"an empty stream": nil, "a stream with nothing of interest": {event("pass.v1.pass_purchased", "")},
	} {
		t.Run("delivers all the first messages of "+stream+" even during an interruption (invariant 6)", func(t *testing.T) {
			b := testkit.Bus(t)
			publish(t, b, before...)
			f := follow(t, b, "booking.v1.*")
			f.waitCaughtUp(t)
			forget(t, b)
			publish(t, b, events("booking.v1.event_updated", 5)...)
			f.wait(t, 5)
			if !slices.Equal(f.payloads(), numbers(5)) {
				t.Errorf("got %v", f.payloads())
			}
		})
	}
}

func TestNoGoroutineLeaks(t *testing.T) {
	srv := testkit.NewNATSServer(t)
	// The server runs in this process. The goroutines that exist now are its own.
	warm := srv.Connect(t, bus.Config{})
	if err := warm.EnsureStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	b, err := bus.Connect(t.Context(), bus.Config{URL: srv.URL()}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	var got log
	c := consume(t, b, bus.Consumer{Name: "c", Subjects: []string{created}, Handle: got.handle})
	f := follow(t, b, "*.v1.*")
	f.waitCaughtUp(t)
	publish(t, b, events(created, 10)...)
	got.wait(t, 10)
	f.wait(t, 10)
	c.stop(t)
	f.process.stop(t)
	b.Close()
	if err := warm.JetStream().DeleteConsumer(t.Context(), "RESERVATION_EVENTS", "c"); err != nil {
		t.Fatal(err)
	}
	// The server itself would delete the follower's after followInactive, which is longer.
	testkit.Eventually(t, 20*time.Second, func() error {
		if n := consumers(t, warm); n != 0 {
			return fmt.Errorf("%d consumers are left on the server", n)
		}
		return nil
	})
	// The server in this process ends its side of a connection a little later.
	testkit.Eventually(t, patience, func() error { return goleak.Find(before) })
}

func consumers(t *testing.T, b *bus.Bus) int {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), eventsStream(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Consumers
}
