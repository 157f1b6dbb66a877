package site

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"reservation.dev/docs"
	"reservation.dev/platform/reference"
)

func newSite(t *testing.T) *Site {
	t.Helper()
	s, err := New(Options{Origin: "https://x.example.com", InterfaceA: "https://a.example.com", InterfaceB: "https://b.example.com/api/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get requests a path, with headers as name and value in turn.
func (s *Site) get(target string, headers ...string) *http.Response {
	return s.do(http.MethodGet, target, headers...)
}

func (s *Site) do(method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// pages returns the Markdown files.
func pages(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 50 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	return names
}

func TestContent(t *testing.T) { // invariants 1 and 2
	t.Parallel()
	c, err := loadContent()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("has no broken links and no HTML that is not shown", func(t *testing.T) {
		t.Parallel()
		for _, problem := range c.problems {
			t.Error(problem)
		}
	})
	t.Run("has every page once in the navigation", func(t *testing.T) {
		t.Parallel()
		count := map[string]int{}
		for _, g := range c.layout.groups {
			for _, e := range g.Entries {
				count[e.File]++
				if e.Title == "" || e.Path == "" {
					t.Errorf("%s: an entry lacks a title or a path: %+v", g.Title, e)
				}
			}
		}
		for _, file := range pages(t) {
			if count[file] != 1 {
				t.Errorf("docs/%s is %d times in the navigation: add it to navigation.go", file, count[file])
			}
		}
	})
	t.Run("has every folder's README first", func(t *testing.T) {
		t.Parallel()
		for _, g := range c.layout.groups {
			if at := slices.IndexFunc(g.Entries, func(e entry) bool { return path.Base(e.File) == "README.md" }); at > 0 {
				t.Errorf("%s: README.md is entry %d", g.Title, at)
			}
		}
	})
}

var (
	linkTarget = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	anchorID   = regexp.MustCompile(` id="([^"]+)"`)
)

func TestEveryLinkWorks(t *testing.T) { // invariant 2
	t.Parallel()
	s := newSite(t)
	bodies := map[string]string{root: bodyOf(t, s.get(root))}
	queue := []string{root}
	links := 0
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, m := range linkTarget.FindAllStringSubmatch(bodies[at], -1) {
			target, fragment, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			if strings.HasPrefix(target, "https://") || target == "/" { // the dashboard
				continue
			}
			links++
			if target == "" {
				target = at
			}
			if _, ok := bodies[target]; !ok {
				res := s.get(target)
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s links to %s, which is answered %s", at, m[1], res.Status)
				}
				bodies[target] = ""
				if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
					bodies[target] = bodyOf(t, res)
					queue = append(queue, target)
				}
			}
			if fragment != "" && !slices.ContainsFunc(anchorID.FindAllStringSubmatch(bodies[target], -1), func(m []string) bool { return m[1] == fragment }) {
				t.Errorf("%s links to %s, which has no such section", at, m[1])
			}
		}
	}
	for _, file := range pages(t) {
		if _, ok := bodies[pathOf(file)]; !ok {
			t.Errorf("no page links to %s", pathOf(file))
		}
	}
	if links < 2000 {
		t.Errorf("only %d links were followed", links)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	inline := regexp.MustCompile(`\sstyle=|<style|<script(?:>| [^>]*>[^<])|\son\w+=`)
	for at, f := range s.files {
		res := s.get(at)
		h := res.Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("ETag") == "" || h.Get("Content-Type") == "" {
			t.Errorf("%s: %v", at, h)
		}
		want := policy("https://x.example.com/docs/")
		if slices.Contains([]string{"/docs/interface-a", "/docs/interface-b", "/docs/webhooks-reference"}, at) {
			want = reference.Policy("https://x.example.com/docs/")
		}
		if strings.HasPrefix(at, "/docs/pictures/") {
			want = picturePolicy
		}
		if got := h.Get("Content-Security-Policy"); got != want || strings.Contains(got, "unsafe-eval") {
			t.Errorf("%s: Content-Security-Policy %q", at, got)
		}
		if strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			body := bodyOf(t, res)
			if found := inline.FindString(body); found != "" { // invariant 3
				t.Errorf("%s has %q inline", at, found)
			}
			if n := strings.Count(body, "<h1"); n != 1 && !strings.Contains(body, `id="reference"`) {
				t.Errorf("%s has %d headings of level 1", at, n)
			}
			if size := f.Len(); size > 60_000 {
				t.Errorf("%s is %d bytes compressed", at, size)
			}
		}
		if again := s.get(at, "If-None-Match", h.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its ETag: %s", at, again.Status)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	t.Run("answers an unknown page with 404 and a list of pages", func(t *testing.T) {
		t.Parallel()
		res := s.get("/docs/none")
		if body := bodyOf(t, res); res.StatusCode != http.StatusNotFound || !strings.Contains(body, "Page not found") ||
			!strings.Contains(body, `href="/docs/webhooks"`) || !strings.Contains(body, `role="search"`) || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %v", res.Status, res.Header)
		}
	})
	t.Run("redirects the path of a Markdown file to its page", func(t *testing.T) {
		t.Parallel()
		for at, want := range map[string]string{
			"/docs/INTERFACE_A.md": "/docs/interface-a-guide", "/docs/README.md": "/docs", "/docs/": "/docs", "/docs/webhooks/": "/docs/webhooks",
			"/docs/adr/README.md": "/docs/adr", "/docs/runbooks/HoldsOverdue.md": "/docs/runbooks/HoldsOverdue", "/docs/interface-a/": "/docs/interface-a",
		} {
			if res := s.get(at); res.StatusCode != http.StatusPermanentRedirect || res.Header.Get("Location") != want {
				t.Errorf("%s: %s to %s, want %s", at, res.Status, res.Header.Get("Location"), want)
			}
		}
	})
	t.Run("refuses methods that write", func(t *testing.T) {
		t.Parallel()
		if res := s.do(http.MethodPost, "/docs"); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s, Allow %q", res.Status, res.Header.Get("Allow"))
		}
		if res := s.do(http.MethodHead, "/docs"); res.StatusCode != http.StatusOK || bodyOf(t, res) != "" {
			t.Errorf("HEAD: %s", res.Status)
		}
	})
	t.Run("compresses responses for clients that accept gzip", func(t *testing.T) {
		t.Parallel()
		res := s.get("/docs/webhooks", "Accept-Encoding", "gzip, br")
		unzipped, err := gzip.NewReader(res.Body)
		if err != nil || res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%v %v", err, res.Header)
		}
		if body, err := io.ReadAll(unzipped); err != nil || string(body) != bodyOf(t, s.get("/docs/webhooks")) {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	})
	t.Run("a reference shows the description and the interface's own address", func(t *testing.T) {
		t.Parallel()
		for at, want := range map[string]string{
			"/docs/interface-a": "https://a.example.com", "/docs/interface-b": "https://b.example.com/api/v1", "/docs/webhooks-reference": "webhooks-reference/openapi.yaml",
		} {
			if body := bodyOf(t, s.get(at)); !strings.Contains(body, want) {
				t.Errorf("%s does not have %s", at, want)
			}
			if body := bodyOf(t, s.get(at+"/openapi.yaml")); !strings.HasPrefix(body, "openapi: 3.1.0\n") {
				t.Errorf("%s/openapi.yaml begins %.40q", at, body)
			}
			if !reflect.DeepEqual(decodedYAML(t, bodyOf(t, s.get(at+"/openapi.yaml"))), decodedJSON(t, bodyOf(t, s.get(at+"/openapi.json")))) {
				t.Errorf("%s: openapi.json has another content than openapi.yaml", at)
			}
		}
	})
}

