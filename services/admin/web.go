package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/negotiate"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/telemetry"
)

// maxForm is the longest body that a form may send, in bytes.
const maxForm = 256 << 10

// web is the dashboard as an HTTP handler.
type web struct {
	cfg      *Config
	log      *slog.Logger
	services services
	pages    *pages
	origin   *url.URL // of the dashboard
	secure   bool     // the dashboard is served over TLS
	files    string   // origin of the files of the media service
	places   map[string]bool
	now      func() time.Time
	newKey   func() string

	mux    *http.ServeMux
	cross  *http.CrossOriginProtection
	timing *prometheus.HistogramVec
}

// newWeb returns the dashboard, which calls the given services.
func newWeb(cfg *Config, log *slog.Logger, metrics prometheus.Registerer, s services) (*web, error) {
	origin, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	media, err := url.Parse(cfg.MediaURL)
	if err != nil {
		return nil, err
	}
	parsed, err := embeddedPages()
	if err != nil {
		return nil, err
	}
	w := &web{
		cfg: cfg, log: log, services: s, pages: parsed, origin: origin, secure: origin.Scheme == "https",
		files: media.Scheme + "://" + media.Host,
		now:   time.Now, newKey: func() string { return id.NewUUID().String() },
		mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(),
		timing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_server_duration_seconds", Help: "Time from the first byte of a request to the last byte of its response.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"edge", "method", "route", "code"}),
	}
	if err := errors.Join(metrics.Register(w.timing), w.cross.AddTrustedOrigin(origin.Scheme+"://"+origin.Host)); err != nil {
		return nil, err
	}
	w.mux.HandleFunc("GET /assets/", w.serveAsset)
	if err := w.mountDocs(); err != nil {
		return nil, err
	}
	all := routes()
	w.places = placesOf(all)
	for _, route := range all {
		w.handle(route)
	}
	return w, nil
}

// everybody is the capability of pages that can be opened without a sign-in. The table of roles does not have it.
const everybody roles.Capability = "everybody"

// handle registers a route. If its page fails, the response is an error page.
func (web *web) handle(route route) {
	_, path, _ := strings.Cut(route.pattern, " ")
	web.mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
		req := web.request(w, r)
		req.alwaysLive, req.audited = route.alwaysLive, route.audited
		if rec, ok := w.(*recorder); ok {
			rec.route = path
		}
		if route.files {
			w.Header().Set("Content-Security-Policy", contentPolicy(web.files))
		}
		if route.camera {
			w.Header().Set("Permissions-Policy", "camera=(self), "+otherFeatures)
		}
		if route.large {
			w.Header().Add("Vary", "Accept-Encoding")
			req.plain = isPlain(r.URL)
			req.zipped = req.plain && negotiate.Coding(r.Header, "gzip") != ""
		}
		defer req.record()
		if err := req.serve(route); err != nil {
			req.fail(err)
		}
	})
}

// request returns a request before its sign-in is checked.
func (web *web) request(w http.ResponseWriter, r *http.Request) *request {
	return &request{
		web: web, services: web.services, w: w, http: r, ctx: r.Context(),
		texts: web.pages.catalogue.of("", r.Header.Get("Accept-Language")),
	}
}

// serve admits a request and calls its page.
func (r *request) serve(route route) error {
	if err := r.admit(route.capability); err != nil || r.done {
		return err
	}
	if r.http.Method == http.MethodPost && route.capability != everybody {
		// If the browser disconnects, the change is still completed and recorded in the audit
		// log. Each call has a time limit.
		r.ctx = context.WithoutCancel(r.ctx)
	}
	err := route.serve(r)
	if fault.Is(err, fault.Unauthenticated) && r.http.Method == http.MethodGet && r.session != nil && !r.done {
		// When a session ends, auth revokes all access tokens of its administrator. If this
		// session is still valid, authenticate returns a new token.
		r.session, r.ctx = nil, r.http.Context()
		if err = r.admit(route.capability); err == nil && !r.done {
			err = route.serve(r)
		}
	}
	return err
}

