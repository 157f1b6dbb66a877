package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// lostFor is how long calls wait for a service whose last process has just gone:
// while processes are replaced one after the other, the one that is back may not
// have been noticed when the next one goes. A service that is away for longer is
// told so at once.
const lostFor = 3 * time.Second

// DialOptions is what a connection can differ in.
type DialOptions struct {
	// Timeout bounds a unary call whose context has no deadline; 0: 5 s.
	Timeout time.Duration
	// TLS is the certificate of this process; nil: none, and none is asked for.
	TLS *mtls.Files
	// Part is the part that is called: a name that its certificate must have,
	// unless it is for the host of the address. With TLS alone.
	Part string
}

const (
	defaultTimeout = 5 * time.Second
	// A connection that was lost is taken up again at once, and then at growing
	// intervals, none of which makes callers wait long for a service that is back.
	firstRetry     = 100 * time.Millisecond
	longestRetry   = 2 * time.Second
	connectTimeout = 5 * time.Second
)

// Dial returns a connection to the service at addr: host:port, or any gRPC
// target, spread over all addresses of the host, or several host:port separated by
// commas, spread over these. A process that is away gets no calls until it is
// back. It connects at the first call; errors are about addr. Errors of calls are
// read by fault.From.
func Dial(addr string, o DialOptions) (*grpc.ClientConn, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	security := insecure.NewCredentials()
	if o.TLS != nil {
		security = o.TLS.Client(o.Part)
	}
	c := &caller{timeout: o.Timeout}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithUnaryInterceptor(c.unary),
		grpc.WithStreamInterceptor(c.stream),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		// Nor is another one looked for: a network without a way out may leave the
		// question for a TXT record without an answer, and calls would wait for it.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxRequest)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestRetry},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: 5 * time.Second, PermitWithoutStream: true}),
	}
	if telemetry.IsTracing() {
		opts = append(opts, grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
	}
	if strings.Contains(addr, ",") {
		list, err := parseAddresses(addr)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		addr = listScheme + ":///"
		opts = append(opts, grpc.WithResolvers(list))
	}
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return conn, nil
}

// caller is the outgoing side of every call.
type caller struct {
	timeout time.Duration
	// answered is when a process last took a call, in nanoseconds since 1970.
	answered atomic.Int64
}

func (c *caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	out, own, err := outgoingContext(ctx)
	if err != nil {
		return err
	}
	err = within(ctx, c.send(ctx, cc, func() error { return invoke(out, method, req, reply, cc, opts...) }))
	if own.source == nil || status.Code(err) != codes.Unauthenticated {
		return err
	}
	// Our credential was rotated since the token came. The call was refused
	// before it did anything, so it can be made again.
	own.source.Forget(own.raw)
	out, again, tokenErr := outgoingContext(ctx)
	if tokenErr != nil || again.raw == own.raw {
		return err
	}
	return within(ctx, invoke(out, method, req, reply, cc, opts...))
}

// within returns what an error means for the request that is being served with
// ctx: that the other part does not know ours is no fault of the caller's.
func within(ctx context.Context, err error) error {
	if status.Code(err) != codes.PermissionDenied || identityOf(ctx).requestID == "" || fault.From(err).Reason != fault.ReasonCallerNotAllowed {
		return err
	}
	return fault.New(fault.Internal, fault.ReasonInternal, "internal error").Because(err)
}

func (c *caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	out, own, err := outgoingContext(ctx)
	if err != nil {
		return nil, err
	}
	var cs grpc.ClientStream
	err = c.send(ctx, cc, func() (err error) {
		cs, err = open(out, desc, cc, method, opts...)
		return err
	})
	if err != nil {
		return cs, within(ctx, err)
	}
	return &clientStream{ClientStream: cs, served: ctx, own: own}, nil
}

// clientStream forgets a token of our own that the server refuses.
type clientStream struct {
	grpc.ClientStream
	served context.Context // the one that the stream was opened with
	own    ownToken
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.own.source != nil && status.Code(err) == codes.Unauthenticated {
		s.own.source.Forget(s.own.raw)
	}
	return within(s.served, err)
}

// unsigned returns ctx for the call that gets a token: it must not wait for the
// very token that it gets.
func unsigned(ctx context.Context, requestID string) context.Context {
	return withIdentity(context.WithValue(ctx, outgoingKey{}, (*outgoing)(nil)), identity{requestID: requestID})
}

// ownToken is the token of a Source that a call was made with.
type ownToken struct {
	source *token.Source
	raw    string
}

// outgoingContext returns ctx with the metadata of the package's table and no other.
func outgoingContext(ctx context.Context) (context.Context, ownToken, error) {
	in, out := identityOf(ctx), outgoingOf(ctx)
	md := make(metadata.MD, 4)
	if in.requestID != "" {
		md[mdRequestID] = []string{in.requestID}
	}
	if out.key != "" {
		md[mdIdempotency] = []string{out.key}
	}
	own := ownToken{source: out.source}
	switch {
	case out.source != nil:
		raw, err := out.source.Token(unsigned(ctx, in.requestID))
		if err != nil {
			if ctx.Err() != nil {
				return nil, own, status.FromContextError(ctx.Err()).Err()
			}
			return nil, own, fault.Away(fmt.Errorf("token of our own: %w", err))
		}
		own.raw = raw
		md[mdAuthorization] = []string{"Bearer " + raw}
		if !out.company.IsZero() {
			md[mdCompany] = []string{out.company.String()}
		}
	case in.claims != nil:
		md[mdAuthorization] = []string{"Bearer " + in.claims.Raw}
		if in.company != in.claims.Company {
			md[mdCompany] = []string{in.company.String()}
		}
	}
	return metadata.NewOutgoingContext(ctx, md), own, nil
}
