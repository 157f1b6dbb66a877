package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// DialOptions is what a connection can differ in.
type DialOptions struct {
	// Timeout bounds a unary call whose context has no deadline; 0: 5 s.
	Timeout time.Duration
	// Credentials is TLS; nil: none.
	Credentials credentials.TransportCredentials
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
	if o.Credentials == nil {
		o.Credentials = insecure.NewCredentials()
	}
	c := &caller{timeout: o.Timeout}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(o.Credentials),
		grpc.WithUnaryInterceptor(c.unary),
		grpc.WithStreamInterceptor(c.stream),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		// Nor is another one looked for: a network without a way out may leave the
		// question for a TXT record without an answer, and calls would wait for it.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
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
type caller struct{ timeout time.Duration }

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
	err = invoke(out, method, req, reply, cc, opts...)
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
	return invoke(out, method, req, reply, cc, opts...)
}

func (c *caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	out, own, err := outgoingContext(ctx)
	if err != nil {
		return nil, err
	}
	cs, err := open(out, desc, cc, method, opts...)
	if err != nil || own.source == nil {
		return cs, err
	}
	return &clientStream{ClientStream: cs, own: own}, nil
}

// clientStream forgets a token of our own that the server refuses.
type clientStream struct {
	grpc.ClientStream
	own ownToken
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if status.Code(err) == codes.Unauthenticated {
		s.own.source.Forget(s.own.raw)
	}
	return err
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
