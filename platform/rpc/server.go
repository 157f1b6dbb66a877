package rpc

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"reservation.dev/platform/mtls"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// MaxMessage is the largest message that servers and clients take, in bytes.
const MaxMessage = 16 << 20

// window is how much of a stream may be under way, in bytes: enough for a
// document of many chunks to flow without waiting for each.
const window = 4 << 20

// pingEvery is how often an idle client asks whether the server is there.
const pingEvery = 20 * time.Second

const defaultMaxAge = 10 * time.Minute

// ServerOptions is what a server is built from.
type ServerOptions struct {
	// Log gets the internal errors; nil: slog.Default().
	Log *slog.Logger
	// Verifier checks the callers' tokens; it may be nil where all is Public.
	Verifier *token.Verifier
	Policy   Policy
	// Metrics gets rpc_server_duration_seconds; nil: nobody.
	Metrics prometheus.Registerer
	// Part is the label of the metrics; "": Metrics adds it by itself.
	Part string
	// Idempotency puts a received idempotency key and its caller into the
	// context; nil: keys are ignored. See idem.WithKey.
	Idempotency func(ctx context.Context, key, caller string) context.Context
	// Health answers grpc.health.v1; nil: serving, always.
	Health grpc_health_v1.HealthServer
	// MaxAge is how long a connection may live; 0: 10 min.
	MaxAge time.Duration
	// TLS is the certificate by which the server is known, and whose authority's
	// alone it takes calls from; nil: none, from anybody.
	TLS *mtls.Files
	// Callers are the names of the certificates that may call; with TLS alone.
	Callers []string
}

// NewServer returns a server with health and reflection, on which the part
// registers its services.
func NewServer(o ServerOptions) *grpc.Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Health == nil {
		o.Health = health.NewServer()
	}
	if o.MaxAge == 0 {
		o.MaxAge = defaultMaxAge
	}
	durations, err := newDurations(o.Metrics, o.Part)
	if err != nil {
		o.Log.Error("rpc metrics are not collected", "error", err.Error())
	}
	g := &guard{
		log: o.Log, verifier: o.Verifier, policy: o.Policy.complete(),
		idempotency: o.Idempotency, durations: durations,
	}
	if o.TLS != nil {
		g.callers = newCallers(o.Callers, o.Log)
	}
	opts := []grpc.ServerOption{
		grpc.UnaryInterceptor(g.unary),
		grpc.StreamInterceptor(g.stream),
		grpc.MaxRecvMsgSize(MaxMessage),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.MaxConcurrentStreams(4096),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 10 * time.Second,
			// Clients look up our addresses anew, and so find new replicas; and both
			// sides show their certificates again.
			MaxConnectionAge: o.MaxAge,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingEvery / 2, PermitWithoutStream: true}),
	}
	if o.TLS != nil {
		opts = append(opts, grpc.Creds(o.TLS.Server()))
	}
	if telemetry.IsTracing() {
		opts = append(opts, grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))))
	}
	srv := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(srv, healthServer{o.Health})
	reflection.Register(srv)
	return srv
}
