package customer

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/telemetry"
)

// openMost is the limit of the count in a sample.
const openMost = 20000

// readOpen returns the values of the two metrics.
func (j *ErasureJobs) readOpen(ctx context.Context) ([]float64, error) {
	open, age, err := j.store.openErasures(ctx, j.now(), openMost)
	return []float64{float64(open), max(age, 0)}, err
}

// Collect registers the metrics of erasures. Call it once per registry.
func (j *ErasureJobs) Collect(r prometheus.Registerer) error {
	err := r.Register(telemetry.NewSampled(j.readOpen,
		telemetry.Gauge{Name: "customer_erasures_open", Help: "Erasures not yet complete, counted up to 20000."},
		telemetry.Gauge{Name: "customer_erasures_oldest_age_seconds", Help: "Time since the oldest unfinished round of an erasure was announced, in seconds."},
	))
	if err != nil {
		return fmt.Errorf("metrics of customer: %w", err)
	}
	return nil
}
