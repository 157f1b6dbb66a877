package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestLint(t *testing.T) {
	for _, values := range valueFiles {
		if out, problems, err := helm(t, "lint", "--strict", "--kube-version", kubeVersion, chartDir, "--values", chartDir+"/ci/"+values+"-values.yaml"); err != nil {
			t.Errorf("%s: %v\n%s%s", values, err, out, problems)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Run("all missing values are reported together", func(t *testing.T) {
		_, problems, err := helm(t, "template", release, chartDir, "--kube-version", kubeVersion)
		if err == nil {
			t.Fatal("the chart installs without secrets")
		}
		for _, want := range []string{"secrets.existing.auth:", "secrets.existing.webhook:", "database.secrets.booking:", "nats: set exactly one", "faces.admin:", "faces.media:"} {
			if !strings.Contains(problems, want) {
				t.Errorf("the error does not mention %q:\n%s", want, problems)
			}
		}
	})
	for name, tt := range map[string]struct{ values, set, want string }{
		"a misspelt value":                        {"minimal", "netwrokPolicy.enabled=false", "netwrokPolicy"},
		"a misspelt value of a service":           {"minimal", "parts.booking.replica=3", "replica"},
		"a misspelt service":                      {"minimal", "parts.bookings.replicas=3", "bookings"},
		"a value of the wrong type":               {"minimal", "parts.booking.replicas=three", "replicas"},
		"a password in the address of NATS":       {"external", "nats.url=nats://user:password@nats:4222", "nats"},
		"secrets both named and generated":        {"external", "secrets.generate=true", "cannot be combined with secrets.generate"},
		"databases both named and bundled":        {"external", "postgresql.bundled=true", "cannot be combined with postgresql.bundled"},
		"a bundled and an external NATS":          {"external", "nats.bundled=true", "set exactly one of url"},
		"Jobs before the database that they need": {"minimal", "migrations.mode=job", "migrations.mode"},
		"routes without a Gateway":                {"external", "gateway.enabled=true", "gateway.parentRefs"},
		"certificates without an issuer":          {"external", "grpcTLS.certManager.enabled=true", "issuerRef"},
		"a directory as the bucket":               {"minimal", "media.bucket=file:///tmp/media", "media.bucket"},
		"an invalid host":                         {"external", "faces.admin.host=https://dashboard.example.com", "host"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			out, err := template(t, tt.values, "--set", tt.set)
			if err == nil || !strings.Contains(out, tt.want) {
				t.Errorf("%v: %.500s", err, out)
			}
		})
	}
}

// TestCopies compares the rules and dashboards of the chart with those of deploy/observability.
// `make chart-files` copies them.
func TestCopies(t *testing.T) {
	for dir, source := range map[string]string{
		"rules/*.yml": "prometheus", "dashboards/*.json": "grafana/dashboards",
	} {
		here, err := filepath.Glob(chartDir + "/files/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		there, err := filepath.Glob(root + "/deploy/observability/" + source + "/" + filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, file := range append(here, there...) {
			names[filepath.Base(file)] = true
		}
		delete(names, "prometheus.yml") // the configuration of Prometheus, not rules
		if len(names) == 0 {
			t.Errorf("the directory %s is empty", dir)
		}
		for name := range names {
			copied, err := os.ReadFile(chartDir + "/files/" + filepath.Dir(dir) + "/" + name)
			if err != nil {
				t.Error(err)
			}
			original, err := os.ReadFile(root + "/deploy/observability/" + source + "/" + name)
			if err != nil {
				t.Error(err)
			}
			if !bytes.Equal(copied, original) {
				t.Errorf("%s differs from its original", name)
			}
		}
	}
}

func TestRules(t *testing.T) {
	m := render(t, "everything")
	rule := m.custom["PrometheusRule/studio"]
	if rule == nil {
		t.Fatal("the PrometheusRule is missing")
	}
	got, err := yaml.Marshal(rule.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(chartDir + "/files/rules/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rules struct {
			Groups []struct {
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		}
		if err := yaml.Unmarshal(text, &rules); err != nil {
			t.Fatal(err)
		}
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				expr, err := yaml.Marshal(map[string]any{"expr": r["expr"]})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(unindented(string(got)), unindented(string(expr))) {
					t.Errorf("the PrometheusRule lacks\n%s", expr)
				}
				alerts++
			}
		}
	}
	if alerts == 0 {
		t.Error("the PrometheusRule has no rules")
	}
	if strings.Contains(string(got), "<no value>") {
		t.Error("helm evaluated templates in the alerts")
	}
	monitor := m.custom["PodMonitor/studio"]
	if monitor == nil {
		t.Fatal("the PodMonitor is missing")
	}
	for _, part := range parts {
		if text, err := yaml.Marshal(monitor.Object); err != nil || !strings.Contains(string(text), "- "+part+"\n") {
			t.Errorf("the PodMonitor does not select %s: %v", part, err)
		}
	}
	for key := range m.configMaps {
		if !strings.HasPrefix(key, "studio-dashboard-") {
			t.Errorf("an unexpected ConfigMap %s", key)
		}
	}
}

// unindented returns a text with all white space reduced to single spaces.
func unindented(text string) string { return strings.Join(strings.Fields(text), " ") }
