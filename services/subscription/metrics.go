package subscription

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/telemetry"
)

// metrics are the counters of background work.
type metrics struct {
	steps    prometheus.Counter
	failures prometheus.Counter
	syncs    *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		steps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "subscription_steps_total", Help: "Steps of subscriptions that the job made, such as renewals.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "subscription_step_failures_total", Help: "Attempts of the job to move a subscription that failed.",
		}),
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "subscription_pass_syncs_total", Help: "Calls that sent the state of a pass or a pass type to the pass service, by result: ok or failed.",
		}, []string{"result"}),
	}
	for _, result := range []string{syncOK, syncFailed} {
		m.syncs.WithLabelValues(result) // so that a rate starts from zero
	}
	return m
}

// The results of calls to the pass service.
const (
	syncOK     = "ok"
	syncFailed = "failed"
)

// readOverdue returns the values of the gauges that Collect registers, in the same order.
func (s *Server) readOverdue(ctx context.Context) ([]float64, error) {
	o, err := s.store.overdue(ctx, s.now())
	return []float64{float64(o.Renewals), max(o.RenewalAge, 0), float64(o.Syncs), max(o.SyncAge, 0)}, err
}

// Collect registers the service's metrics. It can be called once for each registry.
func (s *Server) Collect(r prometheus.Registerer) error {
	m := s.metrics
	overdue := telemetry.NewSampled(s.readOverdue,
		telemetry.Gauge{Name: "subscription_renewals_overdue", Help: "Subscriptions with a step that is due and not made yet, counted up to 20000."},
		telemetry.Gauge{Name: "subscription_renewals_overdue_seconds", Help: "Seconds since the oldest step that is due and not made yet."},
		telemetry.Gauge{Name: "subscription_pass_syncs_overdue", Help: "Subscriptions and plans whose state the pass service has not confirmed, counted up to 20000."},
		telemetry.Gauge{Name: "subscription_pass_syncs_overdue_seconds", Help: "Seconds since the oldest change that the pass service has not confirmed."},
	)
	if err := errors.Join(r.Register(m.steps), r.Register(m.failures), r.Register(m.syncs), r.Register(overdue)); err != nil {
		return fmt.Errorf("metrics of subscription: %w", err)
	}
	return nil
}
