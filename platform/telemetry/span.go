package telemetry

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Spans are named and described by OpenTelemetry's semantic conventions for HTTP,
// databases, messaging and RPC. What the conventions want and we leave out, because
// it may be about a person or a secret: paths and queries (http.route says which
// operation it was), statements' values, full addresses of endpoints, and the texts
// of errors (error.type is a class of them).

// scope is the name of the instrumentation.
const scope = "reservation.dev/platform"

// Start begins a span of the given kind below that of ctx. Where nothing is traced
// it costs next to nothing. Whoever starts a span ends it.
func Start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return otel.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// StartLinked begins a trace of its own, linked to those of several causes.
func StartLinked(ctx context.Context, name string, kind trace.SpanKind, causes []context.Context, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	links := make([]trace.Link, 0, len(causes))
	for _, cause := range causes {
		if sc := trace.SpanContextFromContext(cause); sc.IsValid() {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	return otel.Tracer(scope).Start(ctx, name, trace.WithNewRoot(), trace.WithSpanKind(kind),
		trace.WithAttributes(attributes...), trace.WithLinks(links...))
}

// LinkTo tells in the span of ctx that its work was done within that of other.
func LinkTo(ctx, other context.Context) {
	if sc := trace.SpanContextFromContext(other); sc.IsValid() {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: sc})
	}
}

// IsRecording reports whether ctx is within a span that will be sent.
func IsRecording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Fail marks a span as failed; class is a word for what went wrong, not a text.
func Fail(span trace.Span, class string) {
	span.SetAttributes(attribute.String("error.type", class))
	span.SetStatus(codes.Error, "")
}

// FailStatus is Fail for an answer over HTTP.
func FailStatus(span trace.Span, status int) { Fail(span, strconv.Itoa(status)) }
