package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// alertLimit is the time limit for an alert to become pending. DNS lookups, scrapes and rule
// evaluations happen every 15 s each.
const alertLimit = 2 * time.Minute

// prometheus is the API of the platform's Prometheus.
type prometheus struct{ base string }

func (p *platform) prometheus(t *testing.T) prometheus {
	t.Helper()
	return prometheus{base: "http://" + p.address(t, "prometheus") + ":9090/api/v1/"}
}

// address returns the address of a service's only container in the network of the services.
func (p *platform) address(t *testing.T, service string) string {
	t.Helper()
	return p.run(t, commandLimit, "docker", "inspect", "-f", "{{.NetworkSettings.Networks.reservation_backend.IPAddress}}", "reservation-"+service+"-1")
}

// get requests a path of the API and decodes the answer into v.
func (a prometheus) get(ctx context.Context, path string, query url.Values, v any) error {
	text, err := fetch(ctx, a.base+path+"?"+query.Encode())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &struct{ Data any }{v})
}

// fetch makes a GET request and returns an error unless the answer is 200.
func fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, res.Status, text)
	}
	return text, err
}

// alert is a pending or firing alert.
type alert struct {
	State  string
	Labels map[string]string
}

func (a prometheus) alerts(ctx context.Context) ([]alert, error) {
	var got struct{ Alerts []alert }
	err := a.get(ctx, "alerts", nil, &got)
	return got.Alerts, err
}

// testTargets waits until every process of the services is scraped.
func (p *platform) testTargets(t *testing.T) {
	api := p.prometheus(t)
	harness.Eventually(t, time.Minute, func() error {
		var got struct {
			ActiveTargets []struct {
				Labels            map[string]string
				Health, LastError string
			}
		}
		if err := api.get(t.Context(), "targets", nil, &got); err != nil {
			return err
		}
		if len(got.ActiveTargets) != len(replicated()) {
			return fmt.Errorf("got %d targets: %+v", len(got.ActiveTargets), got.ActiveTargets)
		}
		for _, target := range got.ActiveTargets {
			if target.Health != "up" {
				return fmt.Errorf("%v is %s: %s", target.Labels, target.Health, target.LastError)
			}
		}
		return nil
	})
	var parts []struct{ Metric map[string]string }
	if err := api.query(t.Context(), "query", url.Values{"query": {"count by (part) (build_info)"}}, &parts); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, part := range parts {
		names = append(names, part.Metric["part"])
	}
	want := replicated()
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("metrics are from %v, want %v", names, want)
	}
}

// query evaluates an expression, either at one time ("query") or over a period ("query_range").
func (a prometheus) query(ctx context.Context, path string, query url.Values, result any) error {
	return a.get(ctx, path, query, &struct{ Result any }{result})
}

// testRules waits until all rules of the files have been evaluated without an error.
func (p *platform) testRules(t *testing.T) {
	api, want := p.prometheus(t), 0
	for _, file := range []string{"recording.yml", "alerts.yml"} {
		want += len(regexp.MustCompile(`(?m)^ +- (alert|record): `).FindAllString(harness.File(t, "deploy/observability/prometheus/"+file), -1))
	}
	harness.Eventually(t, time.Minute, func() error {
		var got struct {
			Groups []struct {
				Name  string
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := api.get(t.Context(), "rules", nil, &got); err != nil {
			return err
		}
		var faults []error
		n := 0
		for _, group := range got.Groups {
			for _, rule := range group.Rules {
				n++
				if rule.Health != "ok" {
					faults = append(faults, fmt.Errorf("%s/%s is %s: %s", group.Name, rule.Name, rule.Health, rule.LastError))
				}
			}
		}
		if n != want {
			faults = append(faults, fmt.Errorf("got %d rules, but the files have %d", n, want))
		}
		return errors.Join(faults...)
	})
}

// testQuiet checks that no alert fires on a healthy platform.
func (p *platform) testQuiet(t *testing.T) {
	api := p.prometheus(t)
	harness.Eventually(t, time.Minute, func() error {
		alerts, err := api.alerts(t.Context())
		if err != nil {
			return err
		}
		for _, a := range alerts {
			if a.State == "firing" {
				return fmt.Errorf("firing: %v", a.Labels)
			}
		}
		return nil
	})
}

// testAlerts freezes one service and stops another. The alerts must report the first as not
// answering and the second as missing, and clear when both run again.
func (p *platform) testAlerts(t *testing.T) {
	api := p.prometheus(t)
	frozen := p.address(t, "pass") + ":9100"
	p.compose(t, commandLimit, "pause", "pass")
	p.compose(t, commandLimit, "stop", "admin")
	noticed := func(want bool) {
		t.Helper()
		began := time.Now()
		harness.Eventually(t, alertLimit, func() error {
			alerts, err := api.alerts(t.Context())
			if err != nil {
				return err
			}
			has := func(name, label, value string) bool {
				return slices.ContainsFunc(alerts, func(a alert) bool { return a.Labels["alertname"] == name && a.Labels[label] == value })
			}
			if has("PartDown", "instance", frozen) != want || has("PartMissing", "part", "admin") != want {
				return fmt.Errorf("the alerts are %+v", alerts)
			}
			return nil
		})
		t.Logf("after %.0f s: %v", time.Since(began).Seconds(), want)
	}
	noticed(true)
	p.compose(t, commandLimit, "unpause", "pass")
	p.compose(t, commandLimit, "start", "admin")
	p.awaitHealthy(t, 1)
	noticed(false)
}

// testSources checks with Grafana's replacement that the data sources answer.
func (p *platform) testSources(t *testing.T) {
	harness.Eventually(t, time.Minute, func() error {
		text, err := fetch(t.Context(), "http://127.0.0.1:"+p.setting("GRAFANA_PORT")+"/cgi-bin/sources")
		if err != nil {
			return err
		}
		if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) != 2 || strings.Contains(string(text), "not") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}
