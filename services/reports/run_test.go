package reports

import (
	"errors"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
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
	testkit.Eventually(t, 30*time.Second, func() error {
		n, err := receiver.Unhandled(t.Context(), consumer)
		if err == nil && (n > 0 || w.status().GetStartedAt() == nil) {
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
	testkit.Eventually(t, 30*time.Second, func() error {
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
