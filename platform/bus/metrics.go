package bus

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	published       prometheus.Counter
	publishFailures prometheus.Counter
	isConnected     prometheus.GaugeFunc
	handled         *prometheus.CounterVec
	redeliveries    *prometheus.CounterVec
	failures        *prometheus.CounterVec
	pending         *prometheus.GaugeVec
	unacknowledged  *prometheus.GaugeVec
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "bus_" + name, Help: help}
	}
	consumer := []string{"consumer"}
	return &metrics{
		published:       prometheus.NewCounter(counter("published_total", "Messages published and stored by a stream.")),
		publishFailures: prometheus.NewCounter(counter("publish_failures_total", "Messages that no stream acknowledged.")),
		handled:         prometheus.NewCounterVec(counter("consumer_handled_total", "Messages handled successfully."), consumer),
		redeliveries:    prometheus.NewCounterVec(counter("consumer_redeliveries_total", "Messages delivered more than once."), consumer),
		failures:        prometheus.NewCounterVec(counter("consumer_failures_total", "Messages returned for a retry because handling them failed."), consumer),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bus_consumer_pending", Help: "Messages of the stream not yet delivered to the consumer (its lag).",
		}, consumer),
		unacknowledged: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bus_consumer_unacknowledged", Help: "Messages being handled by any process, or waiting for a retry.",
		}, consumer),
	}
}

func (m *metrics) connected(b *Bus) {
	m.isConnected = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "bus_connected", Help: "1 while the process is connected to NATS, otherwise 0.",
	}, func() float64 {
		if b.Connected() {
			return 1
		}
		return 0
	})
}

// Collect registers the metrics of the connection and of its consumers. A registry
// accepts one Bus; wrap it with a label for each of several.
func (b *Bus) Collect(r prometheus.Registerer) error {
	m := b.metrics
	var faults []error
	for _, c := range []prometheus.Collector{
		m.published, m.publishFailures, m.isConnected, m.handled, m.redeliveries, m.failures, m.pending, m.unacknowledged,
	} {
		faults = append(faults, r.Register(c))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("metrics of the bus: %w", err)
	}
	return nil
}
