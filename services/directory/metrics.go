package directory

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	up      *prometheus.GaugeVec
	read    *prometheus.GaugeVec
	router  prometheus.Gauge
	updated prometheus.Gauge
}

func newMetrics() *metrics {
	cell := []string{"cell"}
	return &metrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "directory_cell_up", Help: "Whether the last request to the auth service of a cell succeeded: 1 or 0.",
		}, cell),
		read: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "directory_cell_last_read_timestamp_seconds", Help: "When the changes of a cell were last read, in seconds since 1970.",
		}, cell),
		router: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "directory_router_up", Help: "Whether HAProxy accepted the last update: 1 or 0.",
		}),
		updated: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "directory_router_last_update_timestamp_seconds", Help: "When HAProxy last had everything that was read, in seconds since 1970.",
		}),
	}
}

// collect registers the metrics.
func (m *metrics) collect(r prometheus.Registerer, t *table) error {
	gauge := func(name, help string, value func(counts) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(t.counts())) })
	}
	var faults []error
	for _, c := range []prometheus.Collector{
		m.up, m.read, m.router, m.updated,
		gauge("directory_companies", "Companies in live mode in the router's map.", func(c counts) int { return c.companies }),
		gauge("directory_credentials", "Credentials in the router's map.", func(c counts) int { return c.credentials }),
		gauge("directory_conflicts", "Companies that more than one cell has open, and credentials that a cell claims of another cell's company.", func(c counts) int { return c.conflicts }),
	} {
		faults = append(faults, r.Register(c))
	}
	return errors.Join(faults...)
}

// published records the result of an update of HAProxy.
func (m *metrics) published(err error) {
	if err != nil {
		m.router.Set(0)
		return
	}
	m.router.Set(1)
	m.updated.SetToCurrentTime()
}

// asked records the result of a request to a cell.
func (m *metrics) asked(cell string, err error) {
	if err != nil {
		m.up.WithLabelValues(cell).Set(0)
		return
	}
	m.up.WithLabelValues(cell).Set(1)
	m.read.WithLabelValues(cell).SetToCurrentTime()
}
