package customer

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

// openErasuresMost bounds what a sample counts.
const openErasuresMost = 20000

// openErasuresSQL walks the index of erasures that are under way.
const openErasuresSQL = `select count(*) as erasures, coalesce(extract(epoch from $1 - min(announced_at)), 0)::float8 as waits
	from (select announced_at from customer_erasures where completed_at is null order by announced_at limit $2) e`

// readErasures returns how many erasures are under way, and for how many seconds
// the present round of the oldest of them has been announced.
func (f *Forgetting) readErasures(ctx context.Context) ([]float64, error) {
	now, err := pg.One[struct {
		Erasures int64
		Waits    float64
	}](ctx, f.store.db, pg.AllCompanies(), openErasuresSQL, f.now(), openErasuresMost)
	return []float64{float64(now.Erasures), max(now.Waits, 0)}, err
}

// Collect registers the metrics of erasures. One registry takes one.
func (f *Forgetting) Collect(r prometheus.Registerer) error {
	err := r.Register(telemetry.NewSampled(f.readErasures,
		telemetry.Gauge{Name: "customer_erasures_open", Help: "Erasures that are under way, counted up to 20000."},
		telemetry.Gauge{Name: "customer_erasures_oldest_wait_seconds", Help: "For how long the present round of the oldest open erasure has been waiting for the services' answers."},
	))
	if err != nil {
		return fmt.Errorf("metrics of customer: %w", err)
	}
	return nil
}
