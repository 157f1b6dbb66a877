package webhook

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/pg"
)

func TestReadQueue(t *testing.T) {
	t.Parallel()
	w := openStopped(t, quick())
	w.engine.pulse = slowPulse()
	if _, err := w.engine.reportOnce(t.Context(), sightings{}); err != nil {
		t.Fatal(err)
	}
	read := func() []float64 {
		t.Helper()
		values, err := w.engine.readQueue(t.Context())
		if err != nil || len(values) != 3 {
			t.Fatalf("%v, %v", values, err)
		}
		return values
	}
	if got := read(); got[0] != 0 || got[1] != 0 || got[2] != 0 {
		t.Errorf("without deliveries: %v", got)
	}
	// A receiver that does not respond during the test's measurement.
	w.endpoint(newReceiver(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }).URL)
	w.bookings(3)
	if got := read(); got[0] != 3 || got[1] > 60 || got[2] != 0 {
		t.Errorf("leased ones: %v", got)
	}
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `update deliveries set created_at = now() - interval '90 s', due_at = now() - interval '30 s', lease = null`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(); got[0] != 3 || got[1] < 90 || got[1] > 300 || got[2] < 30 || got[2] > 240 {
		t.Errorf("overdue ones: %v", got)
	}
	w.engine.mu.Lock()
	queues := slices.Collect(maps.Values(w.engine.queues))
	if len(queues) != 1 {
		w.engine.mu.Unlock()
		t.Fatalf("%d queues", len(queues))
	}
	for _, q := range queues {
		for range w.settings.BreakerFailures {
			q.breaker.failure(time.Now(), &w.settings)
		}
	}
	w.engine.mu.Unlock()
	if got := read(); got[0] != 3 || got[1] < 90 || got[2] != 0 {
		t.Errorf("of a paused endpoint: %v", got)
	}
}
