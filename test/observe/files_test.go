package observe

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root       = "../.."
	prometheus = root + "/deploy/observability/prometheus"
	dashboards = root + "/deploy/observability/grafana/dashboards"
	runbooks   = root + "/docs/runbooks"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return files
}

// rule is an alert or a recording rule.
type rule struct{ name, expr, runbook, severity string }

var ruleHead = regexp.MustCompile(`(?m)^ +- (?:alert|record): (\S+)\n`)

// rules reads the rules of a file in the form used here: a name, an expression of one line or an
// indented block, and further fields.
func rules(t *testing.T, file string) []rule {
	t.Helper()
	text := read(t, filepath.Join(prometheus, file))
	heads := ruleHead.FindAllStringSubmatchIndex(text, -1)
	var all []rule
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		r := rule{name: text[h[2]:h[3]]}
		inBlock := false
		for line := range strings.Lines(text[h[1]:end]) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case strings.TrimSpace(line) == "expr: |":
				inBlock = true
			case strings.HasPrefix(line, "          ") && inBlock:
				r.expr += line
			case key == "expr":
				r.expr = value
			case key == "runbook":
				r.runbook = strings.TrimSpace(value)
			case key == "labels":
				r.severity = strings.Trim(strings.TrimPrefix(value, "{severity: "), "}\n")
			}
			if strings.HasPrefix(line, "        ") && !strings.HasPrefix(line, "          ") && !strings.Contains(line, "expr: |") {
				inBlock = false
			}
		}
		if r.expr == "" {
			t.Fatalf("%s: %s has no expression", file, r.name)
		}
		all = append(all, r)
	}
	return all
}

// panel is a panel of a dashboard, with its question and its queries.
type panel struct {
	Title, Description, Type string
	Targets                  []struct{ Expr string }
}

type dashboard struct {
	UID, Title string
	Panels     []panel
	file       string
}

