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
	secure   bool     // it is served over TLS
	now      func() time.Time
	newKey   func() string

	mux    *http.ServeMux
	cross  *http.CrossOriginProtection
	timing *prometheus.HistogramVec
}

// newWeb returns the dashboard over the given services.
func newWeb(cfg *Config, log *slog.Logger, metrics prometheus.Registerer, s services) (*web, error) {
	origin, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	parsed, err := parsePages()
	if err != nil {
		return nil, err
	}
	w := &web{
		cfg: cfg, log: log, services: s, pages: parsed, origin: origin, secure: origin.Scheme == "https",
		now: time.Now, newKey: func() string { return id.NewUUID().String() },
		mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(),
		timing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_server_duration_seconds", Help: "Time from a request's first to its answer's last byte.",
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
	for _, route := range routes() {
		w.handle(route)
	}
	return w, nil
}

// access says who may open a page.
type access uint8

const (
	// everybody is whoever has a browser.
	everybody access = iota
	// staff is every administrator.
	staff
	// owner is an administrator with the role owner.
	owner
)

// handle registers a route. An error of its page becomes a page that says what went
// wrong.
func (web *web) handle(route route) {
	_, path, _ := strings.Cut(route.pattern, " ")
	web.mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
		req := web.request(w, r)
		req.audited = route.audited
		if rec, ok := w.(*recorder); ok {
			rec.route = path
		}
		defer req.record()
		if err := req.serve(route); err != nil {
			req.fail(err)
		}
	})
}

// request returns a request of nobody yet.
func (web *web) request(w http.ResponseWriter, r *http.Request) *request {
	return &request{web: web, services: web.services, w: w, http: r, ctx: r.Context()}
}

// serve lets a request to its page.
func (r *request) serve(route route) error {
	if err := r.admit(route.who); err != nil || r.done {
		return err
	}
	if r.http.Method == http.MethodPost && route.who != everybody {
		// Whoever leaves before the answer is there has changed something all the
		// same: it is finished, and in the audit log. Each call has a time limit.
		r.ctx = context.WithoutCancel(r.ctx)
	}
	err := route.serve(r)
	if fault.Is(err, fault.Unauthenticated) && r.http.Method == http.MethodGet && r.session != nil && !r.done {
		// An administrator's access tokens are all revoked when one of the sessions
		// ends. This session may go on: authenticate again.
		r.session, r.ctx = nil, r.http.Context()
		if err = r.admit(route.who); err == nil && !r.done {
			err = route.serve(r)
		}
	}
	return err
}

// ServeHTTP does what every request needs, in the order of doc.go.
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
		_, _ = fmt.Fprintf(rec, "The dashboard is at %s\n", web.cfg.URL)
		return
	}
	if err := web.cross.Check(r); err != nil {
		web.request(rec, r).fail(errForgery)
		return
	}
	r.Body = http.MaxBytesReader(rec, r.Body, maxForm)
	web.mux.ServeHTTP(rec, r)
}

// setHeaders sets what every answer carries.
func (web *web) setHeaders(h http.Header, requestID string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	if web.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
}

// finish recovers a panic, and writes the log line and the timing of a request.
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

// logRequest writes the one line of a request. It has the route and not the path,
// in which there may be an invitation's token.
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

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	code  int
	wrote bool
	route string
	span  trace.Span
	// failed is what was answered, if it was a fault.
	failed *fault.Error
}

// WriteHeader notes the status.
func (r *recorder) WriteHeader(code int) {
	if !r.wrote {
		r.wrote, r.code = true, code
		r.ResponseWriter.WriteHeader(code)
	}
}

// Write notes that the answer has begun.
func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// errForgery is a request that did not come from a page of this session.
var errForgery = fault.New(fault.Forbidden, fault.ReasonForbidden, "This request did not come from a page of this dashboard. Open the page again and repeat what you did.")

// errOwnersOnly is a page that staff do not have.
var errOwnersOnly = fault.New(fault.Forbidden, fault.ReasonForbidden, "Only owners can open this page. Ask an owner of your company to do this, or to change your role.")

// reportable tells whether an error is a fault of ours, for the log.
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
