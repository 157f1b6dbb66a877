package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

type metrics struct {
	published prometheus.Counter
	failures  prometheus.Counter
	backlog   *telemetry.Sampled
}

func newMetrics(o *Outbox) *metrics {
	return &metrics{
		backlog: telemetry.NewSampled(o.readBacklog,
			telemetry.Gauge{Name: "outbox_pending", Help: "Events waiting to be published, counted up to 100000."},
			telemetry.Gauge{Name: "outbox_oldest_age_seconds", Help: "Age of the oldest event waiting to be published, in seconds."}),
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "outbox_published_total", Help: "Events published by this process.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "outbox_publish_failures_total", Help: "Failed attempts to publish an event, which is retried.",
		}),
	}
}

// Collect registers the metrics of the outbox. A registry accepts one Outbox; wrap it with
// a label for each of several.
func (o *Outbox) Collect(r prometheus.Registerer) error {
	if err := errors.Join(r.Register(o.metrics.published), r.Register(o.metrics.failures), r.Register(o.metrics.backlog)); err != nil {
		return fmt.Errorf("metrics of the outbox: %w", err)
	}
	return nil
}

const backlogSQL = `select (select count(*) from (select from outbox_events limit 100000) as oldest) as pending,
	coalesce(extract(epoch from now() - (select created_at from outbox_events order by created_at, id limit 1)), 0)::float8 as age`

// readBacklog returns the number of events that wait to be published, and the age of the
// oldest in seconds.
func (o *Outbox) readBacklog(ctx context.Context) ([]float64, error) {
	now, err := pg.One[struct {
		Pending int64
		Age     float64
	}](ctx, o.db, pg.AllCompanies(), backlogSQL)
	return []float64{float64(now.Pending), max(now.Age, 0)}, err
}
