package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
)

// back waits until the limiter counts together with the other processes again.
func back(t *testing.T, l *Limiter, limit int) {
	t.Helper()
	n := 0
	testkit.Eventually(t, time.Minute, func() error {
		n++
		l.Take(t.Context(), fmt.Sprint("probe_", n), limit)
		if metric(t, l, "ratelimit_fallback") != 0 {
			return errors.New("the fallback goes on")
		}
		return nil
	})
}

func TestFallback(t *testing.T) { // invariants 4 and 5
	s := testkit.NewNATSServer(t)
	cfg := bus.Config{Prefix: "ratelimit"}
	logged := &lockedBuffer{}
	one, two := newLimiter(t, s.Connect(t, cfg), long), newLimiter(t, s.Connect(t, cfg), long)
	one.log = logged.log()
	if n := take(t, "key_a", 10, 4, one); n != 4 {
		t.Fatalf("%d of 4 passed", n)
	}
	s.Stop(t)
	testkit.Eventually(t, time.Minute, func() error {
		if one.bus.Connected() || two.bus.Connected() {
			return errors.New("the connection stands")
		}
		return nil
	})
	t.Run("limits each process separately, and logs it once", func(t *testing.T) {
		if n := take(t, "key_a", 10, 20, one); n != 6 {
			t.Errorf("%d passed, want those that are left of 10", n)
		}
		if n := take(t, "key_a", 10, 20, two); n != 10 {
			t.Errorf("%d passed in the other process", n)
		}
		d := one.Take(t.Context(), "key_b", 10)
		if !d.Allowed || d.Limit != 10 || d.Remaining != 9 || d.Reset <= 0 {
			t.Errorf("got %+v", d)
		}
		if metric(t, one, "ratelimit_fallback") != 1 || metric(t, one, "ratelimit_decisions_total", "allowed_alone") != 7 {
			t.Error("the metrics do not show the fallback")
		}
		if n := logged.count("does not answer"); n != 1 {
			t.Errorf("%d log lines", n)
		}
	})
	t.Run("ends automatically, with new streams", func(t *testing.T) {
		s.Start(t)
		back(t, one, 10)
		back(t, two, 10)
		if n := take(t, "key_c", 10, 30, one, two); n != 10 {
			t.Errorf("%d of 30 passed", n)
		}
		if n := logged.count("across all processes again"); n != 1 {
			t.Errorf("%d log lines", n)
		}
	})
	t.Run("the process that allowed a request still counts it", func(t *testing.T) {
		if n := take(t, "key_a", 10, 10, one, two); n != 0 {
			t.Errorf("%d passed of a key that is full", n)
		}
	})
}

func TestLostStreams(t *testing.T) { // invariant 5
	l := newLimiter(t, testkit.Bus(t), 0)
	l.Take(t.Context(), "key_a", 10)
	testkit.Eventually(t, time.Minute, func() error { // a stream takes requests before the server lists it
		if !l.hasStream(10) {
			return errors.New("the stream is being created")
		}
		return nil
	})
	if err := l.bus.JetStream().DeleteStream(t.Context(), l.stream(10).Name); err != nil {
		t.Fatal(err)
	}
	if n := take(t, "key_b", 10, 20, l); n != 10 {
		t.Errorf("%d of 20 passed", n)
	}
	if n := metric(t, l, "ratelimit_decisions_total", "allowed_alone", "refused_alone"); n != 0 {
		t.Errorf("%v decisions were made alone", n)
	}
}

func TestSilentServer(t *testing.T) { // invariant 4
	l := New(testkit.Bus(t), Options{Log: testkit.Log(t)})
	// The server accepts the connection but never responds.
	l.streams[10] = struct{}{}
	silent, err := l.bus.Conn().SubscribeSync(l.subject(10) + "*")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i := range 40 {
		if d := l.Take(t.Context(), "key_a", 10); d.Allowed != (i < 10) {
			t.Errorf("request %d got %+v", i+1, d)
		}
	}
	// Only the first request waits, and then one per second.
	asked, _, err := silent.Pending()
	if err != nil || asked > 2+int(time.Since(begun)/pauseTime) {
		t.Errorf("%d requests were published, %v", asked, err)
	}
	if metric(t, l, "ratelimit_fallback") != 1 {
		t.Error("the metric does not show the fallback")
	}
	t.Run("is also noticed by callers with short deadlines", func(t *testing.T) {
		hasty := New(l.bus, Options{Log: testkit.Log(t)})
		hasty.streams[10] = struct{}{}
		ctx, cancel := context.WithTimeout(t.Context(), answerTime/2)
		defer cancel()
		if d := hasty.Take(ctx, "key_a", 10); !d.Allowed || metric(t, hasty, "ratelimit_fallback") != 1 {
			t.Errorf("got %+v", d)
		}
	})
	if err := silent.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	back(t, l, 10)
}
