package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Jobs runs the periodic work of a service, and reports its results as logs and metrics.
type Jobs struct {
	log      *slog.Logger
	runs     *prometheus.CounterVec
	duration *prometheus.HistogramVec
	success  *prometheus.GaugeVec
	interval *prometheus.GaugeVec
}

// NewJobs returns Jobs that log failures to log. Collect registers their metrics.
func NewJobs(log *slog.Logger) *Jobs {
	// Not "job": Prometheus sets that label itself.
	task := []string{"task"}
	return &Jobs{
		log: log,
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "job_runs_total", Help: "Runs of periodic jobs by result: ok or failed.",
		}, []string{"task", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "job_duration_seconds", Help: "Duration of a run of a periodic job.",
			Buckets: []float64{.001, .005, .025, .1, .5, 1, 5, 30, 120},
		}, task),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "job_last_success_timestamp_seconds", Help: "When the job last succeeded in this process, in seconds since 1970; before its first success, when it was started.",
		}, task),
		interval: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "job_interval_seconds", Help: "Interval at which the periodic job runs, in seconds.",
		}, task),
	}
}

// Collect registers the metrics. A registry accepts only one Jobs.
func (j *Jobs) Collect(r prometheus.Registerer) error {
	return errors.Join(r.Register(j.runs), r.Register(j.duration), r.Register(j.success), r.Register(j.interval))
}

// Every calls once immediately, and then at every interval until ctx ends. A failure is
// logged, and the next call is the retry. Every always returns nil.
func (j *Jobs) Every(ctx context.Context, name string, every time.Duration, once func(ctx context.Context) error) error {
	j.announce(name, every)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		j.run(ctx, name, once)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Task is a periodic job that usually has nothing to do.
type Task struct {
	Name string
	Once func(ctx context.Context) error
}

// WhenDue is Every for several tasks, of which it calls only those that are due. due looks for all of
// them at every interval, in one query, and returns whether each has something to do. A task that is
// still running is not called again, and delays no other task.
func (j *Jobs) WhenDue(ctx context.Context, every time.Duration, due func(ctx context.Context) ([]bool, error), tasks ...Task) error {
	for _, t := range tasks {
		j.announce(t.Name, every)
	}
	running := make([]atomic.Bool, len(tasks))
	var all sync.WaitGroup
	defer all.Wait()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		found, err := due(ctx)
		for i, t := range tasks {
			if running[i].Load() {
				continue
			}
			if err != nil || !found[i] {
				j.run(ctx, t.Name, func(context.Context) error { return err })
				continue
			}
			running[i].Store(true)
			all.Go(func() {
				defer running[i].Store(false)
				j.run(ctx, t.Name, t.Once)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// announce sets the metrics of a job before its first run.
func (j *Jobs) announce(name string, every time.Duration) {
	j.interval.WithLabelValues(name).Set(every.Seconds())
	for _, result := range []string{"ok", "failed"} {
		j.runs.WithLabelValues(name, result) // so that a rate starts from zero
	}
	// The start time distinguishes a task that never succeeds from one that does not exist.
	j.success.WithLabelValues(name).SetToCurrentTime()
}

func (j *Jobs) run(ctx context.Context, name string, once func(ctx context.Context) error) {
	began := time.Now()
	err := once(ctx)
	if err != nil && ctx.Err() != nil {
		return // the end of the process interrupted it
	}
	took := time.Since(began)
	j.duration.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		j.runs.WithLabelValues(name, "failed").Inc()
		j.log.LogAttrs(ctx, slog.LevelWarn, "job failed, retrying at the next interval",
			slog.String("task", name), slog.Duration("took", took), slog.String("error", err.Error()))
		return
	}
	j.runs.WithLabelValues(name, "ok").Inc()
	j.success.WithLabelValues(name).SetToCurrentTime()
}
