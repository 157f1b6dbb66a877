package testkit_test

import (
	"context"
	"strings"
	"testing"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

func TestBus(t *testing.T) {
	publish := func(t *testing.T, b *bus.Bus) {
		t.Helper()
		_, err := b.Publish(t.Context(), []bus.Message{{ID: id.NewUUID(), Subject: "sample.v1.thing_happened"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := func(t *testing.T, b *bus.Bus) uint64 {
		t.Helper()
		s, err := b.JetStream().Stream(t.Context(), strings.ToUpper(b.Prefix())+"_EVENTS")
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo().State.Msgs
	}

	t.Run("connections of one test share its streams, and connections of another test do not", func(t *testing.T) {
		one, again := testkit.Bus(t), testkit.Bus(t)
		publish(t, one)
		publish(t, again)
		if n := stored(t, one); n != 2 {
			t.Errorf("%d messages", n)
		}
		t.Run("another test", func(t *testing.T) {
			if n := stored(t, testkit.Bus(t)); n != 0 {
				t.Errorf("%d messages", n)
			}
		})
	})

	t.Run("a process uses the streams with the URL and the prefix", func(t *testing.T) {
		b := testkit.Bus(t)
		process, err := bus.Connect(t.Context(), bus.Config{URL: testkit.NATSURL(t), Prefix: testkit.BusConfig(t).Prefix}, testkit.Log(t))
		if err != nil {
			t.Fatal(err)
		}
		defer process.Close()
		publish(t, process)
		if n := stored(t, b); n != 1 {
			t.Errorf("%d messages", n)
		}
	})

	t.Run("the streams are deleted when the test ends", func(t *testing.T) {
		var prefix string
		t.Run("inner", func(t *testing.T) { prefix = testkit.Bus(t).Prefix() })
		b := testkit.Bus(t)
		names := b.JetStream().StreamNames(context.Background())
		for name := range names.Name() {
			if strings.HasPrefix(name, strings.ToUpper(prefix)+"_") {
				t.Errorf("%s is left", name)
			}
		}
	})
}
