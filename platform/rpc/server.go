package rpc

import (
	"context"
	"log/slog"
	"runtime"
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
	"reservation.dev/platform/id"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// The largest sizes of messages, in bytes. A request is decoded only after its caller is admitted.
const (
	// MaxMessage is the largest response, or message of a response stream.
	MaxMessage = 16 << 20
	// MaxRequest is the largest request. The largest ones are batches of an import.
	MaxRequest = 5 << 20
	// maxPublicRequest is the largest request to a method that needs no token.
	maxPublicRequest = 16 << 10
)

// maxStreams is how many calls of one connection a server handles at the same time. A gateway has one
// connection to each process of a service, so further calls wait in the gateway. calls prevents one
// company from having them all.
const maxStreams = 1024

// maxHeaders is the largest size of the headers or trailers of a call, in bytes. It is enough for the
// largest token and more than enough for the largest fault (fault.MaxWire).
const maxHeaders = 64 << 10

// The flow-control windows: how many bytes the other side can send before they are read.
const (
	// window applies to a connection, and to the responses of a stream. It is large enough that a
	// document of many chunks flows without waiting for each chunk.
	window = 4 << 20
	// requestWindow applies to the request of a stream, which waits until its caller is admitted. It
	// is the smallest window of gRPC, which enlarges it to the length of the message to read.
	requestWindow = 64 << 10
)

// pingEvery is how often an idle client checks that the server responds.
const pingEvery = 20 * time.Second

const (
	defaultMaxAge        = 10 * time.Minute
	defaultReceiveWithin = 10 * time.Second
)

// ServerOptions are the options of a server.
type ServerOptions struct {
	// Log gets the internal errors; nil means slog.Default().
	Log *slog.Logger
	// Verifier checks the callers' tokens. It can be nil if all methods are Public.
	Verifier *token.Verifier
	Policy   Policy
	// Metrics registers rpc_server_duration_seconds; nil means that it is not exported.
	Metrics prometheus.Registerer
	// Part is the service's name, the label part of the metrics; "" means that Metrics adds it.
	Part string
	// Idempotency puts a received idempotency key, its caller and the kind of resource of the method
	// into the context; nil means that keys are ignored. See idem.WithKey.
	Idempotency func(ctx context.Context, key, caller, kind string) context.Context
	// Health serves grpc.health.v1; nil means a server that always reports serving.
	Health grpc_health_v1.HealthServer
	// MaxAge is how long a connection can live; 0 means 10 min.
	MaxAge time.Duration
	// ReceiveWithin is how long the request of a public method can take to arrive; 0 means 10 s.
	ReceiveWithin time.Duration
	// TLS has the server's certificate, and the authority that must have signed the certificates of
	// callers; nil means that calls need no certificate.
	TLS *mtls.Files
	// Callers are the names of the certificates that can call the server. Used only with TLS.
	Callers []string
}

// NewServer returns a server with health and reflection. Register further services on it.
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
		calls: calls{companies: map[id.Company]int{}},
	}
	if g.bounds, err = bounds.NewChecker(); err != nil {
		panic(err) // cannot happen: it depends on no setting
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
		// Workers keep their stacks. The stack of a new goroutine grows several times during a call,
		// which costs a tenth of a read. Calls beyond the workers get goroutines of their own.
		grpc.NumStreamWorkers(uint32(2 * runtime.GOMAXPROCS(0))),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 10 * time.Second,
			// Clients then look up the addresses again and find new replicas, and both sides check
			// the certificates again.
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
