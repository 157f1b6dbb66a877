package bus

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/telemetry"
)

// Topic returns a subject without its key:
// "auth.v1.credential_revoked" of "auth.v1.credential_revoked.key_01jb…".
func Topic(subject string) string {
	for i, dots := 0, 0; i < len(subject); i++ {
		if subject[i] == '.' {
			if dots++; dots == 3 {
				return subject[:i]
			}
		}
	}
	return subject
}

// WithTrace returns a copy of carried with the trace context of ctx.
func WithTrace(ctx context.Context, carried map[string]string) map[string]string {
	carrier := make(propagation.MapCarrier, len(carried)+1)
	maps.Copy(carrier, carried)
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	return carrier
}

// startHandling begins a span for each message that belongs to a trace, as a child of the
// span of its publishing. The handler's context continues the span of a message that is
// handled alone. For several messages it has its own span, linked to each of theirs. end
// ends them all.
func (w *worker) startHandling(ctx context.Context, msgs []Message) (_ context.Context, end func(err error)) {
	if !telemetry.IsTracing() {
		return ctx, func(error) {}
	}
	var spans []trace.Span
	var causes []context.Context
	group := attribute.String("messaging.consumer.group.name", w.c.Name)
	system, operation := attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "process")
	for i := range msgs {
		m := &msgs[i]
		if m.Trace["traceparent"] == "" {
			continue
		}
		topic := Topic(m.Subject)
		mctx, span := telemetry.Start(m.Context(ctx), "process "+topic, trace.SpanKindConsumer, group, system, operation,
			attribute.String("messaging.operation.name", "process"), attribute.String("messaging.destination.name", topic),
			attribute.String("messaging.message.id", m.ID.String()), attribute.Int("reservation.delivery.attempt", m.Attempt))
		m.Trace = WithTrace(mctx, m.Trace)
		spans, causes = append(spans, span), append(causes, mctx)
	}
	if len(causes) == 1 && len(msgs) == 1 {
		ctx = causes[0]
	} else if len(causes) > 0 {
		var span trace.Span
		ctx, span = telemetry.StartLinked(ctx, "process "+w.c.Name, trace.SpanKindConsumer, causes, group, system, operation,
			attribute.Int("messaging.batch.message_count", len(msgs)))
		spans = append(spans, span)
	}
	return ctx, func(err error) {
		for _, span := range spans {
			if err != nil {
				telemetry.Fail(span, "handler")
			}
			span.End()
		}
	}
}
