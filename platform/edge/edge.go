// Package edge is the HTTP side that both public gateways share: routes with their scopes, tokens,
// request ids, limits on bodies and queries, the JSON of a public interface, and faults as HTTP
// responses. It does not depend on either interface.
//
// A request passes through these steps:
//
//	request id → route (404, 405) → token (401) → network (403) → rate limit (429) → scope (403)
//	→ query (400) → media type (415) → size (413) → JSON (400) → the gateway's facade → ETag (304)
//	→ compression
//
// With a publishable key (publishable.go), the token is the one for which the edge exchanged the key,
// and the origin of the page takes the place of the scope.
//
// Invariants of responses:
//
//  1. A response with a secret or a token, of a page or of a path without a route is never compressed,
//     cached or compared. Neither is an error compared or cached. A document of a feed (feed.go) does not
//     contain the secret of its address.
//  2. Two responses with one ETag have the same bytes, and a 304 stands for the body that the client
//     would get now.
//  3. If-Match compares versions only, and accepts the ETags of earlier releases.
//  4. A body that is cut short never looks complete.
//  5. A publishable key reaches only the operations that are marked for it, and the page of an origin
//     that the key does not list can read errors only. No page can read a response to another token.
//  6. The memory and the calls that unknown keys cause are bounded.
//  7. Every response to a credential in test mode says so (mode.go), and no other response does.
package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/requestlog"
	"reservation.dev/platform/static"
	"reservation.dev/platform/token"
)

// Route is one operation of an interface.
type Route struct {
	Method string
	// Path is the pattern from http.yaml, for example "/customer/{id}/profile".
	Path string
	// Scope is the scope that the token must have; "" makes the route public.
	Scope string
	// Query names the query parameters. Others are ignored, except those of Interface.Paging.
	Query []string
	// Media are the accepted media types of the body; empty means JSON.
	Media []string
	// Bodiless accepts an empty body as an empty JSON object.
	Bodiless bool
	// Publishable lets web pages call the operation with a publishable key instead of a token.
	Publishable bool
	// Public means that responses to a route without a scope can be compressed, cached and compared.
	Public bool
	// Secret means that responses contain a secret. They are not compressed, because the length of a
	// compressed secret reveals something about it, and their ETag has no digest.
	Secret bool
	// Deprecated is the time since when the operation is deprecated, and Sunset the time after which
	// it can be removed. openapi.yaml has the same times. Zero: not deprecated, no removal is planned.
	Deprecated, Sunset time.Time
	// Fail responds to requests that the edge refuses; nil means Edge.Fail.
	Fail func(e *Edge, w http.ResponseWriter, r *http.Request, f *fault.Error)

	unsupported []string // the parameters of Interface.Paging that this list does not support
}

func (r *Route) hasBody() bool {
	return r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
}

func (r *Route) media() []string {
	if len(r.Media) > 0 {
		return r.Media
	}
	return []string{contentType}
}

// Interface describes a public interface.
type Interface struct {
	// Name is the interface's name in metrics.
	Name string
	// Title is the interface's name for people, and OpenAPI its description in YAML.
	Title   string
	OpenAPI []byte
	// Base is the path prefix of all routes, for example "/api/v1"; "" means none. The description
	// is served both at the root and below Base.
	Base   string
	Routes []Route
	// Paging names the query parameters that choose a page of a list. A list refuses those of them that
	// it does not support: if it ignored one, the caller would take a wrong page for the requested one.
	Paging []string
	// Kind is the kind of credential whose tokens are accepted: token.KindClient or token.KindKey.
	Kind string
	// Service is the descriptor of the facade's service. The bounds of its request fields also limit
	// the query parameters of the same names.
	Service protoreflect.ServiceDescriptor
	// Code returns the error code in that body; nil means the fault's reason.
	Code func(f *fault.Error) string
	// AppendFault appends the interface's error body to b.
	AppendFault func(b []byte, f *fault.Error) []byte
}

// Options are the dependencies and settings of an edge.
type Options struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Verifier interface {
		Verify(ctx context.Context, raw string) (*token.Claims, error)
	}
	// Limiter counts the requests of credentials.
	Limiter Limiter
	// RateLimit is the limit of a credential that has none of its own, in requests in any 60
	// seconds. If it is 0, the requests of such a credential are not counted.
	RateLimit int
	Proxies   Proxies
	// Requests gets an entry for each request of a known credential; nil: there is no request log.
	Requests *requestlog.Log
}

