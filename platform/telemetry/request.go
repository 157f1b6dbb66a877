package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// StartRequest starts the span of a request from outside, in a new trace. The caller's trace,
// if the request names one, is only linked, so that callers cannot decide what is recorded.
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

// EndRequest names the span after the method and the route's pattern, and ends it. Method is
// a known HTTP method, or "other". A status of 500 or more marks the span as failed.
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
