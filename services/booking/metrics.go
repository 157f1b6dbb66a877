package booking

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/telemetry"
)

// metrics are the counters of background work and shared commits.
type metrics struct {
	undone  prometheus.Counter
	expired prometheus.Counter
	shared  prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		undone: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "booking_purchases_undone_total", Help: "Purchases by pass that were interrupted and then undone: credits returned and spaces released.",
		}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "booking_holds_expired_total", Help: "Holds released because they expired.",
		}),
		shared: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "booking_purchases_per_commit", Help: "Number of purchases in each shared commit.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
	}
}

// readUnfinished returns the values of the gauges that Collect registers, in the same order.
func (s *Server) readUnfinished(ctx context.Context) ([]float64, error) {
	u, err := s.store.Unfinished(ctx, s.now())
	return []float64{float64(u.Holds), max(u.Overdue, 0), float64(u.Pending), max(u.Age, 0), float64(u.Owed), float64(u.Changes)}, err
}

// Collect registers the service's metrics. It can be called once for each registry.
func (s *Server) Collect(r prometheus.Registerer) error {
	m := s.metrics
	unfinished := telemetry.NewSampled(s.readUnfinished,
		telemetry.Gauge{Name: "booking_holds", Help: "Open holds, including waitlist offers, counted up to 20000."},
		telemetry.Gauge{Name: "booking_holds_overdue_seconds", Help: "Seconds since the expiry of the oldest hold that is not released yet."},
		telemetry.Gauge{Name: "booking_pending_purchases", Help: "Purchases by pass that have their spaces and are neither confirmed nor undone, counted up to 20000."},
		telemetry.Gauge{Name: "booking_pending_oldest_age_seconds", Help: "Age of the oldest purchase by pass that is neither confirmed nor undone."},
		telemetry.Gauge{Name: "booking_credit_returns_owed", Help: "Bookings whose credits must still be returned to the pass, counted up to 20000."},
		telemetry.Gauge{Name: "booking_credit_changes_unfinished", Help: "Moves of bookings that must still return credits to the pass, counted up to 20000."},
	)
	if err := errors.Join(r.Register(m.undone), r.Register(m.expired), r.Register(m.shared), r.Register(unfinished)); err != nil {
		return fmt.Errorf("metrics of booking: %w", err)
	}
	return nil
}
