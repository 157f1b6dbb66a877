package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg"
)

type metrics struct {
	published prometheus.Counter
	failures  prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "outbox_published_total", Help: "Events that this process has published.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "outbox_publish_failures_total", Help: "Events that were put back because publishing them failed.",
		}),
	}
}

// Collect registers the metrics of the outbox. One registry takes one Outbox;
// several need wrapping with a label each.
func (o *Outbox) Collect(r prometheus.Registerer) error {
	b := &backlog{
		db:      o.db,
		pending: prometheus.NewDesc("outbox_pending", "Events waiting to be published, counted up to 100000.", nil, nil),
		age:     prometheus.NewDesc("outbox_oldest_age_seconds", "Age of the oldest event waiting to be published.", nil, nil),
	}
	if err := errors.Join(r.Register(o.metrics.published), r.Register(o.metrics.failures), r.Register(b)); err != nil {
		return fmt.Errorf("metrics of the outbox: %w", err)
	}
	return nil
}

// backlog asks the database when it is scraped. All processes of a part tell the
// same, so an alert takes the maximum.
type backlog struct {
	db           *pg.DB
	pending, age *prometheus.Desc
}

const (
	scrapeTime = 2 * time.Second

	backlogSQL = `select (select count(*) from (select from outbox limit 100000) as oldest) as pending,
		coalesce(extract(epoch from now() - (select created_at from outbox order by created_at, id limit 1)), 0)::float8 as age`
)

// Describe implements prometheus.Collector.
func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	out <- b.pending
	out <- b.age
}

// Collect implements prometheus.Collector. Without a database there is nothing
// to tell; the gap shows.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	now, err := pg.One[struct {
		Pending int64
		Age     float64
	}](ctx, b.db, pg.Scope{}, backlogSQL)
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(b.pending, prometheus.GaugeValue, float64(now.Pending))
	out <- prometheus.MustNewConstMetric(b.age, prometheus.GaugeValue, max(now.Age, 0))
}
