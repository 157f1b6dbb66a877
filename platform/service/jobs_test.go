package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// jobValues returns the values of the job metrics: counters by "name result",
// the others by name.
func jobValues(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				if l.GetName() == "result" {
					name += " " + l.GetValue()
				}
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

func TestJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := NewJobs(slog.New(slog.NewTextHandler(&log, nil)))
		r := prometheus.NewRegistry()
		if err := j.Collect(r); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		runs, began := 0, time.Now()
		done := make(chan error)
		go func() {
			done <- j.Every(ctx, "sweep", time.Minute, func(ctx context.Context) error {
				if runs++; runs == 3 {
					return errors.New("the database is away")
				}
				return ctx.Err()
			})
		}()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		got := jobValues(t, r)
		if runs != 3 || got["job_runs_total ok"] != 2 || got["job_runs_total failed"] != 1 || got["job_duration_seconds"] != 3 || got["job_interval_seconds"] != 60 {
			t.Errorf("after %d runs: %v", runs, got)
		}
		if at := got["job_last_success_timestamp_seconds"]; at != float64(began.Add(time.Minute).Unix()) {
			t.Errorf("the last success was at %f", at)
		}
		if strings.Count(log.String(), "job failed") != 1 || !strings.Contains(log.String(), "task=sweep") || !strings.Contains(log.String(), "the database is away") {
			t.Errorf("logged %s", &log)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestInterruptedJobIsNotAFailure(t *testing.T) {
	var log bytes.Buffer
	j := NewJobs(slog.New(slog.NewTextHandler(&log, nil)))
	r := prometheus.NewRegistry()
	if err := j.Collect(r); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err := j.Every(ctx, "sweep", time.Minute, func(ctx context.Context) error {
		stop()
		return ctx.Err()
	})
	if got := jobValues(t, r); err != nil || got["job_runs_total failed"] != 0 || log.Len() > 0 {
		t.Errorf("%v, %v, logged %s", err, got, &log)
	}
}

func TestWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := NewJobs(slog.New(slog.NewTextHandler(&log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		due := [][]bool{{false, false}, {true, true}, {true, true}, nil, {false, true}}
		looks, slow, quick, hold := 0, 0, 0, make(chan struct{})
		done := make(chan error)
		go func() {
			done <- j.WhenDue(ctx, time.Second, func(context.Context) ([]bool, error) {
				if looks++; due[looks-1] == nil {
					return nil, errors.New("the database is away")
				}
				return due[looks-1], nil
			}, Task{"slow", func(context.Context) error { slow++; <-hold; return nil }},
				Task{"quick", func(context.Context) error { quick++; return nil }})
		}()
		time.Sleep(4*time.Second + time.Millisecond)
		synctest.Wait()
		if looks != 5 || slow != 1 || quick != 3 {
			t.Errorf("%d looks, %d and %d runs", looks, slow, quick)
		}
		if strings.Count(log.String(), "job failed") != 1 || !strings.Contains(log.String(), "task=quick") {
			t.Errorf("logged %s", &log)
		}
		stop()
		select {
		case <-done:
			t.Error("ended while a task was running")
		default:
		}
		close(hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
