package webhook

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/telemetry"
)

// traceText returns the trace of a message as JSON; nil: it has none.
func traceText(trace map[string]string) *string {
	if len(trace) == 0 {
		return nil
	}
	text, err := json.Marshal(trace)
	if err != nil { // cannot happen for a map of strings
		return nil
	}
	s := string(text)
	return &s
}

// startAttempt begins the span of a request to an endpoint, in the trace of the domain event;
// without that trace there is no span. The request has no traceparent, because the endpoint's
// traces do not belong to the platform; the message's id finds the span.
func startAttempt(ctx context.Context, j *job) (context.Context, trace.Span) {
	if j.trace["traceparent"] == "" || !telemetry.IsTracing() {
		return ctx, trace.SpanFromContext(ctx)
	}
	attributes := []attribute.KeyValue{
		attribute.String("http.request.method", "POST"),
		attribute.String("server.address", j.target.url.Hostname()), attribute.Int("server.port", portOf(j.target.url)),
		attribute.String("reservation.webhook.event", j.body.Event), attribute.String("reservation.webhook.message_id", j.body.Message.String()),
		attribute.String("reservation.webhook.delivery_id", j.delivery.String()),
	}
	if j.tries > 0 {
		attributes = append(attributes, attribute.Int("http.request.resend_count", j.tries))
	}
	return telemetry.Start(bus.Message{Trace: j.trace}.Context(ctx), "POST", trace.SpanKindClient, attributes...)
}

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	return 443
}

// endAttempt ends the span with the result.
func endAttempt(span trace.Span, r *result) {
	if r.status > 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", r.status))
	}
	switch r.failure {
	case "":
	case failureStatus:
		telemetry.FailStatus(span, r.status)
	default:
		telemetry.Fail(span, r.failure)
	}
	span.End()
}
