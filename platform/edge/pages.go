package edge

import (
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5emb"
)

// isPage reports whether a request is for the interface's description and not
// for one of its operations.
func isPage(r *http.Request) bool {
	return r.URL.Path == "/openapi.yaml" || r.URL.Path == "/docs" || strings.HasPrefix(r.URL.Path, "/docs/")
}

// servePage answers with one of pages; what is none gets the interface's errors.
func (e *Edge) servePage(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		e.failMethod(w, r, http.MethodGet, http.MethodHead)
		return
	}
	page := &pageWriter{ResponseWriter: w}
	pages.ServeHTTP(page, r)
	if page.none {
		w.Header().Del("Content-Length")
		w.Header().Set("Cache-Control", "no-store")
		e.failPath(w, r)
	}
}

// pageWriter lets a page through, and keeps back errors and redirects.
type pageWriter struct {
	http.ResponseWriter
	none bool
}

func (p *pageWriter) WriteHeader(code int) {
	if p.none = p.none || code >= 300 && code != http.StatusNotModified; p.none {
		return
	}
	p.ResponseWriter.WriteHeader(code)
}

func (p *pageWriter) Write(b []byte) (int, error) {
	if p.none {
		return len(b), nil
	}
	return p.ResponseWriter.Write(b)
}

// Pages serves the interface's description: /openapi.yaml, and /docs as a page
// to read and to try it out on.
func Pages(title string, openapi []byte) http.Handler {
	ui := v5emb.New(title, "/openapi.yaml", "/docs/")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(openapi)
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
