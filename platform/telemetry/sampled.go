package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// sampleEvery is the minimum time between two reads of a Sampled.
	sampleEvery = 10 * time.Second
	// sampleTime is the timeout of one read.
	sampleTime = 2 * time.Second
)

// Gauge describes one value of a Sampled.
type Gauge struct{ Name, Help string }

// Sampled is a collector of gauges that are read from a database. It reads when it is scraped,
// at most every ten seconds and with a timeout of two; scrapes in between get the same values.
// All processes of a service export the same values, so queries use the maximum. If reading
// fails, the gauges are missing from the scrape, so that the failure is visible.
type Sampled struct {
	// Every is the minimum time between two reads.
	Every time.Duration

	descs []*prometheus.Desc
	read  func(ctx context.Context) ([]float64, error)

	mu     sync.Mutex
	readAt time.Time
	values []float64 // nil if the last read failed
}

// NewSampled returns a collector of gauges. Read returns their values in the same order.
func NewSampled(read func(ctx context.Context) ([]float64, error), gauges ...Gauge) *Sampled {
	s := &Sampled{Every: sampleEvery, read: read}
	for _, g := range gauges {
		s.descs = append(s.descs, prometheus.NewDesc(g.Name, g.Help, nil, nil))
	}
	return s
}

// Describe implements prometheus.Collector.
func (s *Sampled) Describe(out chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Sampled) Collect(out chan<- prometheus.Metric) {
	for i, v := range s.sample() {
		out <- prometheus.MustNewConstMetric(s.descs[i], prometheus.GaugeValue, v)
	}
}

// sample returns the last values, or reads new ones if those are too old. Concurrent scrapes
// wait for the same read.
func (s *Sampled) sample() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readAt.IsZero() && time.Since(s.readAt) < s.Every {
		return s.values
	}
	ctx, cancel := context.WithTimeout(context.Background(), sampleTime)
	defer cancel()
	values, err := s.read(ctx)
	if err != nil || len(values) != len(s.descs) {
		values = nil
	}
	s.readAt, s.values = time.Now(), values
	return values
}