func allDashboards(t *testing.T) []dashboard {
	t.Helper()
	var all []dashboard
	for _, file := range glob(t, filepath.Join(dashboards, "*.json")) {
		d := dashboard{file: filepath.Base(file)}
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	matchers   = regexp.MustCompile(`\{[^}]*\}`)
	ranges     = regexp.MustCompile(`\[[^\]]*\]`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	numbers    = regexp.MustCompile(`\b[0-9][0-9.]*[a-z]*\b`)
	words      = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
)

// metricsIn returns the names of the metrics in a PromQL expression.
func metricsIn(expr string) []string {
	for _, part := range []*regexp.Regexp{quotedText, matchers, ranges, grouping, numbers} {
		expr = part.ReplaceAllString(expr, " ")
	}
	var names []string
	for _, word := range words.FindAllString(expr, -1) {
		name := strings.TrimSpace(word)
		if strings.HasSuffix(name, "(") || slices.Contains([]string{"and", "or", "unless", "bool", "offset", "by"}, name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// isOfRouter reports whether a metric is that of the directory of a router, which is not part of a platform.
func isOfRouter(name string) bool { return strings.HasPrefix(name, "directory_") }

// isBuiltIn reports whether Prometheus itself provides a metric.
func isBuiltIn(name string) bool { return name == "up" || name == "ALERTS" }

// usedMetrics returns the metrics that alerts, rules, dashboards and pages use, each with its users.
// Names with a colon are recording rules.
func usedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	asked, recorded := map[string][]string{}, map[string]bool{}
	for _, r := range rules(t, "recording.yml") {
		recorded[r.name] = true
	}
	ask := func(by, expr string) {
		for _, name := range metricsIn(expr) {
			switch {
			case isBuiltIn(name), isOfRouter(name):
			case strings.Contains(name, ":"):
				if !recorded[name] {
					t.Errorf("%s uses %s, which no rule records", by, name)
				}
			default:
				asked[name] = append(asked[name], by)
			}
		}
	}
	for _, file := range []string{"recording.yml", "alerts.yml"} {
		for _, r := range rules(t, file) {
			ask(r.name, r.expr)
		}
	}
	for _, d := range allDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				ask(d.Title+" / "+p.Title, target.Expr)
			}
		}
	}
	// In a page, text in backquotes that looks like a metric's name is one.
	like := regexp.MustCompile("`((?:http_server|rpc_server|outbox|bus|pg_pool|pg|job|booking|subscription|media|webhook|ratelimit|process|go)_[a-z_]+(?:_total|_seconds|_pending|_connected|_fallback|_info|_bytes|_fds|_holds|_keys|_alone|_limit|_owed|_purchases|_commit|_unacknowledged|_connections|_flight|_removals))`")
	pages := append(glob(t, filepath.Join(runbooks, "*.md")), root+"/docs/OPERATIONS.md", root+"/docs/OBSERVABILITY.md")
	for _, page := range pages {
		for _, m := range like.FindAllStringSubmatch(read(t, page), -1) {
			asked[m[1]] = append(asked[m[1]], filepath.Base(page))
		}
	}
	for name, by := range asked { // a histogram is scraped as several series
		if strings.HasSuffix(name, "_seconds") && slices.ContainsFunc([]string{"http_server_", "rpc_server_", "webhook_attempt_", "webhook_first_", "job_duration"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			delete(asked, name)
			asked[name+"_count"] = append(asked[name+"_count"], by...)
		}
		if name == "booking_purchases_per_commit" {
			delete(asked, name)
			asked[name+"_count"] = append(asked[name+"_count"], by...)
		}
	}
	return asked
}

func TestMetricsIn(t *testing.T) {
	got := metricsIn(`sum by (part, le) (rate(a_bucket{x="b_total",le=~"5|1"}[5m])) / on(part) group_left(v) (c:d:e > 14.4 * 0.001) unless x_y and -z_total offset 5m`)
	if diff := cmp.Diff([]string{"a_bucket", "c:d:e", "x_y", "z_total"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRunbooks compares the alerts with their runbooks.
func TestRunbooks(t *testing.T) {
	pages := map[string]bool{}
	for _, file := range glob(t, filepath.Join(runbooks, "*.md")) {
		pages[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	alerts := rules(t, "alerts.yml")
	if len(alerts) < 20 {
		t.Fatalf("only %d alerts were read", len(alerts))
	}
	index := read(t, root+"/docs/OBSERVABILITY.md")
	tested := ""
	for _, file := range glob(t, filepath.Join(prometheus, "tests", "*.yml")) {
		tested += read(t, file)
	}
	for _, a := range alerts {
		if !pages[a.name] || a.runbook != "docs/runbooks/"+a.name+".md" {
			t.Errorf("%s has the runbook %q", a.name, a.runbook)
			continue
		}
		delete(pages, a.name)
		if a.severity != "page" && a.severity != "ticket" {
			t.Errorf("%s has the severity %q", a.name, a.severity)
		}
		text := read(t, filepath.Join(runbooks, a.name+".md"))
		for _, want := range []string{"# " + a.name + "\n", "\n## What users see\n", "\n## First look\n", "\n## Causes and fixes\n", "\n## When it is over\n", "\n## When to wake somebody\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("the runbook of %s has no %q", a.name, want)
			}
		}
		if !strings.Contains(index, "(runbooks/"+a.name+".md)") {
			t.Errorf("docs/OBSERVABILITY.md does not name %s", a.name)
		}
		if !strings.Contains(tested, "runbook: docs/runbooks/"+a.name+".md") {
			t.Errorf("no test makes %s fire", a.name)
		}
	}
	for name := range pages {
		t.Errorf("the runbook %s does not belong to an alert", name)
	}
}

// TestMetricsOfTheRouter compares the metrics of the directory with those that alerts use, and with its documentation.
func TestMetricsOfTheRouter(t *testing.T) {
	source, page := read(t, root+"/services/directory/metrics.go"), read(t, root+"/deploy/router/README.md")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(directory_[a-z_]+)"`).FindAllStringSubmatch(source, -1) {
		named[m[1]] = true
		if !strings.Contains(page, "`"+m[1]) {
			t.Errorf("deploy/router/README.md does not name %s", m[1])
		}
	}
	used := 0
	for _, r := range rules(t, "alerts.yml") {
		for _, name := range metricsIn(r.expr) {
			if !isOfRouter(name) {
				continue
			}
			used++
			if !named[name] {
				t.Errorf("%s uses %s, which the directory does not have", r.name, name)
			}
		}
	}
	if used < 5 {
		t.Errorf("the alerts use only %d metrics of the directory", used)
	}
}

// TestDashboards compares the dashboards with their list in the documentation, and checks the
// fields that Grafana needs.
func TestDashboards(t *testing.T) {
	index := read(t, root+"/docs/OBSERVABILITY.md")
	uids := map[string]bool{}
	for _, d := range allDashboards(t) {
		if d.UID == "" || uids[d.UID] || d.Title == "" {
			t.Errorf("%s: uid %q, title %q", d.file, d.UID, d.Title)
		}
		uids[d.UID] = true
		asking := 0
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			asking++
			if p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s: %q has no question or no query", d.file, p.Title)
			}
			if row := "| " + d.Title + " | " + p.Title + " | " + p.Description + " |"; !strings.Contains(index, row) {
				t.Errorf("docs/OBSERVABILITY.md has no row\n%s", row)
			}
		}
		if asking < 4 {
			t.Errorf("%s has %d panels", d.file, asking)
		}
	}
	if len(uids) != 6 {
		t.Errorf("got %d dashboards", len(uids))
	}
}

// TestRulesWithPromtool runs Prometheus's own checks if promtool is installed.
func TestRulesWithPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: Debian has it in the package prometheus")
	}
	tests := glob(t, filepath.Join(prometheus, "tests", "*.yml"))
	for _, args := range [][]string{{"check", "config", filepath.Join(prometheus, "prometheus.yml")}, append([]string{"test", "rules"}, tests...)} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
