package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// StartRequest begins the span of a request from outside. It begins a trace of our
// own: a stranger does not decide what is recorded here. That of the caller, if the
// request names one, is linked.
func StartRequest(r *http.Request, requestID string) (context.Context, trace.Span) {
	ctx := r.Context()
	if !IsTracing() {
		return ctx, trace.SpanFromContext(ctx)
	}
	opts := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("url.scheme", schemeOf(r)), attribute.String("reservation.request_id", requestID)),
	}
	caller := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	if sc := trace.SpanContextFromContext(caller); sc.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: sc}))
	}
	return otel.Tracer(scope).Start(ctx, "request", opts...)
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// EndRequest names the span after the route's pattern and ends it. Method is one
// of a known few, and "other" for the rest.
func EndRequest(span trace.Span, method, route string, status int) {
	if !span.IsRecording() {
		return
	}
	if method == "other" {
		method = "_OTHER"
		span.SetName("HTTP " + route)
	} else {
		span.SetName(method + " " + route)
	}
	span.SetAttributes(
		attribute.String("http.request.method", method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status),
	)
	if status >= 500 {
		FailStatus(span, status)
	}
	span.End()
}
