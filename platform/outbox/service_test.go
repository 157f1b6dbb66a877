package outbox_test

import (
	"errors"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/outbox"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
)

func TestGetPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	service := outbox.NewService(o)
	published := func() time.Time {
		t.Helper()
		res, err := service.GetPublished(t.Context(), &outboxv1.GetPublishedRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetPublishedUntil().AsTime()
	}
	first := published()
	if next := published(); !next.After(first) {
		t.Errorf("without events: %s, and then %s", first, next)
	}
	before := published()
	w.commit(t, o, w.event("one"))
	committed := published()
	if committed.Before(before) {
		t.Errorf("the event is from before its transaction: %s", committed)
	}
	w.commit(t, o, w.event("two"))
	if now := published(); !now.Equal(committed) {
		t.Errorf("got %s, want the time of the oldest event, %s", now, committed)
	}
	background(t, o.Run)
	testkit.Eventually(t, patience, func() error {
		if !published().After(committed.Add(time.Millisecond)) {
			return errors.New("the events are published, but the time is that of the oldest one")
		}
		return nil
	})
	if n := w.count(t, `select count(*) from outbox_events`); n != 0 {
		t.Errorf("%d events are left", n)
	}
}
