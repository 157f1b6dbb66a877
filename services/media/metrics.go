package media

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	received prometheus.Counter
	sent     *prometheus.CounterVec
	open     prometheus.Gauge
	overdue  prometheus.Gauge
	unnamed  prometheus.Gauge
	stopped  prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "media_http_requests_total", Help: "Requests for files by route and status.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "media_http_duration_seconds", Help: "Time from the first byte of a request for a file to the last byte of its response.",
			Buckets: []float64{.005, .025, .1, .5, 1, 5, 30, 120, 600},
		}, []string{"route"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{Name: "media_received_bytes_total", Help: "Bytes of parts that were received."}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "media_sent_bytes_total", Help: "Bytes of responses that were sent, by route.",
		}, []string{"route"}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "media_open_uploads", Help: "Open uploads of all companies."}),
		overdue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "media_overdue_removals", Help: "Objects in the bucket that should have been removed more than an hour ago.",
		}),
		unnamed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "media_unnamed_objects", Help: "Objects in the bucket that no row names, when the last sweep looked.",
		}),
		stopped: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "media_sweep_stopped", Help: "1 if the last sweep removed nothing because too many objects have no row.",
		}),
	}
}

// observe counts a request for a file.
func (m *metrics) observe(route string, status int, sent int64, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
	m.sent.WithLabelValues(route).Add(float64(sent))
}

// Collect registers the metrics of the server.
func (s *Server) Collect(r prometheus.Registerer) error {
	inFlight := func(name, help string, of interface{ inUse() int }) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(of.inUse()) })
	}
	var faults []error
	for _, c := range []prometheus.Collector{
		s.metrics.requests, s.metrics.duration, s.metrics.received, s.metrics.sent, s.metrics.open, s.metrics.overdue, s.metrics.unnamed, s.metrics.stopped,
		inFlight("media_parts_in_flight", "Parts that this process is receiving.", s.parts),
		inFlight("media_playbacks_in_flight", "Files that this process is sending.", s.playbacks),
		inFlight("media_covers_in_flight", "Covers that this process is sending.", s.covers),
		inFlight("media_joins_in_flight", "Uploads whose parts this process is joining.", s.joins.slots),
	} {
		faults = append(faults, r.Register(c))
	}
	return errors.Join(faults...)
}
