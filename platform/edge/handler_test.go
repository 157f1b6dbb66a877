package edge

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
)

// serveOnce serves GET /thing with h until the test ends.
func serveOnce(t *testing.T, h http.HandlerFunc) (url string, log *lockedBuffer) {
	t.Helper()
	log = &lockedBuffer{}
	e, err := New(Interface{
		Name: "test", Routes: []Route{{Method: http.MethodGet, Path: "/thing"}},
		AppendFault: func(b []byte, f *fault.Error) []byte {
			return append(append(b, f.Reason...), "\n"...)
		},
	}, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Handle(http.MethodGet, "/thing", func(w http.ResponseWriter, r *http.Request, _ map[string]string) { h(w, r) })
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(e.Handler())
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL + "/thing", log
}

// lockedBuffer collects the log lines of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestPanics(t *testing.T) {
	t.Parallel()
	t.Run("a panic before the response starts is an internal error, and the cause is only logged", func(t *testing.T) {
		url, log := serveOnce(t, func(http.ResponseWriter, *http.Request) { panic("a secret cause") })
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusInternalServerError || string(body) != fault.ReasonInternal+"\n" {
			t.Errorf("got %d %q, %v", res.StatusCode, body, err)
		}
		if !strings.Contains(log.String(), "a secret cause") {
			t.Errorf("the log does not have the cause: %s", log.String())
		}
	})
	t.Run("a panic after the response starts cuts the connection and adds nothing", func(t *testing.T) {
		url, log := serveOnce(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data":[`)
			_ = http.NewResponseController(w).Flush()
			panic("a secret cause")
		})
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil || string(body) != `{"data":[` {
			t.Errorf("got %q, %v, want it cut", body, err)
		}
		if !strings.Contains(log.String(), "a secret cause") {
			t.Errorf("the log does not have the cause: %s", log.String())
		}
	})
}

func TestRequestLine(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	leave()
	tests := map[string]struct {
		ctx   context.Context
		f     *fault.Error
		want  string
		cause bool
	}{
		"logs an internal error as an error, with its cause":                     {t.Context(), fault.From(io.ErrUnexpectedEOF), "level=ERROR", true},
		"logs an internal error as an error even after the client left":          {left, fault.From(io.ErrUnexpectedEOF), "level=ERROR", true},
		"logs an unavailable dependency as a warning":                            {t.Context(), fault.Away(io.ErrUnexpectedEOF), "level=WARN", true},
		"logs an unavailable dependency after the client left without its cause": {left, fault.Away(io.ErrUnexpectedEOF), "level=INFO", false},
		"logs a fault of the caller with its reason only":                        {t.Context(), fault.Missing("customer").Because(io.ErrUnexpectedEOF), "level=INFO", false},
		"logs a success": {t.Context(), nil, "level=INFO", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e := &Edge{opts: Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}}
			r, err := http.NewRequestWithContext(tt.ctx, http.MethodGet, "/customer/cust_1?name=Ann", nil)
			if err != nil {
				t.Fatal(err)
			}
			e.log(r, &exchange{requestID: "r1", failed: tt.f}, "/customer/{id}", &recorder{code: 500}, time.Millisecond, false)
			got := log.String()
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.want) || !strings.Contains(got, "route=/customer/{id}") ||
				!strings.Contains(got, "request_id=r1") || strings.Contains(got, "Ann") || strings.Contains(got, "cust_1") {
				t.Errorf("logged %q, want one line with %s", got, tt.want)
			}
			if strings.Contains(got, "unexpected EOF") != tt.cause {
				t.Errorf("logged %q, want the cause: %v", got, tt.cause)
			}
			if tt.f != nil && !strings.Contains(got, "reason="+tt.f.Reason) {
				t.Errorf("logged %q without the reason", got)
			}
		})
	}
}
