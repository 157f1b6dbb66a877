package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// sampleEvery is how often a Sampled asks at most, however often and by
	// however many it is scraped.
	sampleEvery = 10 * time.Second
	// sampleTime bounds one asking.
	sampleTime = 2 * time.Second
)

// Gauge describes one value of a Sampled.
type Gauge struct{ Name, Help string }

// Sampled is a collector of gauges that a database has to be asked for. It asks
// when it is scraped, at most every ten seconds and for at most two, and tells the
// same in between. All processes of a part tell the same, so queries take the
// maximum over them. When asking fails there is nothing to tell: the gap shows.
type Sampled struct {
	// Every is the least time between two askings.
	Every time.Duration

	descs []*prometheus.Desc
	read  func(ctx context.Context) ([]float64, error)

	mu     sync.Mutex
	asked  time.Time
	values []float64 // nil: the last asking failed
}

// NewSampled returns a collector of gauges whose values read returns, in order.
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

// sample asks, or returns what was told last. Those who scrape at the same time
// wait for the same answer.
func (s *Sampled) sample() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && time.Since(s.asked) < s.Every {
		return s.values
	}
	ctx, cancel := context.WithTimeout(context.Background(), sampleTime)
	defer cancel()
	values, err := s.read(ctx)
	if err != nil || len(values) != len(s.descs) {
		values = nil
	}
	s.asked, s.values = time.Now(), values
	return values
}
