package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/telemetry"
)

// Handler returns the handler of all operations, with request ids, logs, metrics and panic recovery.
// It also serves the pages of the interface's description.
func (e *Edge) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s := &exchange{id: id.NewUUID(), requestID: r.Header.Get("X-Request-Id"), request: r.Header, response: w.Header()}
		if !rpc.IsVisibleASCII(s.requestID, rpc.MaxRequestID) {
			s.requestID = s.id.String()
		}
		h := w.Header()
		h.Set("X-Request-Id", s.requestID)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		// grpc-gateway would apply this header, which is not part of any interface.
		r.Header.Del("Grpc-Timeout")
		// It would leave out the Content-Length for a client that accepts trailers, which no response has.
		r.Header.Del("Te")

		traced, span := telemetry.StartRequest(r, s.requestID)
		s.span = span
		ctx := rpc.WithRequestID(context.WithValue(traced, exchangeKey{}, s), s.requestID)
		r = r.WithContext(ctx)
		rec := &recorder{ResponseWriter: w, code: http.StatusOK, exchange: s}
		defer e.finish(rec, r, s, began)
		if e.isFeed(r) {
			e.serveFeed(rec, r)
			return
		}
		if path, ok := e.pagePath(r); ok {
			r.URL.Path = path
			e.servePage(rec, r)
			return
		}
		// If RawPath were empty, the mux would unescape the path a second time.
		u := *r.URL
		u.RawPath = u.EscapedPath()
		r.URL = &u
		e.mux.ServeHTTP(rec, r)
	})
}

// finish recovers a panic, and records a request in the log and the metrics.
func (e *Edge) finish(rec *recorder, r *http.Request, s *exchange, began time.Time) {
	aborted := false
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			aborted = true
		} else {
			f := fault.New(fault.Internal, fault.ReasonInternal, "internal error").
				Because(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			if aborted = !rec.discard(); aborted {
				// The response has started. Cut it, so that the client does not take it for complete.
				s.failed = f
			} else {
				e.Fail(rec, r, f)
			}
		}
	}
	if aborted {
		rec.discard()
	} else {
		rec.finish()
	}
	route := "none"
	if s.route != nil {
		route = s.route.Path
	}
	took := time.Since(began)
	telemetry.EndRequest(s.span, methodLabel(r.Method), route, rec.code)
	e.timing.WithLabelValues(e.api.Name, methodLabel(r.Method), route, strconv.Itoa(rec.code)).Observe(took.Seconds())
	e.log(r, s, route, rec, took, aborted)
	e.record(r, s, rec, took)
	if aborted {
		panic(http.ErrAbortHandler)
	}
}

// log writes the log line of a request. If the platform is at fault, the line is a warning or an
// error and has the cause.
func (e *Edge) log(r *http.Request, s *exchange, route string, rec *recorder, took time.Duration, aborted bool) {
	ctx, level := r.Context(), slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", s.requestID), slog.String("method", methodLabel(r.Method)), slog.String("route", route),
		slog.Int("status", rec.code), slog.Int64("bytes", rec.bytes), slog.Duration("took", took), slog.Bool("aborted", aborted),
	}
	if s.claims != nil {
		attrs = append(attrs, slog.String("caller", s.claims.Subject), slog.String("company", s.claims.Company.String()))
	}
	if f := s.failed; f != nil {
		attrs = append(attrs, slog.String("reason", f.Reason))
		switch {
		case f.Kind == fault.Unavailable && ctx.Err() != nil: // the client closed the connection
		case f.Kind == fault.Unavailable:
			level = slog.LevelWarn
		case f.Kind == fault.Internal:
			level = slog.LevelError
		}
		if level > slog.LevelInfo {
			attrs = append(attrs, slog.String("error", f.Error()))
		}
	}
	e.opts.Log.LogAttrs(ctx, level, "request", attrs...)
}

// methodLabel returns the metric label of a method. Unknown methods share one label, so that a
// client cannot create time series.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	}
	return "other"
}

// ListenAndServe serves h at addr until ctx ends, and then waits at most drain for requests to
// finish. It calls listening when it accepts connections.
func ListenAndServe(ctx context.Context, addr string, h http.Handler, drain time.Duration, listening func(net.Addr)) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    32 << 10,
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		if srv.Shutdown(limit) != nil {
			_ = srv.Close()
		}
	})
	listening(ln.Addr())
	err = srv.Serve(ln)
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	<-done
	return nil
}
