package booking

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/telemetry"
)

// metrics are what booking tells of work that nobody waits for.
type metrics struct {
	undone  prometheus.Counter
	expired prometheus.Counter
	desk    prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		undone: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "booking_purchases_undone_total", Help: "Purchases by pass that were left pending and have been undone: credits given back, places released.",
		}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "booking_holds_expired_total", Help: "Holds released because their time was up.",
		}),
		desk: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "booking_purchases_per_commit", Help: "Purchases of one date that shared a commit.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
	}
}

// unfinishedMost bounds what a sample counts.
const unfinishedMost = 20000

// unfinishedSQL walks the index of transactions that have places and are not
// confirmed, which is as long as there are such, and no longer.
const unfinishedSQL = `select count(*) filter (where status = 'held') as holds,
		coalesce(extract(epoch from $1 - min(expires_at) filter (where status = 'held')), 0)::float8 as overdue,
		count(*) filter (where status <> 'held') as pending,
		coalesce(extract(epoch from $1 - min(purchased_at) filter (where status <> 'held')), 0)::float8 as age,
		(select count(*) from (select from credit_returns order by due_at limit $2) r) as owed
	from (select status, expires_at, purchased_at from transactions
		where status in ('held', 'pending', 'undoing') order by expires_at limit $2) t`

// readUnfinished returns holds, for how many seconds the one that should have been
// released first is overdue, purchases by pass that are pending, the age of the
// oldest of them in seconds, and bookings whose credits are owed to a pass.
func (s *Server) readUnfinished(ctx context.Context) ([]float64, error) {
	now, err := pg.One[struct {
		Holds   int64
		Overdue float64
		Pending int64
		Age     float64
		Owed    int64
	}](ctx, s.store.db, pg.AllCompanies(), unfinishedSQL, s.now(), unfinishedMost)
	return []float64{float64(now.Holds), max(now.Overdue, 0), float64(now.Pending), max(now.Age, 0), float64(now.Owed)}, err
}

// Collect registers the metrics of the service. One registry takes one.
func (s *Server) Collect(r prometheus.Registerer) error {
	m := s.metrics
	unfinished := telemetry.NewSampled(s.readUnfinished,
		telemetry.Gauge{Name: "booking_holds", Help: "Places held in transactions of their own, counted up to 20000."},
		telemetry.Gauge{Name: "booking_holds_overdue_seconds", Help: "For how long the oldest hold should have been released."},
		telemetry.Gauge{Name: "booking_pending_purchases", Help: "Purchases by pass between their places and their credits, counted up to 20000."},
		telemetry.Gauge{Name: "booking_pending_oldest_age_seconds", Help: "Age of the oldest purchase by pass that is neither confirmed nor undone."},
		telemetry.Gauge{Name: "booking_credit_returns_owed", Help: "Cancelled bookings whose credits the pass has not got back yet, counted up to 20000."},
	)
	if err := errors.Join(r.Register(m.undone), r.Register(m.expired), r.Register(m.desk), r.Register(unfinished)); err != nil {
		return fmt.Errorf("metrics of booking: %w", err)
	}
	return nil
}
