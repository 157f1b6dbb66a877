package compose

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// mayBeEmpty lists the panels that are empty if nothing went wrong, with the cause that would
// fill each.
var mayBeEmpty = []string{
	"Reservations: overview / Alerts",                           // an alert that fires
	"Reservations: services / Jobs: failures",                   // a job that failed
	"Reservations: PostgreSQL and NATS / Repeated transactions", // a deadlock
	"Reservations: booking and passes / Expired holds",          // a hold without a purchase
}

// testDashboards runs every query of the dashboards against Prometheus as Grafana does, for the
// time since began. Every query must succeed and return data, except for the panels in
// mayBeEmpty.
func (p *platform) testDashboards(t *testing.T, began time.Time) {
	const step, interval = "15", "1m" // Grafana's $__rate_interval: four scrapes
	api := p.prometheus(t)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "deploy/observability/grafana/dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	asked, patient := 0, time.Now().Add(90*time.Second)
	s := harness.NewRetryingClient(t, p.credentials)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct {
					Expr    string
					Instant bool
				}
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				asked++
				path := "query_range"
				query := url.Values{"query": {strings.ReplaceAll(target.Expr, "$__rate_interval", interval)}}
				if target.Instant {
					path = "query"
				} else {
					query.Set("start", began.UTC().Format(time.RFC3339))
					query.Set("step", step)
				}
				name := d.Title + " / " + panel.Title
				for {
					if !target.Instant {
						query.Set("end", time.Now().UTC().Format(time.RFC3339))
					}
					var series []json.RawMessage
					if err := api.query(t.Context(), path, query, &series); err != nil {
						t.Errorf("%s: %s: %v", name, target.Expr, err)
						break
					}
					if len(series) > 0 || slices.Contains(mayBeEmpty, name) {
						break
					}
					if time.Now().After(patient) {
						t.Errorf("%s has no data: %s", name, target.Expr)
						break
					}
					// A rate needs a change between two scrapes, so activity before the first
					// scrape does not count. Only purchases without a key share commits.
					if _, err := s.Book(t.Context(), "dashboards", http.Header{"Idempotency-Key": nil}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(3 * time.Second)
				}
			}
		}
	}
	t.Logf("%d queries in %d dashboards", asked, len(files))
	if asked < len(files) {
		t.Errorf("found only %d queries in %d dashboards", asked, len(files))
	}
}
