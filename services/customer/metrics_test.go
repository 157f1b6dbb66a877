package customer

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics(t *testing.T) {
	e := openErasing(t)
	registry := prometheus.NewRegistry()
	if err := e.job.Collect(registry); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) != 2 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	want := func(erasures, waits float64) {
		t.Helper()
		if got, err := e.job.readErasures(t.Context()); err != nil || !slices.Equal(got, []float64{erasures, waits}) {
			t.Errorf("%v, %v; want %v that have waited for %v s", got, err, erasures, waits)
		}
	}
	want(0, 0)
	ann, ben := e.create("Ann").GetId(), e.create("Ben").GetId()
	e.erase(ann, false)
	e.now = e.now.Add(time.Hour)
	e.erase(ben, false)
	want(2, 3600)
	e.publish()
	e.answer(ann, 1, erasers()...)
	e.goOn() // the second round of Ann's waits from here
	want(2, 0)
	e.publish()
	e.answer(ann, 2, erasers()...)
	e.goOn()
	e.now = e.now.Add(time.Minute)
	want(1, 60)
}
