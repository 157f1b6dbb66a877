package edge

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/fault"
)

func TestDeprecation(t *testing.T) {
	t.Parallel()
	since, until := time.Unix(1798761600, 0), time.Date(2027, 12, 31, 2, 0, 0, 0, time.FixedZone("", 2*60*60))
	e, err := New(Interface{
		Name: "test",
		Routes: []Route{
			{Method: http.MethodGet, Path: "/current"},
			{Method: http.MethodGet, Path: "/old", Deprecated: since, Sunset: until},
			{Method: http.MethodGet, Path: "/older", Deprecated: since, Scope: "things:read"},
		},
		AppendFault: func(b []byte, f *fault.Error) []byte { return append(b, f.Reason...) },
	}, Options{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/current", "/old", "/older"} {
		if err := e.Handle(http.MethodGet, path, func(http.ResponseWriter, *http.Request, map[string]string) {}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct {
		path                string
		code                int
		deprecation, sunset string
	}{
		"a current operation has neither header":           {"/current", 200, "", ""},
		"a deprecated operation says since and until when": {"/old", 200, "@1798761600", "Fri, 31 Dec 2027 00:00:00 GMT"},
		"an error of a deprecated operation says it too":   {"/older", 401, "@1798761600", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := httptest.NewRecorder()
			e.Handler().ServeHTTP(res, httptest.NewRequest(http.MethodGet, want.path, nil))
			h := res.Header()
			if res.Code != want.code || h.Get("Deprecation") != want.deprecation || h.Get("Sunset") != want.sunset {
				t.Errorf("got %d, %v, want %+v", res.Code, h, want)
			}
		})
	}
}
