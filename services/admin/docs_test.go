package admin

import (
	"net/http"
	"strings"
	"testing"
)

func TestDocumentation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("needs no sign-in and calls no service", func(t *testing.T) {
		a := w.get("/docs")
		if a.StatusCode != http.StatusOK || !strings.Contains(a.body, "<h1") || a.Header.Get("ETag") == "" || a.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s %v", a.Status, a.Header)
		}
		if a := w.get("/docs/interface-b"); !strings.Contains(a.body, w.web.cfg.InterfaceB) {
			t.Error("the reference of Interface B does not have its address")
		}
		if policy := w.get("/docs/interface-b").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src "+w.web.cfg.URL+"/docs/;") {
			t.Errorf("scripts can make requests to pages of the dashboard: %s", policy)
		}
		if a := w.get("/docs/none"); a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "All pages") {
			t.Errorf("%s\n%s", a.Status, a.body)
		}
		if len(w.backend.calls) != 0 {
			t.Errorf("%d calls", len(w.backend.calls))
		}
	})
	t.Run("is linked from the page for signing in and from the menus", func(t *testing.T) {
		const link = `<a href="/docs"`
		if n := strings.Count(w.page("/sign-in"), link); n != 1 {
			t.Errorf("%d links on the page for signing in", n)
		}
		w.signIn()
		if n := strings.Count(w.get("/none").body, link); n != 2 {
			t.Errorf("%d links on a page, want one in each menu", n)
		}
	})
}
