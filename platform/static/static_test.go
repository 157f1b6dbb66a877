package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(f *File, method string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result()
}

func TestFile(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("A page. ", 100)
	page := New("text/html; charset=utf-8", Revalidate, []byte(text))
	t.Run("is compressed only for clients that accept gzip", func(t *testing.T) {
		t.Parallel()
		for accept, want := range map[string]string{
			"": "", "gzip": "gzip", "br, gzip;q=0.5": "gzip", "GZIP": "gzip", "gzip;q=0": "", "gzip; q=0.0": "", "br": "",
		} {
			res := serve(page, http.MethodGet, "Accept-Encoding", accept)
			body := io.Reader(res.Body)
			if got := res.Header.Get("Content-Encoding"); got != want {
				t.Errorf("Accept-Encoding %q: got Content-Encoding %q, want %q", accept, got, want)
			} else if got == "gzip" {
				body, _ = gzip.NewReader(res.Body)
			}
			if got, err := io.ReadAll(body); err != nil || string(got) != text || res.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("Accept-Encoding %q: %d bytes, %v, %v", accept, len(got), err, res.Header)
			}
		}
	})
	t.Run("returns 304 for its ETag", func(t *testing.T) {
		t.Parallel()
		plain, zipped := serve(page, http.MethodGet).Header.Get("ETag"), serve(page, http.MethodGet, "Accept-Encoding", "gzip").Header.Get("ETag")
		if plain == zipped || strings.HasPrefix(plain, "W/") || plain == "" {
			t.Errorf("ETags %s and %s", plain, zipped)
		}
		for match, want := range map[string]int{plain: 304, `"x", ` + plain: 304, "W/" + plain: 304, "*": 304, zipped: 200, `"x"`: 200} {
			res := serve(page, http.MethodGet, "If-None-Match", match)
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != want || (want == 304) != (len(body) == 0) || res.Header.Get("ETag") != plain {
				t.Errorf("If-None-Match %s: %s, %d bytes, ETag %s", match, res.Status, len(body), res.Header.Get("ETag"))
			}
		}
	})
	t.Run("has no body for HEAD", func(t *testing.T) {
		t.Parallel()
		res := serve(page, http.MethodHead)
		if body, _ := io.ReadAll(res.Body); len(body) != 0 || res.ContentLength != int64(len(text)) {
			t.Errorf("%d bytes, Content-Length %d", len(body), res.ContentLength)
		}
	})
	t.Run("stored only compressed is decompressed for other clients", func(t *testing.T) {
		t.Parallel()
		f := NewCompressed("text/javascript", Forever, compress([]byte(text)))
		if body, _ := io.ReadAll(serve(f, http.MethodGet).Body); string(body) != text {
			t.Errorf("got %q", body)
		}
		if body, _ := io.ReadAll(serve(f, http.MethodGet, "Accept-Encoding", "gzip").Body); !bytes.Equal(body, compress([]byte(text))) {
			t.Errorf("got %d bytes", len(body))
		}
	})
	t.Run("with another status has no ETag", func(t *testing.T) {
		t.Parallel()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("If-None-Match", "*")
		w := httptest.NewRecorder()
		page.Serve(w, r, http.StatusNotFound)
		if w.Code != http.StatusNotFound || w.Header().Get("ETag") != "" || w.Body.String() != text {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
	t.Run("has a path that changes with its content", func(t *testing.T) {
		t.Parallel()
		other := New("text/html", Forever, []byte("x"))
		if a, b := page.Path("/docs/", "a.js"), other.Path("/docs/", "a.js"); a == b || !strings.HasPrefix(a, "/docs/a.") || !strings.HasSuffix(a, ".js") {
			t.Errorf("%s, %s", a, b)
		}
	})
}
