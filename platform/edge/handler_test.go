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

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
)

// serveOnce answers GET /thing with h until the test ends.
func serveOnce(t *testing.T, h http.HandlerFunc) (url string, log *lockedBuffer) {
	t.Helper()
	log = &lockedBuffer{}
	e, err := New(Options{
		Name: "test", Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: prometheus.NewRegistry(),
		Routes: []Route{{Method: http.MethodGet, Path: "/thing"}},
		AppendFault: func(b []byte, f *fault.Error) []byte {
			return append(append(b, f.Reason...), "\n"...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Handle(http.MethodGet, "/thing", func(w http.ResponseWriter, r *http.Request, _ map[string]string) { h(w, r) })
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(e.Handler(nil))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL + "/thing", log
}

// lockedBuffer collects log lines of several goroutines.
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
	t.Run("before an answer has begun it is an internal error, whose cause is only logged", func(t *testing.T) {
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
	t.Run("after it has begun the connection is cut, and nothing is added to it", func(t *testing.T) {
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

func TestReport(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	tests := map[string]struct {
		ctx  context.Context
		f    *fault.Error
		want string
	}{
		"an internal error is an error":                      {t.Context(), fault.From(io.ErrUnexpectedEOF), "level=ERROR"},
		"an internal error is one after the client left too": {left, fault.From(io.ErrUnexpectedEOF), "level=ERROR"},
		"a dependency that is away is a warning":             {t.Context(), fault.Away(io.EOF), "level=WARN"},
		"a client that leaves is nothing to wake up for":     {left, fault.Away(context.Canceled), "level=DEBUG"},
		"a fault of the caller is not logged":                {t.Context(), fault.Missing("customer"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e := &Edge{opts: Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}}
			e.report(tt.ctx, tt.f)
			if (tt.want == "") != (log.Len() == 0) || !strings.Contains(log.String(), tt.want) {
				t.Errorf("logged %q, want %s", log.String(), tt.want)
			}
		})
	}
}
