// Package edge is what the two public gateways share: routes with their
// scopes, tokens, request ids, body and query limits, JSON in the shape of a
// public interface, and faults as HTTP answers. It knows neither interface.
//
// A request goes through, in this order:
//
//	request id → route (404, 405) → token (401) → scope (403) → query (400)
//	→ media type (415) → size (413) → JSON (400) → the gateway's facade
package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/static"
	"reservation.dev/platform/token"
)

// Route is one operation of an interface.
type Route struct {
	Method string
	// Path is the pattern, as in http.yaml: "/customer/{id}/profile".
	Path string
	// Scope is what the token must have; "" makes the route public.
	Scope string
	// Query names the query parameters; others are ignored.
	Query []string
	// Media are the media types that the body may have; empty: JSON.
	Media []string
	// Bodiless says that a request without a body needs no Content-Type: it is read as
	// an empty body of the first media type.
	Bodiless bool
	// Fail answers what the edge itself refuses; nil: Edge.Fail.
	Fail func(e *Edge, w http.ResponseWriter, r *http.Request, f *fault.Error)
}

func (r *Route) hasBody() bool {
	return r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
}

// Interface describes a public interface.
type Interface struct {
	// Name is the interface's name in metrics.
	Name string
	// Title is the name that people read, and OpenAPI the description.
	Title   string
	OpenAPI []byte
	// Base is the path below which all routes are: "/api/v1"; "" for none. The
	// description is served at the root and there.
	Base   string
	Routes []Route
	// Kind is whose tokens are accepted: token.KindClient or token.KindKey.
	Kind string
	// Service is the facade's. The texts of its requests bound the query parameters
	// of the same names.
	Service protoreflect.ServiceDescriptor
	// AppendFault writes the interface's error body.
	AppendFault func(b []byte, f *fault.Error) []byte
}

// Options are what an edge needs of its process.
type Options struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Verifier interface {
		Verify(ctx context.Context, raw string) (*token.Claims, error)
	}
	// Limiter counts the requests of credentials.
	Limiter Limiter
	// RateLimit is the limit of a credential that has none of its own, in requests in
	// any 60 seconds; 0: such a credential is not counted.
	RateLimit int
	Proxies   Proxies
}

// Edge is the HTTP face of one interface.
type Edge struct {
	api    Interface
	opts   Options
	mux    *runtime.ServeMux
	routes map[string]*Route // "METHOD pattern"
	query  map[string]bounds.Bound
	timing *prometheus.HistogramVec
	pages  map[string]*static.File // by path
}

// New returns an edge without operations: the facade is registered on Mux, and
// handlers of the gateway's own with Handle. Every operation needs a route.
func New(api Interface, o Options) (*Edge, error) {
	e := &Edge{api: api, opts: o, routes: map[string]*Route{}, query: queryBounds(api.Service)}
	for i := range api.Routes {
		r := &api.Routes[i]
		e.routes[r.Method+" "+r.Path] = r
	}
	var err error
	if e.pages, err = newPages(api); err != nil {
		return nil, err
	}
	e.timing = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_server_duration_seconds", Help: "Time from a request's first to its answer's last byte.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"edge", "method", "route", "code"})
	if err := o.Metrics.Register(e.timing); err != nil {
		return nil, err
	}
	none := func(string) (string, bool) { return "", false }
	e.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		// No header becomes metadata: a client must not speak to the services.
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
		runtime.WithWriteContentLength(),
		runtime.WithMiddlewares(e.admit),
		runtime.WithErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
			e.Fail(w, r, faultOf(exchangeOf(ctx), err))
		}),
		runtime.WithRoutingErrorHandler(e.routingFailed),
	)
	return e, nil
}

// Mux is where the generated handlers of the facade are registered.
func (e *Edge) Mux() *runtime.ServeMux { return e.mux }

// Handle registers a handler of the gateway's own for one of the routes.
func (e *Edge) Handle(method, path string, h runtime.HandlerFunc) error {
	if e.routes[method+" "+path] == nil {
		return fmt.Errorf("no route %s %s", method, path)
	}
	return e.mux.HandlePath(method, path, h)
}

// Fail answers with a fault.
func (e *Edge) Fail(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	e.FailAs(w, r, f, e.api.AppendFault)
}

// FailAs answers with a fault in another shape than the interface's own.
func (e *Edge) FailAs(w http.ResponseWriter, r *http.Request, f *fault.Error, appendFault func([]byte, *fault.Error) []byte) {
	if s := exchangeOf(r.Context()); s != nil {
		s.failed = f
	}
	setFaultHeaders(w.Header(), f)
	w.WriteHeader(StatusOf(f))
	_, _ = w.Write(appendFault(nil, f))
}

// Write answers with a message.
func (e *Edge) Write(w http.ResponseWriter, code int, m proto.Message) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(AppendJSON(nil, m))
}

// routingFailed answers what no route fits.
func (e *Edge) routingFailed(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	allowed := e.allowed(r.URL.EscapedPath())
	if code == http.StatusBadRequest || len(allowed) == 0 {
		e.failPath(w, r)
		return
	}
	e.failMethod(w, r, allowed...)
}

// failPath answers that there is nothing at the path.
func (e *Edge) failPath(w http.ResponseWriter, r *http.Request) {
	e.Fail(w, r, fault.New(fault.NotFound, fault.ReasonNotFound, "there is nothing at this path"))
}

// failMethod answers that the path takes only other methods.
func (e *Edge) failMethod(w http.ResponseWriter, r *http.Request, allowed ...string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	e.Fail(w, r, fault.New(fault.Invalid, fault.ReasonMethodNotAllowed,
		"this path does not take "+r.Method+", it takes "+strings.Join(allowed, ", ")))
}

// allowed returns the methods that some route has for path, as it was sent:
// routes are found by their plain spelling.
func (e *Edge) allowed(path string) []string {
	var methods []string
	got := strings.Split(path, "/")
	for i := range e.api.Routes {
		want := strings.Split(e.api.Routes[i].Path, "/")
		if len(want) != len(got) {
			continue
		}
		fits := true
		for j := range want {
			if want[j] != got[j] && !strings.HasPrefix(want[j], "{") {
				fits = false
				break
			}
		}
		if fits {
			methods = append(methods, e.api.Routes[i].Method)
		}
	}
	return methods
}
