package rpc

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// newDurations returns the histogram of calls by method and code. If it is already registered, because
// a service has two servers, it returns the registered one.
func newDurations(r prometheus.Registerer, part string) (*prometheus.HistogramVec, error) {
	opts := prometheus.HistogramOpts{
		Name:    "rpc_server_duration_seconds",
		Help:    "Duration of served RPCs by method and gRPC code.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}
	if part != "" {
		opts.ConstLabels = prometheus.Labels{"part": part}
	}
	h := prometheus.NewHistogramVec(opts, []string{"method", "code"})
	if r == nil {
		return h, nil
	}
	err := r.Register(h)
	var twice prometheus.AlreadyRegisteredError
	if errors.As(err, &twice) {
		if known, ok := twice.ExistingCollector.(*prometheus.HistogramVec); ok {
			return known, nil
		}
	}
	return h, err
}

func (g *guard) observe(method string, code codes.Code, took time.Duration) {
	g.durations.WithLabelValues(method, code.String()).Observe(took.Seconds())
}
