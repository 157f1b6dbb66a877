package reference

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func newReference(t *testing.T) *Reference {
	t.Helper()
	r, err := New("/docs/")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPage(t *testing.T) {
	t.Parallel()
	r := newReference(t)
	w := httptest.NewRecorder()
	r.Page(Options{Title: `A "<b>"`, URL: "/openapi.yaml", TryIt: true}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	body := w.Body.String()
	t.Run("loads only files of the reference", func(t *testing.T) {
		t.Parallel()
		found := regexp.MustCompile(`(?:src|href)="(/docs/[^"]*)"`).FindAllStringSubmatch(body, -1)
		for _, m := range found {
			if r.Files[m[1]] == nil {
				t.Errorf("there is no %s", m[1])
			}
		}
		if len(found) != len(r.Files) || strings.Contains(body, "//") && strings.Contains(body, "https:") {
			t.Errorf("the page loads %d files of %d:\n%s", len(found), len(r.Files), body)
		}
	})
	t.Run("escapes its title", func(t *testing.T) {
		t.Parallel()
		if !strings.Contains(body, "<title>A &#34;&lt;b&gt;&#34;</title>") {
			t.Error(body)
		}
	})
	t.Run("has no inline script", func(t *testing.T) {
		t.Parallel()
		if regexp.MustCompile(`<script>|<script [^>]*>[^<]`).MatchString(body) {
			t.Error(body)
		}
	})
}

// configurationOf reads the configuration as the script does.
func configurationOf(t *testing.T, o Options) map[string]any {
	t.Helper()
	m := regexp.MustCompile(`data-configuration="([^"]*)"`).FindStringSubmatch(string(newReference(t).Body(o)))
	var c map[string]any
	if m == nil || json.Unmarshal([]byte(html.UnescapeString(m[1])), &c) != nil {
		t.Fatalf("no configuration: %v", m)
	}
	return c
}

func TestConfiguration(t *testing.T) { // invariant 1
	t.Parallel()
	t.Run("turns off everything that would contact another server", func(t *testing.T) {
		t.Parallel()
		c := configurationOf(t, Options{URL: "/openapi.yaml"})
		off := func(name string) bool { m, _ := c[name].(map[string]any); return m["disabled"] == true }
		if c["telemetry"] != false || c["withDefaultFonts"] != false || c["proxyUrl"] != "" || !off("agent") || !off("mcp") || c["showDeveloperTools"] != "never" || c["hideClientButton"] != true {
			t.Errorf("got %v", c)
		}
	})
	t.Run("offers requests only if TryIt is set", func(t *testing.T) {
		t.Parallel()
		if configurationOf(t, Options{TryIt: true})["hideTestRequestButton"] != false || configurationOf(t, Options{})["hideTestRequestButton"] != true {
			t.Error("the button that sends requests is shown or hidden wrongly")
		}
	})
	t.Run("shows the server in examples", func(t *testing.T) {
		t.Parallel()
		servers, _ := configurationOf(t, Options{Server: "https://a.example.com"})["servers"].([]any)
		if _, given := configurationOf(t, Options{})["servers"]; len(servers) != 1 || servers[0].(map[string]any)["url"] != "https://a.example.com" || given {
			t.Errorf("got %v", servers)
		}
	})
}

// TestScript checks that the vendored script is complete and has the functions that reference.js uses.
func TestScript(t *testing.T) {
	t.Parallel()
	zipped, err := files.ReadFile("assets/scalar.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(r)
	if err != nil || !bytes.Contains(script, []byte("createApiReference")) || !bytes.Contains(script, []byte("__zod_globalConfig")) {
		t.Errorf("%d bytes, %v", len(script), err)
	}
	if policy := Policy("'self'"); !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "http") { // invariant 2
		t.Error(policy)
	}
}
