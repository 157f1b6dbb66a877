package webhook

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/id"
	"reservation.dev/platform/telemetry"
)

type metrics struct {
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	conns    *prometheus.CounterVec
	lag      prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "webhook_attempts_total", Help: "Requests to endpoints by class of failure; none means delivered.",
		}, []string{"failure"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "webhook_attempt_duration_seconds", Help: "Duration of a request to an endpoint, from dialling to the last byte of the response.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		conns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "webhook_connections_total", Help: "Requests to endpoints that got a response, by whether they reused a connection.",
		}, []string{"reused"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "webhook_first_attempt_lag_seconds", Help: "Time from an event to the end of the first attempt to deliver it to an endpoint.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300},
		}),
	}
}

func (m *metrics) observe(r *result) {
	failure := r.failure
	if failure == "" {
		failure = "none"
	}
	m.attempts.WithLabelValues(failure).Inc()
	m.duration.Observe(r.duration.Seconds())
	if r.status > 0 {
		reused := "no"
		if r.reused {
			reused = "yes"
		}
		m.conns.WithLabelValues(reused).Inc()
	}
	if r.job.tries == 0 {
		m.lag.Observe(r.at.Add(r.duration).Sub(r.job.body.OccurredAt).Seconds())
	}
}

// pausedEndpoints returns the endpoints whose breaker is open.
func (e *Engine) pausedEndpoints() []id.WebhookEndpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	paused := []id.WebhookEndpoint{}
	for key, q := range e.queues {
		if !q.breaker.closed() {
			paused = append(paused, key.endpoint)
		}
	}
	return paused
}

// Collect registers the engine's metrics.
func (e *Engine) Collect(to prometheus.Registerer) error {
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "webhook_requests_in_flight", Help: "Requests to endpoints in flight in this process.",
	}, func() float64 {
		e.mu.Lock()
		defer e.mu.Unlock()
		return float64(e.inFlight)
	})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "webhook_endpoints_left_alone", Help: "Endpoints that this process has paused after repeated failures.",
	}, func() float64 {
		return float64(len(e.pausedEndpoints()))
	})
	queued := telemetry.NewSampled(e.readQueue,
		telemetry.Gauge{Name: "webhook_deliveries_pending", Help: "Deliveries waiting to be sent, including retries, counted up to 20000."},
		telemetry.Gauge{Name: "webhook_pending_oldest_age_seconds", Help: "Age of the oldest delivery waiting to be sent, including retries, in seconds."},
		telemetry.Gauge{Name: "webhook_due_oldest_age_seconds", Help: "How long the longest-overdue delivery has been due, in seconds; endpoints paused by this process do not count."},
	)
	m := e.metrics
	for _, reused := range []string{"no", "yes"} {
		m.conns.WithLabelValues(reused)
	}
	for _, failure := range []string{"none", failureDNS, failureRefused, failureTLS, failureTimeout, failureBlocked, failureStatus, failureReset, failureProtocol} {
		m.attempts.WithLabelValues(failure) // a rate needs a zero to start from
	}
	var faults []error
	for _, c := range []prometheus.Collector{m.attempts, m.duration, m.conns, m.lag, inFlight, open, queued} {
		faults = append(faults, to.Register(c))
	}
	return errors.Join(faults...)
}

// readQueue samples the queue for the gauges: the number of deliveries to send, the age of the
// oldest, and how long the first has been due, in seconds.
func (e *Engine) readQueue(ctx context.Context) ([]float64, error) {
	s, err := e.store.sampleQueue(ctx, e.pausedEndpoints())
	return []float64{float64(s.Pending), max(s.Oldest, 0), max(s.Due, 0)}, err
}
