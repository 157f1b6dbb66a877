package ratelimit

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	decisions *prometheus.CounterVec
	fallback  prometheus.Gauge
	keys      prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_decisions_total",
			Help: "Requests by decision: allowed, refused, refused_unasked (without asking NATS, because the limit was known to be used up), allowed_alone and refused_alone (while NATS did not answer).",
		}, []string{"decision"}),
		fallback: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_fallback", Help: "1 while NATS does not answer and each process enforces the limits on its own count, otherwise 0.",
		}),
		keys: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_keys", Help: "Rate-limited callers whose requests this process keeps in memory.",
		}),
	}
}

// Collect registers the metrics of the limiter. A registry accepts one limiter.
func (l *Limiter) Collect(r prometheus.Registerer) error {
	m := l.metrics
	for _, decision := range []string{"allowed", "refused", "refused_unasked", "allowed_alone", "refused_alone"} {
		m.decisions.WithLabelValues(decision) // export 0, so that a rate sees the first increase
	}
	if err := errors.Join(r.Register(m.decisions), r.Register(m.fallback), r.Register(m.keys)); err != nil {
		return fmt.Errorf("metrics of the rate limits: %w", err)
	}
	return nil
}
