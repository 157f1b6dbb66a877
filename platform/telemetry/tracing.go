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

// endpointSetting turns tracing on.
const endpointSetting = "OTEL_EXPORTER_OTLP_ENDPOINT"

// flushTimeout bounds the sending of the last spans at the end of a process.
const flushTimeout = 3 * time.Second

// Tracing sends the spans of this process to OTEL_EXPORTER_OTLP_ENDPOINT over
// gRPC; the other OTEL_* variables apply as OpenTelemetry defines them. Without
// an endpoint it does nothing. The returned function sends what is left; log is
// told of what could not be sent.
//
// OpenTelemetry keeps the tracer provider per process, so this is called once,
// before any server or client is built.
func Tracing(ctx context.Context, part string, env config.Env, log *slog.Logger) (flush func(), err error) {
	endpoint := env[endpointSetting]
	if endpoint == "" {
		return func() {}, nil
	}
	// The exporter would take what it cannot read for localhost.
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%s is not a URL like http://collector:4317", endpointSetting)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint),
		// As in rpc.Dial: in a network without a way out nobody answers the question
		// for a TXT record, and the spans of the first half minute would be lost.
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
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans are lost", "error", err) }))
	otel.SetTracerProvider(provider)
	// No baggage: what a caller writes there would travel through every service.
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil { // which must not fail the end of the process
			log.Warn("spans are lost", "error", err)
		}
	}, nil
}

// IsTracing reports whether Tracing found an endpoint in this process.
func IsTracing() bool {
	_, ok := otel.GetTracerProvider().(*sdktrace.TracerProvider)
	return ok
}
