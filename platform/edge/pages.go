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
	if below, found := strings.CutPrefix(path, e.api.Base); found && (isDescription(below) || below == "/docs" || below == "/docs/") {
		return below, true
	}
	return path, isDescription(path) || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

func isDescription(path string) bool { return path == "/openapi.yaml" || path == "/openapi.json" }

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
	if isDescription(r.URL.Path) { // tools in browsers read it, and it contains nothing of a company
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}
	page.ServeHTTP(w, r)
}

// newPages returns the interface's description, at /openapi.yaml and /openapi.json, and the reference
// that shows it and sends requests, at /docs, with the files that the reference loads.
func newPages(api Interface) (map[string]*static.File, error) {
	r, err := reference.New("/docs/")
	if err != nil {
		return nil, err
	}
	pages := r.Files
	description, err := reference.JSON(api.OpenAPI)
	if err != nil {
		return nil, err
	}
	pages["/openapi.yaml"] = static.New("application/yaml", static.Revalidate, api.OpenAPI)
	pages["/openapi.json"] = static.New(contentType, static.Revalidate, description)
	pages["/docs"] = r.Page(reference.Options{Title: api.Title, URL: "/openapi.yaml", TryIt: true})
	pages["/docs/"] = pages["/docs"]
	return pages, nil
}
