package edge

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/token"
)

// anybody accepts every token.
type anybody struct{}

func (anybody) Verify(context.Context, string) (*token.Claims, error) {
	return &token.Claims{Subject: "key_x", Kind: token.KindKey, Scopes: []string{"things:read"}}, nil
}

// thing is a resource with a version.
type thing int64

func (v thing) GetVersion() int64 { return int64(v) }

// serveThing serves one route with h. The request needs no header, because do adds a token.
func serveThing(t testing.TB, route Route, h http.HandlerFunc) *Edge {
	t.Helper()
	route.Path = "/thing"
	if route.Scope == "" {
		route.Scope = "things:read"
	}
	e, err := New(Interface{
		Name: "test", Kind: token.KindKey, Routes: []Route{route},
		AppendFault: func(b []byte, f *fault.Error) []byte { return append(b, `{"error":"`+f.Reason+`"}`...) },
	}, Options{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Verifier: anybody{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Handle(route.Method, "/thing", func(w http.ResponseWriter, r *http.Request, _ map[string]string) { h(w, r) }); err != nil {
		t.Fatal(err)
	}
	return e
}

// do sends a request with headers, given as names and values.
func do(e *Edge, method string, headers ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/thing", strings.NewReader(""))
	r.Header.Set("Authorization", "Bearer x")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	e.Handler().ServeHTTP(w, r)
	return w
}

// writing returns a handler that writes a body in pieces of a size; 0: at once.
func writing(body string, piece int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Tag(r.Context(), thing(7))
		w.Header().Set("Content-Type", contentType)
		rest := body
		for piece > 0 && len(rest) > piece {
			_, _ = io.WriteString(w, rest[:piece])
			rest = rest[piece:]
		}
		_, _ = io.WriteString(w, rest)
	}
}

// decoded returns the decoded body of a response.
func decoded(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var r io.Reader = w.Body
	switch coding := w.Header().Get("Content-Encoding"); coding {
	case "gzip":
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestCompression(t *testing.T) {
	t.Parallel()
	short, long, huge := strings.Repeat("a", leastCompressed-1), strings.Repeat("ab", leastCompressed), strings.Repeat("abc", maxHeld)
	for name, tt := range map[string]struct {
		body     string
		piece    int
		accepted string
		coding   string
	}{
		"a short body is not compressed":              {short, 0, "gzip, zstd", ""},
		"a long body is compressed with gzip":         {long, 0, "gzip, deflate, br", "gzip"},
		"a long body is compressed with zstd":         {long, 0, "gzip, zstd", "zstd"},
		"a client that accepts none gets the body":    {long, 0, "br", ""},
		"a body in a few pieces is compressed":        {long, 500, "gzip", "gzip"},
		"a huge body in pieces is compressed":         {huge, 1000, "gzip", "gzip"},
		"a huge body in pieces is compressed by zstd": {huge, 1000, "zstd", "zstd"},
		"a huge body in pieces is sent as it is":      {huge, 1000, "identity", ""},
		"a huge body at once is compressed":           {huge, 0, "gzip", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serveThing(t, Route{Method: http.MethodGet}, writing(tt.body, tt.piece))
			for range 3 { // with compressors that were used before
				w := do(e, http.MethodGet, "Accept-Encoding", tt.accepted)
				if got := w.Header().Get("Content-Encoding"); got != tt.coding || w.Header().Get("Vary") != "Accept-Encoding" || w.Code != 200 {
					t.Fatalf("got %d %v", w.Code, w.Header())
				}
				if got := w.Body.Len(); tt.coding != "" && got > len(tt.body)/2 {
					t.Errorf("%d of %d bytes", got, len(tt.body))
				}
				if decoded(t, w) != tt.body {
					t.Error("another body")
				}
			}
		})
	}
	t.Run("a body with a secret is not compressed, cached or compared", func(t *testing.T) {
		t.Parallel()
		w := do(serveThing(t, Route{Method: http.MethodGet, Secret: true}, writing(long, 0)), http.MethodGet, "Accept-Encoding", "gzip", "If-None-Match", "*")
		if h := w.Header(); w.Code != 200 || w.Body.String() != long || h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-store" || h.Get("ETag") != `"7"` {
			t.Errorf("got %d %v", w.Code, h)
		}
	})
	t.Run("a body that is compressed already stays as it is", func(t *testing.T) {
		t.Parallel()
		e := serveThing(t, Route{Method: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, long)
		})
		if w := do(e, http.MethodGet, "Accept-Encoding", "gzip"); w.Body.String() != long || w.Header().Get("Content-Encoding") != "br" {
			t.Errorf("got %v", w.Header())
		}
	})
	t.Run("a flush sends what is written so far, which can be decompressed", func(t *testing.T) {
		t.Parallel()
		for _, coding := range codings() {
			read, proceed := make(chan struct{}), make(chan struct{})
			e := serveThing(t, Route{Method: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "first")
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				close(read)
				<-proceed
				_, _ = io.WriteString(w, "second")
			})
			srv := httptest.NewServer(e.Handler())
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/thing", nil)
			req.Header = http.Header{"Authorization": {"Bearer x"}, "Accept-Encoding": {coding}}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			<-read
			var body io.Reader
			if coding == codingGzip {
				body, err = gzip.NewReader(res.Body)
			} else {
				body, err = zstd.NewReader(res.Body)
			}
			first := make([]byte, len("first"))
			if err == nil {
				_, err = io.ReadFull(body, first)
			}
			close(proceed)
			rest, restErr := io.ReadAll(body)
			if err != nil || restErr != nil || string(first)+string(rest) != "firstsecond" {
				t.Errorf("%s: got %s and %s, %v, %v", coding, first, rest, err, restErr)
			}
			_ = res.Body.Close()
			srv.Close()
		}
	})
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab", leastCompressed)
	tagOf := func(t *testing.T, body, accepted string) string {
		t.Helper()
		w := do(serveThing(t, Route{Method: http.MethodGet}, writing(body, 0)), http.MethodGet, "Accept-Encoding", accepted)
		if h := w.Header(); h.Get("Cache-Control") != "private, no-cache" || !strings.HasPrefix(h.Get("ETag"), `"7-`) {
			t.Fatalf("got %v", h)
		}
		return w.Header().Get("ETag")
	}
	t.Run("the ETag differs for each body and coding", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for _, body := range []string{long, long + "c"} {
			for _, accepted := range []string{"", "gzip", "zstd"} {
				seen[tagOf(t, body, accepted)] = true
			}
		}
		if len(seen) != 6 {
			t.Errorf("got %v", seen)
		}
	})
	for name, tt := range map[string]struct {
		route  Route
		status int // of the handler; 0: 200
		tag    func(t *testing.T) string
		piece  int
		want   int
	}{
		"the same body is 304":                            {tag: func(t *testing.T) string { return tagOf(t, long, "gzip") }, want: 304},
		"the same body in another coding is 304":          {tag: func(t *testing.T) string { return tagOf(t, long, "zstd") }, want: 304},
		"the same body written in pieces is 304":          {tag: func(t *testing.T) string { return tagOf(t, long, "gzip") }, piece: 100, want: 304},
		"a weak tag matches":                              {tag: func(t *testing.T) string { return "W/" + tagOf(t, long, "") }, want: 304},
		"one of several tags matches":                     {tag: func(t *testing.T) string { return `"x", ` + tagOf(t, long, "") }, want: 304},
		"any body matches *":                              {tag: func(*testing.T) string { return "*" }, want: 304},
		"another body is sent":                            {tag: func(t *testing.T) string { return tagOf(t, long+"c", "gzip") }, want: 200},
		"the tag of an earlier release gets the body":     {tag: func(*testing.T) string { return `"7"` }, want: 200},
		"a response that is not 200 is sent":              {status: 500, tag: func(*testing.T) string { return "*" }, want: 500},
		"a write is not compared":                         {route: Route{Method: http.MethodPost}, tag: func(*testing.T) string { return "*" }, want: 200},
		"a body that is sent before it is complete stays": {tag: func(*testing.T) string { return "*" }, piece: -1, want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.route.Method == "" {
				tt.route.Method = http.MethodGet
			}
			body := long
			if tt.piece < 0 {
				body, tt.piece = strings.Repeat(long, maxHeld/len(long)+1), 1000
			}
			e := serveThing(t, tt.route, func(w http.ResponseWriter, r *http.Request) {
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				writing(body, tt.piece)(w, r)
			})
			w := do(e, tt.route.Method, "Accept-Encoding", "gzip", "If-None-Match", tt.tag(t))
			if w.Code != tt.want {
				t.Fatalf("got %d %v", w.Code, w.Header())
			}
			if h := w.Header(); tt.want == 304 && (w.Body.Len() != 0 || h.Get("ETag") == "" || h.Get("Content-Length") != "" || h.Get("Content-Type") != "" ||
				h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "private, no-cache" || h.Get("Vary") != "Accept-Encoding") {
				t.Errorf("got %q %v", w.Body, h)
			}
		})
	}
}

