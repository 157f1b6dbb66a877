package telemetry_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"reservation.dev/platform/telemetry"
)

// recorded makes this process trace into the returned recorder until the end of the test.
func recorded(t *testing.T) *tracetest.SpanRecorder {
	t.Helper()
	r := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r)))
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	return r
}

func TestRequestSpans(t *testing.T) {
	t.Run("starts no span without tracing", func(t *testing.T) {
		ctx, span := telemetry.StartRequest(httptest.NewRequest("GET", "/x", nil), "r1")
		telemetry.EndRequest(span, "GET", "/x", 200)
		if telemetry.IsRecording(ctx) {
			t.Error("a span was started")
		}
	})
	r := recorded(t)
	t.Run("starts a new trace named after the route, and links the caller's trace", func(t *testing.T) {
		req := httptest.NewRequest("GET", "/customers/ada@example.com?name=Ada", nil)
		req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		_, span := telemetry.StartRequest(req, "r1")
		telemetry.EndRequest(span, "GET", "/customers/{id}", 200)
		got := r.Ended()[0]
		if got.Name() != "GET /customers/{id}" || got.Parent().IsValid() || got.SpanKind() != trace.SpanKindServer || got.Status().Code != codes.Unset {
			t.Errorf("%s of %v, %v", got.Name(), got.Parent(), got.Status())
		}
		if links := got.Links(); len(links) != 1 || links[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("links %v", links)
		}
		for _, a := range got.Attributes() {
			if v := a.Value.String(); v == "/customers/ada@example.com" || v == "name=Ada" {
				t.Errorf("%s is %s", a.Key, v)
			}
		}
	})
	t.Run("marks a status of 503 as an error, and does not name an unknown method", func(t *testing.T) {
		_, span := telemetry.StartRequest(httptest.NewRequest("BREW", "/", nil), "r2")
		telemetry.EndRequest(span, "other", "none", 503)
		if got := r.Ended()[1]; got.Name() != "HTTP none" || got.Status().Code != codes.Error {
			t.Errorf("%s, %v", got.Name(), got.Status())
		}
	})
	t.Run("links a span to the one that did its work, and a batch to all its causes", func(t *testing.T) {
		first, a := telemetry.Start(t.Context(), "first", trace.SpanKindServer)
		second, b := telemetry.Start(t.Context(), "second", trace.SpanKindServer)
		telemetry.LinkTo(second, first)
		_, batch := telemetry.StartLinked(t.Context(), "batch", trace.SpanKindConsumer, []context.Context{first, second, t.Context()})
		for _, s := range []trace.Span{a, b, batch} {
			s.End()
		}
		ended := r.Ended()[2:]
		if links := ended[1].Links(); len(links) != 1 || links[0].SpanContext.SpanID() != a.SpanContext().SpanID() {
			t.Errorf("links of the second: %v", links)
		}
		if links := ended[2].Links(); len(links) != 2 || ended[2].Parent().IsValid() {
			t.Errorf("links of the batch: %v", links)
		}
	})
}
