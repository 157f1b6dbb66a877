package edge

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := newPages(Interface{Title: "Interface X", OpenAPI: []byte("openapi: 3.1.0\n")})
	if err != nil {
		t.Fatal(err)
	}
	e := &Edge{pages: pages}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.servePage(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	t.Run("are the description, its reference and the files that it loads", func(t *testing.T) {
		t.Parallel()
		page := get("/docs").Body.String()
		if !strings.Contains(page, "<title>Interface X</title>") || page != get("/docs/").Body.String() {
			t.Error(page)
		}
		loaded := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(page, -1)
		if len(loaded) < 3 {
			t.Errorf("the page loads %v", loaded)
		}
		for _, m := range loaded {
			if w := get(m[1]); w.Code != http.StatusOK || w.Body.Len() == 0 {
				t.Errorf("%s: %d, %d bytes", m[1], w.Code, w.Body.Len())
			}
		}
		if w := get("/openapi.yaml"); w.Body.String() != "openapi: 3.1.0\n" || w.Header().Get("Content-Type") != "application/yaml" {
			t.Errorf("%s %v", w.Body, w.Header())
		}
		if w := get("/openapi.json"); w.Body.String() != `{"openapi":"3.1.0"}`+"\n" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", w.Body, w.Header())
		}
	})
	t.Run("let the pages of any origin read the description, and nothing else", func(t *testing.T) {
		t.Parallel()
		for path, want := range map[string]string{"/openapi.yaml": "*", "/openapi.json": "*", "/docs": ""} {
			if got := get(path).Header().Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("%s: got %q", path, got)
			}
		}
	})
	t.Run("allow no scripts of other servers or from text, and no frames", func(t *testing.T) {
		t.Parallel()
		h := get("/docs").Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "connect-src 'self'") || strings.Contains(policy, "unsafe-eval") ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("ETag") == "" {
			t.Errorf("%v", h)
		}
	})
}
