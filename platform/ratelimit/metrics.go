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
			Help: "Requests by decision: allowed, refused, refused_unasked (known to be full), and without NATS allowed_alone, refused_alone.",
		}, []string{"decision"}),
		fallback: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_fallback", Help: "1 while NATS does not answer and limits hold per process only.",
		}),
		keys: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_keys", Help: "Keys that are remembered.",
		}),
	}
}

// Collect registers the metrics of the limiter. A registry accepts one limiter.
func (l *Limiter) Collect(r prometheus.Registerer) error {
	m := l.metrics
	for _, decision := range []string{"allowed", "refused", "refused_unasked", "allowed_alone", "refused_alone"} {
		m.decisions.WithLabelValues(decision) // a rate needs an initial zero
	}
	if err := errors.Join(r.Register(m.decisions), r.Register(m.fallback), r.Register(m.keys)); err != nil {
		return fmt.Errorf("metrics of the rate limits: %w", err)
	}
	return nil
}
