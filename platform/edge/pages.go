package edge

import (
	"net/http"
	"strings"

	"reservation.dev/platform/reference"
	"reservation.dev/platform/static"
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

// servePage answers with a page, or with the interface's error if there is none at the path.
func (e *Edge) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		e.failMethod(w, r, http.MethodGet, http.MethodHead)
		return
	}
	page := e.pages[r.URL.Path]
	if page == nil {
		w.Header().Set("Cache-Control", "no-store")
		e.failPath(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", reference.Policy("'self'"))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Frame-Options", "DENY")
	page.ServeHTTP(w, r)
}

// newPages returns the interface's description, at /openapi.yaml, and the reference that
// shows it and sends requests, at /docs, with the files that the reference loads.
func newPages(api Interface) (map[string]*static.File, error) {
	r, err := reference.New("/docs/")
	if err != nil {
		return nil, err
	}
	pages := r.Files
	pages["/openapi.yaml"] = static.New("application/yaml", static.Revalidate, api.OpenAPI)
	pages["/docs"] = r.Page(reference.Options{Title: api.Title, URL: "/openapi.yaml", TryIt: true})
	pages["/docs/"] = pages["/docs"]
	return pages, nil
}
