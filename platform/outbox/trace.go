package outbox

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/telemetry"
)

// Cause is the request, the trace and the actor that caused an event; zero: not known.
type Cause struct {
	known   bool
	carried map[string]string // the value of bus.Message.Trace, never modified
	text    *string           // the same as JSON; nil if carried is empty
}

// CauseOf returns the request, the trace and the actor of ctx.
func CauseOf(ctx context.Context) Cause { return causeOf(ctx, rpc.CompanyCredential(ctx)) }

// CauseWithoutActor returns the request and the trace of ctx. It is the cause of what the platform does
// by itself during the request of a credential.
func CauseWithoutActor(ctx context.Context) Cause { return causeOf(ctx, "") }

func causeOf(ctx context.Context, actor string) Cause {
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	if requestID := rpc.RequestID(ctx); requestID != "" {
		carrier[bus.RequestID] = requestID
	}
	if method := rpc.Method(ctx); actor != "" && method != "" {
		carrier[bus.Actor], carrier[bus.Method] = actor, method
	}
	if len(carrier) == 0 {
		return Cause{known: true}
	}
	text, err := json.Marshal(carrier)
	if err != nil { // cannot happen for a map of strings
		return Cause{known: true}
	}
	s := string(text)
	return Cause{known: true, carried: carrier, text: &s}
}

func (c Cause) or(other Cause) Cause {
	if !c.known {
		return other
	}
	return c
}

// startPublishing begins the span of publishing an event. The spans of its consumers
// become children of it. Events without a trace get no span.
func (l *leased) startPublishing(ctx context.Context) trace.Span {
	if l.Trace["traceparent"] == "" || !telemetry.IsTracing() {
		return trace.SpanFromContext(ctx)
	}
	ctx, span := telemetry.Start(l.Context(ctx), "publish "+bus.Topic(l.Subject), trace.SpanKindProducer,
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.name", "publish"),
		attribute.String("messaging.operation.type", "send"), attribute.String("messaging.destination.name", bus.Topic(l.Subject)),
		attribute.String("messaging.message.id", l.ID.String()), attribute.Int("messaging.message.body.size", len(l.Payload)),
		attribute.Int("reservation.outbox.attempt", l.attempt),
	)
	l.Trace = bus.WithTrace(ctx, l.Trace)
	return span
}
