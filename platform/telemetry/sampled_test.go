package telemetry_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/telemetry"
)

// gathered returns the values of a registry's gauges by name.
func gathered(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return got
}

func TestSampled(t *testing.T) {
	var reads atomic.Int64
	var fail atomic.Bool
	s := telemetry.NewSampled(func(ctx context.Context) ([]float64, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the read has no deadline")
		}
		n := reads.Add(1)
		if fail.Load() {
			return nil, errors.New("unavailable")
		}
		return []float64{float64(n), 2}, nil
	}, telemetry.Gauge{Name: "a", Help: "a"}, telemetry.Gauge{Name: "b", Help: "b"})
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	t.Run("reads once for all scrapes within the minimum time", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _, _ = r.Gather() })
		}
		wg.Wait()
		if got := gathered(t, r); reads.Load() != 1 || got["a"] != 1 || got["b"] != 2 {
			t.Errorf("%d reads, values %v", reads.Load(), got)
		}
	})
	s.Every = 0
	t.Run("reads again after the minimum time", func(t *testing.T) {
		if got := gathered(t, r); got["a"] != 2 {
			t.Errorf("values %v", got)
		}
	})
	t.Run("exports nothing while reading fails, and recovers", func(t *testing.T) {
		fail.Store(true)
		if got := gathered(t, r); len(got) != 0 {
			t.Errorf("values %v", got)
		}
		fail.Store(false)
		if got := gathered(t, r); got["a"] != 4 {
			t.Errorf("values %v", got)
		}
	})
}

func TestCollectBuild(t *testing.T) {
	r := prometheus.NewRegistry()
	if err := telemetry.CollectBuild(prometheus.WrapRegistererWith(prometheus.Labels{"part": "booking"}, r), "1.2.3"); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "build_info" {
		t.Fatalf("%v, %v", families, err)
	}
	labels := map[string]string{}
	for _, l := range families[0].GetMetric()[0].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if labels["part"] != "booking" || labels["version"] != "1.2.3" || labels["go_version"] == "" {
		t.Errorf("labels %v", labels)
	}
}
