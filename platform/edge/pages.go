package edge

import (
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5emb"
)

// pagePath returns the path of the page that a request is for. ok is false if the request is for an
// operation instead.
func (e *Edge) pagePath(r *http.Request) (path string, ok bool) {
	path = r.URL.Path
	if below, found := strings.CutPrefix(path, e.api.Base); found && (below == "/openapi.yaml" || below == "/docs" || below == "/docs/") {
		return below, true
	}
	return path, path == "/openapi.yaml" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// servePage serves one of the pages, or responds with the interface's error if there is none.
func (e *Edge) servePage(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		e.failMethod(w, r, http.MethodGet, http.MethodHead)
		return
	}
	page := &pageWriter{ResponseWriter: w}
	pages.ServeHTTP(page, r)
	if page.discarded {
		w.Header().Del("Content-Length")
		w.Header().Set("Cache-Control", "no-store")
		e.failPath(w, r)
	}
}

// pageWriter passes on a page, and discards errors and redirects.
type pageWriter struct {
	http.ResponseWriter
	discarded bool
}

func (p *pageWriter) WriteHeader(code int) {
	if p.discarded = p.discarded || code >= 300 && code != http.StatusNotModified; p.discarded {
		return
	}
	p.ResponseWriter.WriteHeader(code)
}

func (p *pageWriter) Write(b []byte) (int, error) {
	if p.discarded {
		return len(b), nil
	}
	return p.ResponseWriter.Write(b)
}

// pages serves the interface's OpenAPI description: as a file at /openapi.yaml, and as a page to
// read and try out at /docs.
func (e *Edge) pages() http.Handler {
	ui := v5emb.New(e.api.Title, "/openapi.yaml", "/docs/")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(e.api.OpenAPI)
	})
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Frame-Options", "DENY")
		ui.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/docs/"
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Frame-Options", "DENY")
		ui.ServeHTTP(w, r)
	})
	return mux
}
