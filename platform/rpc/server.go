package rpc

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// The largest messages, in bytes. What a server takes is decoded from them only
// after the caller is admitted.
const (
	// MaxMessage is that of an answer, or of one message of a stream of answers.
	MaxMessage = 16 << 20
	// MaxRequest is that of a request: a batch of an import, which are the largest.
	MaxRequest = 5 << 20
	// maxPublicRequest is that of a request which needs no token.
	maxPublicRequest = 16 << 10
)

// maxStreams is how many calls of one connection a server works at. A gateway has
// one connection to each process of a service: further calls wait on its side.
const maxStreams = 1024

// maxHeaders is the most that the headers and trailers of a call may have, in bytes:
// the largest token, and with room to spare the largest fault (fault.MaxWire).
const maxHeaders = 64 << 10

// The bytes that the other side may send before they are read.
const (
	// window is for a connection, and for the answers of a stream: a document of
	// many chunks flows without a wait for each.
	window = 4 << 20
	// requestWindow is for the request of a stream, which may wait until its caller
	// is admitted. gRPC enlarges it to the length of the message that it reads. It
	// is the smallest that gRPC takes.
	requestWindow = 64 << 10
)

// pingEvery is how often an idle client asks whether the server is there.
const pingEvery = 20 * time.Second

const (
	defaultMaxAge        = 10 * time.Minute
	defaultReceiveWithin = 10 * time.Second
)

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
	// ReceiveWithin is how long the request of a public method may take to arrive;
	// 0: 10 s.
	ReceiveWithin time.Duration
	// TLS is the certificate by which the server is known, and whose authority's
	// alone it takes calls from; nil: none, from anybody.
	TLS *mtls.Files
	// Callers are the names of the certificates that may call; with TLS alone.
	Callers []string
}

// NewServer returns a server with health and reflection, on which the part
// registers its services.
func NewServer(o ServerOptions) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Health == nil {
		o.Health = health.NewServer()
	}
	if o.MaxAge == 0 {
		o.MaxAge = defaultMaxAge
	}
	if o.ReceiveWithin == 0 {
		o.ReceiveWithin = defaultReceiveWithin
	}
	durations, err := newDurations(o.Metrics, o.Part)
	if err != nil {
		o.Log.Error("rpc metrics are not collected", "error", err.Error())
	}
	g := &guard{
		log: o.Log, verifier: o.Verifier, policy: o.Policy.complete(),
		idempotency: o.Idempotency, durations: durations, receiveWithin: o.ReceiveWithin,
	}
	if g.bounds, err = bounds.NewChecker(); err != nil {
		panic(err) // cannot be: it depends on no setting
	}
	if o.TLS != nil {
		g.callers = newCallers(o.Callers, o.Log)
	}
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(messages{encoding.GetCodecV2(proto.Name)}),
		grpc.MaxRecvMsgSize(MaxRequest),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.InitialWindowSize(requestWindow),
		grpc.InitialConnWindowSize(window),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders),
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
	srv := &Server{grpcServer: grpc.NewServer(opts...), guard: g}
	grpc_health_v1.RegisterHealthServer(srv, healthServer{o.Health})
	reflection.Register(srv)
	return srv
}
