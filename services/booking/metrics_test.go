package booking

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
)

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	if err := w.server.Collect(registry); err != nil {
		t.Fatal(err)
	}
	mia := w.customer(w.company, "Mia")
	w.passes.give(mia, 5)
	five := int32(5)
	e := w.passEvent(&five, time.Hour, nil)
	read := func() []float64 {
		t.Helper()
		values, err := w.server.readUnfinished(t.Context())
		if err != nil || len(values) != 6 {
			t.Fatalf("%v, %v", values, err)
		}
		return values
	}
	counter := func(name string) float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				return f.GetMetric()[0].GetCounter().GetValue() + float64(f.GetMetric()[0].GetHistogram().GetSampleCount())
			}
		}
		t.Fatalf("there is no %s", name)
		return 0
	}

	w.mustBook(w.ctx, mia, e, 1)
	t.Run("confirmed purchases are not counted as unfinished", func(t *testing.T) {
		if got := read(); got[0] != 0 || got[2] != 0 || got[4] != 0 || got[5] != 0 {
			t.Errorf("got %v", got)
		}
	})
	w.hold(mia, e, 1, "")
	w.passes.after = func(call string) error { return map[bool]error{true: errPassAway}[call == "redeem"] }
	_, err := w.byPass(w.ctx, mia, e, 1)
	w.passes.after = nil
	if !fault.Is(err, fault.Unavailable) {
		t.Fatalf("got %v", err)
	}
	t.Run("counts a hold and a pending purchase, neither overdue", func(t *testing.T) {
		if got := read(); got[0] != 1 || got[1] != 0 || got[2] != 1 || got[3] > 60 {
			t.Errorf("got %v", got)
		}
	})
	w.shift(48 * time.Hour)
	defer w.shift(0)
	t.Run("reports their growing age, and the overdue hold", func(t *testing.T) {
		if got := read(); got[1] < 3600 || got[3] < 47*3600 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("counts the expired hold and the undone purchase", func(t *testing.T) {
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := read(); got[0] != 0 || got[2] != 0 {
			t.Errorf("got %v", got)
		}
		if expired, undone := counter("booking_holds_expired_total"), counter("booking_purchases_undone_total"); expired != 1 || undone != 1 {
			t.Errorf("%v holds expired, %v purchases undone", expired, undone)
		}
		if counter("booking_purchases_per_commit") == 0 {
			t.Error("no commit was counted")
		}
	})
	t.Run("counts moves that must return credits, and none that a request is taking", func(t *testing.T) {
		for state, late := range map[string]time.Duration{"settling": -time.Second, "undoing": -time.Second, "taking": time.Second} {
			w.unfinishedChange(w.company, state, w.server.now().Add(-late))
		}
		w.unfinishedChange(w.company, "taking", w.server.now().Add(takeTime))
		if got := read(); got[5] != 3 {
			t.Errorf("got %v", got)
		}
	})
}
