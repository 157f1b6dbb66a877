package reports

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	batches    prometheus.Histogram
	unreadable prometheus.Counter
	lag        prometheus.Gauge
	building   prometheus.Gauge
	rows       prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reports_batch_duration_seconds", Help: "Time to apply a batch of events to the read models.",
			Buckets: []float64{.005, .025, .1, .25, .5, 1, 2.5, 10, 30},
		}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reports_unreadable_events_total", Help: "Events that could not be read and are left out of reports.",
		}),
		lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reports_lag_seconds", Help: "Seconds since the time up to which the read models have all changes; up to 3 without a delay.",
		}),
		building: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reports_builds_in_progress", Help: "Companies whose read models are being built, by any process.",
		}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reports_build_rows_total", Help: "Rows of snapshots that builds of this process have read.",
		}),
	}
}

// Collect registers the metrics of the service.
func (s *Server) Collect(r prometheus.Registerer) error {
	var faults []error
	for _, c := range []prometheus.Collector{s.metrics.batches, s.metrics.unreadable, s.metrics.lag, s.metrics.building, s.metrics.rows} {
		faults = append(faults, r.Register(c))
	}
	return errors.Join(faults...)
}