// decodedYAML returns a description in the types of encoding/json.
func decodedYAML(t *testing.T, text string) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decodedJSON(t, string(plain))
}

func decodedJSON(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSearchIndex(t *testing.T) { // invariant 1
	t.Parallel()
	s := newSite(t)
	var sections []section
	if err := json.Unmarshal([]byte(bodyOf(t, s.get("/docs/search.json"))), &sections); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for i, entry := range sections {
		at, _, _ := strings.Cut(entry.URL, "#")
		found[at] = true
		if entry.ID != i || entry.Page == "" || s.files[at] == nil {
			t.Errorf("section %d: %+v", i, entry)
		}
	}
	for _, file := range pages(t) {
		if !found[pathOf(file)] {
			t.Errorf("%s cannot be found", file)
		}
	}
	for _, want := range []string{
		"/docs/interface-b#tag/registrations/POST/events/{id}/registrations", "/docs/webhooks-reference#tag/purchases/webhook/POST/pass.purchased",
	} {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.URL == want && s.Section != "" }) {
			t.Errorf("the index does not have %s", want)
		}
	}
	if !slices.ContainsFunc(sections, func(s section) bool { return strings.Contains(s.Text, "Idempotency-Key") && s.Section != "" }) {
		t.Error("no section has Idempotency-Key")
	}
}

// TestColoursAreThoseOfTheDashboard compares the style sheets.
func TestColoursAreThoseOfTheDashboard(t *testing.T) {
	t.Parallel()
	dashboard, err := os.ReadFile("../../services/admin/assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, _ := strings.Cut(string(dashboard), "prefers-color-scheme: dark")
	dark, _, _ := strings.Cut(rest, "box-sizing")
	own, err := own.ReadFile("assets/site.css")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w+), (#\w+)\)`).FindAllStringSubmatch(string(own), -1) {
		value := regexp.MustCompile(`--` + m[1] + `: (#\w+);`)
		a, b := value.FindStringSubmatch(light), value.FindStringSubmatch(dark)
		if a == nil || b == nil {
			continue // a colour of code
		}
		compared++
		if a[1] != m[2] || b[1] != m[3] {
			t.Errorf("--%s is %s and %s, in the dashboard %s and %s", m[1], m[2], m[3], a[1], b[1])
		}
	}
	if compared < 10 {
		t.Errorf("only %d colours were compared", compared)
	}
}