// Edge serves one interface over HTTP.
type Edge struct {
	api    Interface
	opts   Options
	mux    *runtime.ServeMux
	routes map[string]*Route // "METHOD pattern"
	query  map[string]bounds.Bound
	timing *prometheus.HistogramVec
	pages  map[string]*static.File // by path
	keys   *publishableKeys        // nil: the interface accepts none
	feed   *feed                   // nil: there is none
}

// New returns an edge without operations. Register the facade on Mux, and other handlers with Handle.
// Every operation needs a route.
func New(api Interface, o Options) (*Edge, error) {
	e := &Edge{api: api, opts: o, routes: map[string]*Route{}, query: queryBounds(api.Service)}
	for i := range api.Routes {
		r := &api.Routes[i]
		r.unsupported = unsupportedPaging(r, api.Paging)
		e.routes[r.Method+" "+r.Path] = r
	}
	var err error
	if e.pages, err = newPages(api); err != nil {
		return nil, err
	}
	e.timing = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_server_duration_seconds", Help: "Time from the first byte of a request to the last byte of its response.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"edge", "method", "route", "code"})
	if err := o.Metrics.Register(e.timing); err != nil {
		return nil, err
	}
	none := func(string) (string, bool) { return "", false }
	e.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		// No header becomes metadata, because a client must not be able to set the metadata of calls.
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

// unsupportedPaging returns the parameters of paging that a list does not support. It returns none for
// a route that supports none of them, because such a route is not a list.
func unsupportedPaging(r *Route, paging []string) []string {
	missing := slices.DeleteFunc(slices.Clone(paging), func(name string) bool { return slices.Contains(r.Query, name) })
	if len(missing) == len(paging) {
		return nil
	}
	return missing
}

// Mux returns the mux on which to register the generated handlers of the facade.
func (e *Edge) Mux() *runtime.ServeMux { return e.mux }

// Handle registers a handler that is not generated for one of the routes.
func (e *Edge) Handle(method, path string, h runtime.HandlerFunc) error {
	if e.routes[method+" "+path] == nil {
		return fmt.Errorf("no route %s %s", method, path)
	}
	return e.mux.HandlePath(method, path, h)
}

// Fail responds with a fault in the interface's error body.
func (e *Edge) Fail(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	e.FailAs(w, r, f, e.api.AppendFault)
}

// FailAs responds with a fault in an error body other than the interface's.
func (e *Edge) FailAs(w http.ResponseWriter, r *http.Request, f *fault.Error, appendFault func([]byte, *fault.Error) []byte) {
	if s := exchangeOf(r.Context()); s != nil {
		s.failed = f
	}
	setFaultHeaders(w.Header(), f)
	e.exposeError(w.Header())
	w.WriteHeader(StatusOf(f))
	_, _ = w.Write(appendFault(nil, f))
}

// Write responds with a message as JSON.
func (e *Edge) Write(w http.ResponseWriter, code int, m proto.Message) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(AppendJSON(nil, m))
}

// routingFailed responds to a request that matches no route.
func (e *Edge) routingFailed(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	if e.preflight(w, r) {
		return
	}
	e.identify(r)
	matching := e.matching(r.URL.EscapedPath())
	allowed := make([]string, len(matching))
	for i, route := range matching {
		allowed[i] = route.Method
	}
	if code == http.StatusBadRequest || len(allowed) == 0 {
		e.failPath(w, r)
		return
	}
	e.failMethod(w, r, allowed...)
}

// failPath responds that the path does not exist.
func (e *Edge) failPath(w http.ResponseWriter, r *http.Request) {
	e.Fail(w, r, fault.New(fault.NotFound, fault.ReasonNotFound, "this path does not exist"))
}

// failMethod responds that the path supports only the allowed methods.
func (e *Edge) failMethod(w http.ResponseWriter, r *http.Request, allowed ...string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	e.Fail(w, r, fault.New(fault.Invalid, fault.ReasonMethodNotAllowed,
		"the method "+r.Method+" is not allowed for this path; use "+strings.Join(allowed, ", ")))
}

// matching returns the routes that match path. path is escaped as the client sent it, because routes
// match only its plain spelling.
func (e *Edge) matching(path string) []*Route {
	var found []*Route
	got := strings.Split(path, "/")
	for i := range e.api.Routes {
		if matches(strings.Split(e.api.Routes[i].Path, "/"), got) {
			found = append(found, &e.api.Routes[i])
		}
	}
	return found
}

// matches reports whether the segments of a path fit the segments of a pattern.
func matches(pattern, path []string) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i := range pattern {
		if pattern[i] != path[i] && !strings.HasPrefix(pattern[i], "{") {
			return false
		}
	}
	return true
}
