package customer

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

// openMost bounds what a sample counts.
const openMost = 20000

// readOpen returns how many erasures are not complete, and for how many seconds the
// oldest of their present rounds has been waiting.
func (f *Forgetting) readOpen(ctx context.Context) ([]float64, error) {
	now, err := pg.One[struct {
		Open int64
		Age  float64
	}](ctx, f.store.db, pg.AllCompanies(), openErasuresSQL, f.now(), openMost)
	return []float64{float64(now.Open), max(now.Age, 0)}, err
}

// Collect registers the metrics of erasures. One registry takes one.
func (f *Forgetting) Collect(r prometheus.Registerer) error {
	err := r.Register(telemetry.NewSampled(f.readOpen,
		telemetry.Gauge{Name: "customer_erasures_open", Help: "Erasures that are not complete, counted up to 20000."},
		telemetry.Gauge{Name: "customer_erasures_oldest_age_seconds", Help: "For how long the oldest round of an erasure has been waiting for its end."},
	))
	if err != nil {
		return fmt.Errorf("metrics of customer: %w", err)
	}
	return nil
}