func TestPanicsOfHandlers(t *testing.T) {
	t.Parallel()
	t.Run("a panic before the response is sent is a complete 500", func(t *testing.T) {
		t.Parallel()
		e := serveThing(t, Route{Method: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"half":`)
			panic("broken")
		})
		if w := do(e, http.MethodGet); w.Code != 500 || w.Body.String() != `{"error":"INTERNAL_ERROR"}` || w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("got %d %s %v", w.Code, w.Body, w.Header())
		}
	})
	t.Run("a panic in the middle of a compressed response cuts it", func(t *testing.T) {
		t.Parallel()
		var once bool
		e := serveThing(t, Route{Method: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("a"), maxHeld+1))
			if !once {
				once = true
				panic("broken")
			}
		})
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("got the panic %v", err)
				}
			}()
			do(e, http.MethodGet, "Accept-Encoding", "gzip")
		}()
		if got := decoded(t, do(e, http.MethodGet, "Accept-Encoding", "gzip")); len(got) != maxHeld+1 {
			t.Errorf("the next response has %d bytes", len(got))
		}
	})
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for media, code := range map[string]int{
		"": 200, "application/json": 200, "application/json; charset=UTF-8": 200, "Application/JSON": 200, "application/x-www-form-urlencoded": 200,
		"text/plain": 415, "application/json; charset=latin1": 415, "application/jsonp": 415, "multipart/form-data": 415, "/": 415,
	} {
		e := serveThing(t, Route{Method: http.MethodPost}, func(http.ResponseWriter, *http.Request) {})
		if w := do(e, http.MethodPost, "Content-Type", media); w.Code != code {
			t.Errorf("%q: got %d", media, w.Code)
		}
	}
	forms := Route{Method: http.MethodPost, Media: []string{contentType, formType}}
	if got := mediaOf(http.Header{"Content-Type": {formType}}, forms.media()); got != formType {
		t.Errorf("where forms are accepted, a form is %s", got)
	}
}
