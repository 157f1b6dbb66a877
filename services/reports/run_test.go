package reports

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func TestFollow(t *testing.T) {
	w := open(t)
	b := newBusiness(w, 7)
	b.act(150)
	sender, receiver := testkit.Bus(t), testkit.Bus(t)
	done := make(chan error, 1)
	go func() { done <- w.server.intake.Run(t.Context(), receiver) }()
	if _, err := sender.Publish(t.Context(), b.take()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 2*time.Minute, func() error {
		handled, last, err := receiver.Progress(t.Context(), consumer)
		if err == nil && (handled < last || w.status().GetStartedAt() == nil) {
			err = errors.New("events are waiting")
		}
		return err
	})
	w.build()
	b.act(150)
	if _, err := sender.Publish(t.Context(), b.take()); err != nil {
		t.Fatal(err)
	}
	// Reports are complete up to now when no event is waiting.
	later := began.Add(time.Hour)
	w.clock.set(later)
	testkit.Eventually(t, 2*time.Minute, func() error {
		w.server.intake.look(t.Context(), receiver)
		res, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{})
		if err == nil && !res.GetCompared().GetAsOf().AsTime().Equal(later) {
			err = errors.New("the reports are not complete up to now")
		}
		return err
	})
	w.verify()
	w.compare(b)
}

// TestAsOf checks that reports are never said to be complete up to a time when an earlier change is missing.
func TestAsOf(t *testing.T) {
	w := open(t)
	b := newBusiness(w, 8)
	b.act(40)
	b.take()
	w.rebuild()
	// look looks until the reports are complete up to a time, because a look gives up after a time.
	look := func(b *bus.Bus, want time.Time) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() error {
			w.server.intake.look(t.Context(), b)
			if at := w.status().GetAsOf().AsTime(); !at.Equal(want) {
				return fmt.Errorf("complete up to %s, want %s", at.Format(time.RFC3339), want.Format(time.RFC3339))
			}
			return nil
		})
	}
	sender, receiver := testkit.Bus(t), testkit.Bus(t)
	follow := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.server.intake.Run(ctx, receiver) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	handled := func() {
		t.Helper()
		testkit.Eventually(t, 2*time.Minute, func() error {
			handled, last, err := receiver.Progress(t.Context(), consumer)
			if err == nil && handled < last {
				err = errors.New("events are waiting")
			}
			return err
		})
	}
	publish := func() {
		t.Helper()
		if _, err := sender.Publish(t.Context(), b.take()); err != nil {
			t.Fatal(err)
		}
	}
	at := func(minutes int) time.Time {
		w.clock.set(began.Add(time.Duration(minutes) * time.Minute))
		return w.clock.Now()
	}
	// Without a stream that answers, the reports have what the build has read.
	at(1)
	look(receiver, began)
	stop := follow()
	handled()
	caughtUp := at(2)
	look(receiver, caughtUp)
	stop()

	// An applied event says nothing about earlier ones, which can arrive later.
	b.act(20)
	msgs := b.take()
	for i := range msgs {
		msgs[i].OccurredAt = at(3)
	}
	w.handle(msgs...)
	look(receiver, at(3))

	// An owner has not published everything, although no event waits in the stream.
	unpublished := at(4)
	w.sources.mu.Lock()
	w.sources.unpublished = &unpublished
	w.sources.mu.Unlock()
	at(6)
	look(receiver, unpublished)
	w.sources.mu.Lock()
	w.sources.unpublished = nil
	w.sources.mu.Unlock()

	// Events wait in the stream. The reports have their changes once they are applied.
	published := at(7)
	b.act(20)
	publish()
	look(receiver, unpublished)
	at(8)
	look(receiver, unpublished)
	stop = follow()
	handled()
	look(receiver, at(8))
	if published.After(w.status().GetAsOf().AsTime()) {
		t.Error("the reports are not complete after their events")
	}
	stop()

	// An owner does not answer.
	w.sources.mu.Lock()
	w.sources.now = nil
	w.sources.mu.Unlock()
	caughtUp = at(8)
	at(9)
	look(receiver, caughtUp)
}

func TestMarks(t *testing.T) {
	t.Parallel()
	in := &Intake{}
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	in.marks = []mark{{at(1), 10}, {at(3), 20}, {at(2), 20}, {at(4), 30}}
	g := &generation{StartedAt: at(0)}
	for _, tt := range []struct {
		handled uint64
		want    time.Time
	}{{9, at(0)}, {10, at(1)}, {19, at(1)}, {29, at(3)}, {29, at(3)}, {30, at(4)}} {
		if in.reach(tt.handled); !in.complete(g).Equal(tt.want) {
			t.Errorf("with %d handled: complete up to %s, want %s", tt.handled, in.complete(g), tt.want)
		}
	}
	if len(in.marks) > 0 {
		t.Errorf("%d marks are left", len(in.marks))
	}
}
