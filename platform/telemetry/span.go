package telemetry

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Names and attributes of spans follow OpenTelemetry's semantic conventions for HTTP, databases,
// messaging and RPC. Some attributes are left out because they could contain personal data or
// secrets: paths and query strings (http.route identifies the operation), values of SQL
// statements, full URLs of endpoints, and error messages (error.type has the class of error).

// scope is the name of the instrumentation.
const scope = "reservation.dev/platform"

// Start starts a child span of the span in ctx. The caller must end it. Without tracing, it
// costs almost nothing.
func Start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return otel.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// StartLinked starts a span in a new trace, linked to the spans of all causes.
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

// LinkTo links the span of ctx to that of other, within which its work was done.
func LinkTo(ctx, other context.Context) {
	if sc := trace.SpanContextFromContext(other); sc.IsValid() {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: sc})
	}
}

// IsRecording reports whether the span of ctx is recorded and will be exported.
func IsRecording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Fail marks a span as failed. Class is a word for the kind of error, not an error message.
func Fail(span trace.Span, class string) {
	span.SetAttributes(attribute.String("error.type", class))
	span.SetStatus(codes.Error, "")
}

// FailStatus marks a span as failed with an HTTP status.
func FailStatus(span trace.Span, status int) { Fail(span, strconv.Itoa(status)) }
