package admin

import (
	"net/http"
	"net/url"
	"testing"
)

// encoded returns the coding and the status with which a page is sent to a browser that accepts gzip.
func (w *world) encoded(path string) (coding string, status int) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	a := w.do(req)
	if a.StatusCode == http.StatusOK && a.Header.Get("Vary") != "Accept-Encoding" {
		w.t.Errorf("%s varies with %q", path, a.Header.Get("Vary"))
	}
	return a.Header.Get("Content-Encoding"), a.StatusCode
}

func TestOnlyPlainAddressesAreCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.atNoon("2026-11-18")
	w.signIn()
	withCrowd(w, 2)
	for _, path := range []string{
		"/", "/?day=2026-03-29", "/week", "/week?from=2026-11-16", datePagePath, datePagePath + "?show=cancelled", datePagePath + "?q=", datePagePath + "?q=&show=cancelled",
	} {
		if coding, status := w.encoded(path); coding != "gzip" || status != http.StatusOK {
			t.Errorf("%s: %d, %q", path, status, coding)
		}
	}
	for _, path := range []string{
		datePagePath + "?q=Smith", datePagePath + "?q=%20", datePagePath + "?page=Smith",
		datePagePath + "?show=Smith", datePagePath + "?show=cancelled&show=Smith", datePagePath + "?q=&q=Smith",
	} {
		if coding, status := w.encoded(path); coding != "" || status != http.StatusOK {
			t.Errorf("%s: %d, %q", path, status, coding)
		}
	}
	for path, want := range map[string]string{
		"/?day=2026-11-16&x=Smith": "/?day=2026-11-16", "/week?from=2026-11-16&x=Smith": "/week?from=2026-11-16", "/?day=Smith": "/?day=2026-11-18",
	} {
		if a := w.get(path); a.to() != want {
			t.Errorf("%s: %s", path, describe(a))
		}
	}
	if coding, status := w.encoded("/events/evt_1/dates/Smith"); coding != "" || status != http.StatusNotFound {
		t.Errorf("a page that does not exist: %d, %q", status, coding)
	}
}

func TestPlainAddressesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"/week": true, "/week?from=2026-11-16": true, "/?day=2026-11-16&q=": true,
		"/%77eek": false, "/week?": false, "/week?&": false, "/week?from=2026-11-16&": false, "/week?%66rom=2026-11-16": false, "/week?from=%32026-11-16": false,
		"/?q=&day=2026-11-16": false, "/?day=2026-11-16&day=2026-11-16": false, "/?day=+2026-11-16": false, "/?q": false, "/?q=;x": false, "/?x=": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := isPlain(u); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
