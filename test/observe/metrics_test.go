package observe

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scrape returns /metrics of an admin port.
func scrape(t *testing.T, addr string) string {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %s, %v", res.Status, err)
	}
	return string(text)
}

// missing returns an error for each used metric that /metrics lacks, with its users.
func missing(asked map[string][]string, metrics string) error {
	there := map[string]bool{}
	for line := range strings.Lines(metrics) {
		if end := strings.IndexAny(line, "{ "); end > 0 && line[0] != '#' {
			there[line[:end]] = true
		}
	}
	var faults []error
	for name, by := range asked {
		if !there[name] {
			faults = append(faults, fmt.Errorf("/metrics lacks %s, which %v use", name, by))
		}
	}
	return errors.Join(faults...)
}

var labelPair = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

// testLabels checks that every label has a bounded number of values.
func testLabels(t *testing.T, metrics string) {
	identifier := regexp.MustCompile(`[a-z]+_0[0-9a-hjkmnp-tv-z]{25}`)
	series := map[string]int{}
	for line := range strings.Lines(metrics) {
		if line[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(line, "{")
		series[name]++
		for _, m := range labelPair.FindAllStringSubmatch(line, -1) {
			switch label, value := m[1], m[2]; {
			case identifier.MatchString(value):
				t.Errorf("the label %s of %s has an identifier: %s", label, name, value)
			case label == "route" && value != "none" && !strings.HasPrefix(value, "/"):
				t.Errorf("%s has a route %q", name, value)
			case label == "method" && strings.HasPrefix(name, "http_") && !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "other"}, value):
				t.Errorf("%s has a method %q", name, value)
			}
		}
	}
	for name, n := range series {
		if n > 2000 {
			t.Errorf("%s has %d series", name, n)
		}
	}
}
