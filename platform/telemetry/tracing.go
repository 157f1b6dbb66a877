package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	"reservation.dev/platform/config"
)

// endpointSetting is the variable that turns tracing on.
const endpointSetting = "OTEL_EXPORTER_OTLP_ENDPOINT"

// flushTimeout is the time that a process waits at shutdown for its last spans to be sent.
const flushTimeout = 3 * time.Second

// Tracing exports the spans of this process to OTEL_EXPORTER_OTLP_ENDPOINT over gRPC. The other
// OTEL_* variables apply as OpenTelemetry defines them. Without an endpoint it does nothing.
// The returned function sends the remaining spans; call it at shutdown. Failures to send are
// logged to log.
//
// OpenTelemetry has one tracer provider for the process, so call Tracing once, before any
// server or client is created.
func Tracing(ctx context.Context, part string, env config.Env, log *slog.Logger) (flush func(), err error) {
	endpoint := env[endpointSetting]
	if endpoint == "" {
		return func() {}, nil
	}
	// The exporter would replace a URL that it cannot parse by localhost.
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%s is not a URL like http://collector:4317", endpointSetting)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint),
		// As in rpc.Dial: in a network without DNS access to the outside, the lookup of the
		// TXT record gets no answer, and the spans of the first half minute would be lost.
		otlptracegrpc.WithDialOption(grpc.WithDisableServiceConfig()))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	attributes, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", part), attribute.String("service.namespace", "reservation")),
		resource.WithHost(),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(attributes))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans could not be exported", "error", err) }))
	otel.SetTracerProvider(provider)
	// No baggage, because a caller's baggage would be passed on through every service.
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil { // lost spans must not fail the shutdown
			log.Warn("spans could not be exported", "error", err)
		}
	}, nil
}

// IsTracing reports whether this process exports traces.
func IsTracing() bool {
	_, ok := otel.GetTracerProvider().(*sdktrace.TracerProvider)
	return ok
}
