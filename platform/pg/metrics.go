package pg

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/pg/turns"
)

// Collect registers the pool's metrics with part, the service's name, as a label. Pass "" if
// r adds the label. It returns an error if the metrics of that service are already registered.
func (db *DB) Collect(r prometheus.Registerer, part string) error {
	label := prometheus.Labels{}
	if part != "" {
		label["part"] = part
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("pg_"+name, help, variable, label)
	}
	c := &collector{
		db:          db,
		connections: desc("pool_connections", "Connections of the pool by state: used, idle or opening.", "state"),
		limit:       desc("pool_connections_limit", "Maximum number of connections of the pool."),
		acquired:    desc("pool_acquires_total", "Connections taken from the pool."),
		waited:      desc("pool_waits_total", "Times no connection was free and the caller had to wait."),
		waiting:     desc("pool_wait_seconds_total", "Total time spent waiting for a connection, in seconds."),
		cancelled:   desc("pool_cancelled_acquires_total", "Times a caller gave up waiting for a connection."),
		opened:      desc("pool_opened_total", "Connections opened."),
		queued:      desc("turns_waiting", "Requests that wait for their turn to use a connection.", "class"),
		oldest:      desc("turns_oldest_wait_seconds", "How long the oldest request has waited for its turn, in seconds; 0 if none waits.", "class"),
		refused:     desc("turns_refused_total", "Requests refused because too many of their company were waiting.", "class"),
		repeats:     desc("repeats_total", "Repeated work by cause: lost_race (deadlock or serialization failure) or lost_connection.", "cause"),
	}
	if err := r.Register(c); err != nil {
		return fmt.Errorf("metrics of the database of %s: %w", part, err)
	}
	return nil
}

type collector struct {
	db                                            *DB
	connections, limit, acquired, waited, waiting *prometheus.Desc
	cancelled, opened, repeats                    *prometheus.Desc
	queued, oldest, refused                       *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, label ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, label...)
	}
	counter := func(d *prometheus.Desc, v float64, label ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, label...)
	}
	s := c.db.pool.Stat()
	gauge(c.connections, float64(s.AcquiredConns()), "used")
	gauge(c.connections, float64(s.IdleConns()), "idle")
	gauge(c.connections, float64(s.ConstructingConns()), "opening")
	gauge(c.limit, float64(s.MaxConns()))
	counter(c.acquired, float64(s.AcquireCount()))
	// A request waits for its turn, and then rarely for the pool to open its connection.
	waits, waited, gaveUp := s.EmptyAcquireCount(), s.EmptyAcquireWaitTime(), s.CanceledAcquireCount()
	for class := turns.Read; class <= turns.Stream; class++ {
		t := c.db.turns.Stats(class)
		waits, waited, gaveUp = waits+t.Waits, waited+t.Waited, gaveUp+t.GaveUp
		gauge(c.queued, float64(t.Waiting), class.String())
		gauge(c.oldest, t.Oldest.Seconds(), class.String())
		counter(c.refused, float64(t.Refused), class.String())
	}
	counter(c.waited, float64(waits))
	counter(c.waiting, waited.Seconds())
	counter(c.cancelled, float64(gaveUp))
	counter(c.opened, float64(s.NewConnsCount()))
	counter(c.repeats, float64(c.db.txRetries.Load()), "lost_race")
	counter(c.repeats, float64(c.db.connRetries.Load()), "lost_connection")
}