// ServeHTTP checks the request in the order of doc.go and serves it.
func (web *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := web.now()
	requestID := id.NewUUID().String()
	rec := &recorder{ResponseWriter: w, code: http.StatusOK, route: "none"}
	traced, span := telemetry.StartRequest(r, requestID)
	rec.span = span
	r = r.WithContext(rpc.WithRequestID(traced, requestID))
	web.setHeaders(w.Header(), requestID)
	defer web.finish(rec, r, began)
	if r.Host != web.origin.Host {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = fmt.Fprintln(rec, web.request(rec, r).text("refusals.wrong_host", "url", web.cfg.URL))
		return
	}
	if err := web.cross.Check(r); err != nil {
		web.request(rec, r).fail(errForgery)
		return
	}
	r.Body = http.MaxBytesReader(rec, r.Body, maxForm)
	web.mux.ServeHTTP(rec, r)
}

// contentPolicy returns the content security policy of a page: everything comes from this site. files is
// the origin from which the page also loads images, videos and recordings, and to which it sends files; ""
// if there is none.
func contentPolicy(files string) string {
	media := ""
	if files != "" {
		files = " " + files
		media = "media-src" + files + "; "
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'" + files + "; " + media + "connect-src 'self'" + files +
		"; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// otherFeatures are features of browsers that no page can use. The camera is not one of them.
const otherFeatures = "geolocation=(), microphone=(), payment=()"

// setHeaders sets the headers of every response.
func (web *web) setHeaders(h http.Header, requestID string) {
	h.Set("Content-Security-Policy", contentPolicy(""))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), "+otherFeatures)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	if web.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
}

// finish recovers a panic, and records the request in the log and the metrics.
func (web *web) finish(rec *recorder, r *http.Request, began time.Time) {
	if p := recover(); p != nil {
		err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		if rec.wrote {
			web.log.LogAttrs(r.Context(), slog.LevelError, "page failed", slog.String("request_id", rpc.RequestID(r.Context())), slog.String("error", err.Error()))
			panic(http.ErrAbortHandler)
		}
		web.request(rec, r).fail(err)
	}
	took := web.now().Sub(began)
	method := r.Method
	if method != http.MethodGet && method != http.MethodPost && method != http.MethodHead {
		method = "other"
	}
	telemetry.EndRequest(rec.span, method, rec.route, rec.code)
	web.timing.WithLabelValues("admin", method, rec.route, strconv.Itoa(rec.code)).Observe(took.Seconds())
	web.logRequest(r.Context(), method, rec, took)
}

// logRequest writes the log line of a request. It logs the route instead of the path, because a
// path can have the token of an invitation.
func (web *web) logRequest(ctx context.Context, method string, rec *recorder, took time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", rpc.RequestID(ctx)), slog.String("method", method), slog.String("route", rec.route),
		slog.Int("status", rec.code), slog.Duration("took", took),
	}
	if f := rec.failed; f != nil {
		attrs = append(attrs, slog.String("reason", f.Reason))
		if l, ours := reportable(ctx, f); ours {
			level = max(level, l)
			attrs = append(attrs, slog.String("error", f.Error()))
		}
	}
	web.log.LogAttrs(ctx, level, "request", attrs...)
}

// recorder keeps facts of the response for the log.
type recorder struct {
	http.ResponseWriter
	code  int
	wrote bool
	route string
	span  trace.Span
	// failed is the error of the response; nil if there is none.
	failed *fault.Error
}

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(code int) {
	if !r.wrote {
		r.wrote, r.code = true, code
		r.ResponseWriter.WriteHeader(code)
	}
}

// Write keeps that the response has begun.
func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// errForgery refuses a request that did not come from a page of this session.
var errForgery = pageFault(fault.Forbidden, fault.ReasonForbidden, "forgery", "the request did not come from a page of this session")

// errOtherRole refuses to open a page to a role that does not have its capability.
var errOtherRole = pageFault(fault.Forbidden, fault.ReasonForbidden, "other_role", "the role of the administrator cannot open this page")

// reportable reports whether an error is one of the platform, which the log describes, and at
// which level.
func reportable(ctx context.Context, f *fault.Error) (slog.Level, bool) {
	switch {
	case f.Kind == fault.Internal:
		return slog.LevelError, true
	case f.Kind == fault.Unavailable && ctx.Err() != nil:
		return slog.LevelDebug, true
	case f.Kind == fault.Unavailable:
		return slog.LevelWarn, true
	}
	return 0, false
}
