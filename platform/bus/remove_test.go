package bus_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

func TestRemove(t *testing.T) {
	publish := func(t *testing.T, b *bus.Bus, subject string, payloads ...string) {
		t.Helper()
		msgs := make([]bus.Message, len(payloads))
		for i, p := range payloads {
			msgs[i] = bus.Message{ID: id.NewUUID(), Subject: subject, Payload: []byte(p), OccurredAt: time.Now()}
		}
		if _, err := b.Publish(t.Context(), msgs); err != nil {
			t.Fatal(err)
		}
	}
	named := func(name string) func(bus.Message) bool {
		return func(m bus.Message) bool { return strings.Contains(string(m.Payload), name) }
	}
	remaining := func(t *testing.T, b *bus.Bus) int {
		t.Helper()
		// This remove function only counts, and removes nothing.
		n := 0
		if _, err := b.Remove(t.Context(), func(bus.Message) bool { n++; return false }); err != nil {
			t.Fatal(err)
		}
		return n
	}

	t.Run("removes only the selected events, and a second run finds none", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, "customer.v1.customer_created", "anna", "bert", "anna again")
		publish(t, b, "booking.v1.booking_confirmed", "bert", "anna")
		for i, want := range []int{3, 0} {
			n, err := b.Remove(t.Context(), named("anna"))
			if err != nil || n != want {
				t.Errorf("round %d: removed %d, %v", i, n, err)
			}
		}
		if n := remaining(t, b); n != 2 {
			t.Errorf("%d are left", n)
		}
	})

	t.Run("reads an empty stream, and a stream whose last events were removed, to the end", func(t *testing.T) {
		b := testkit.Bus(t)
		if n, err := b.Remove(t.Context(), named("anna")); n != 0 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		publish(t, b, "customer.v1.customer_created", "bert", "anna")
		for range 2 {
			if _, err := b.Remove(t.Context(), named("anna")); err != nil {
				t.Error(err)
			}
		}
		if n := remaining(t, b); n != 1 {
			t.Errorf("%d are left", n)
		}
	})

	t.Run("a consumer receives the events that were not removed before it read them", func(t *testing.T) {
		b := testkit.Bus(t)
		publish(t, b, "customer.v1.customer_created", "bert", "anna", "carl")
		if _, err := b.Remove(t.Context(), named("anna")); err != nil {
			t.Fatal(err)
		}
		ctx, enough := context.WithCancel(t.Context())
		defer enough()
		var got atomic.Int64
		err := b.Consume(ctx, bus.Consumer{Name: "late", Subjects: []string{"customer.v1.*"}, Handle: func(_ context.Context, msgs []bus.Message) error {
			for _, m := range msgs {
				if strings.Contains(string(m.Payload), "anna") {
					t.Error("a removed event was delivered")
				}
			}
			if got.Add(int64(len(msgs))) == 2 {
				enough()
			}
			return nil
		}})
		if err != nil || got.Load() != 2 {
			t.Errorf("got %d, %v", got.Load(), err)
		}
	})

	t.Run("the server's files no longer contain the event", func(t *testing.T) {
		server := testkit.NewNATSServer(t)
		b := server.Connect(t, testkit.BusConfig(t))
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		publish(t, b, "customer.v1.customer_created", "bertram", "annabella", "carlotta")
		if _, err := b.Remove(t.Context(), named("annabella")); err != nil {
			t.Fatal(err)
		}
		server.Stop(t)
		if files := contents(t, server.Dir()); strings.Contains(files, "annabella") || !strings.Contains(files, "carlotta") {
			t.Error("the removed event is on the disk, or all events are gone")
		}
	})
}

// contents returns the contents of all files below dir.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
