package rpc

import (
	"context"
	"fmt"
	"slices"
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
	"reservation.dev/platform/origin"
	"reservation.dev/platform/telemetry"
	"reservation.dev/platform/token"
)

// reconnectTime is how long calls wait for a service whose last process has just ended. In a rolling
// restart, the client may not yet have noticed the new process when the next old one ends. Calls to a
// service that has been unavailable for longer fail immediately.
const reconnectTime = 3 * time.Second

// DialOptions are the options of a connection.
type DialOptions struct {
	// Timeout limits a unary call whose context has no deadline; 0 means 5 s.
	Timeout time.Duration
	// TLS has the certificate of this process; nil means that neither side uses TLS.
	TLS *mtls.Files
	// Part is the name of the called service. The service's certificate must have this name or the
	// host of the address. Used only with TLS.
	Part string
}

const (
	defaultTimeout = 5 * time.Second
	// A lost connection is retried immediately, and then at growing intervals. They stay short, so
	// that callers do not wait long for a service that is available again.
	firstRetry     = 100 * time.Millisecond
	longestRetry   = 2 * time.Second
	connectTimeout = 5 * time.Second
)

// Dial returns a connection to the service at addr. addr is host:port or any gRPC target, whose calls
// are spread over all addresses of the host, or several host:port separated by commas. A process that
// does not respond gets no calls until it is available again. The connection is made at the first
// call, so an error means that addr is invalid. Use fault.From to read the errors of calls.
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
		// Do not look up a service config in DNS. In a network without a route to the outside, the
		// lookup of the TXT record may never be answered, and calls would wait for it.
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

// caller has the client interceptors of a connection.
type caller struct {
	timeout time.Duration
	// lastAnswer is the time of the last call that reached a process, in nanoseconds since 1970.
	lastAnswer atomic.Int64
}

func (c *caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	out, own, err := outgoingContext(ctx)
	if err != nil {
		return err
	}
	if replayed := outgoingOf(ctx).replayed; replayed != nil {
		var trailer metadata.MD
		opts = append(slices.Clip(opts), grpc.Trailer(&trailer))
		defer func() {
			if err == nil && len(trailer[mdReplayed]) > 0 {
				replayed.Store(true)
			}
		}()
	}
	err = servedError(ctx, c.send(ctx, cc, func() error { return invoke(out, method, req, reply, cc, opts...) }))
	if own.source == nil || status.Code(err) != codes.Unauthenticated {
		return err
	}
	// The service's own credential was rotated after the token was issued. The call was refused
	// before it had any effect, so it can be repeated.
	own.source.Forget(own.raw)
	out, again, tokenErr := outgoingContext(ctx)
	if tokenErr != nil || again.raw == own.raw {
		return err
	}
	return servedError(ctx, invoke(out, method, req, reply, cc, opts...))
}

// servedError converts the error of a call to an error of the request that is served with ctx. If the
// other service does not allow calls from this one, that is an internal error and not the fault of
// the request's caller.
func servedError(ctx context.Context, err error) error {
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
		return cs, servedError(ctx, err)
	}
	return &clientStream{ClientStream: cs, served: ctx, own: own}, nil
}

// clientStream is a stream that forgets the service's own token if the server refuses it.
type clientStream struct {
	grpc.ClientStream
	served context.Context // the context with which the stream was opened
	own    ownToken
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.own.source != nil && status.Code(err) == codes.Unauthenticated {
		s.own.source.Forget(s.own.raw)
	}
	return servedError(s.served, err)
}

// withoutCredentials returns ctx without credentials, for the call that gets a token. Otherwise this
// call would wait for its own result.
func withoutCredentials(ctx context.Context, requestID string) context.Context {
	return withIdentity(context.WithValue(ctx, outgoingKey{}, (*outgoing)(nil)), identity{requestID: requestID})
}

// ownToken is the token of a call that was made with a Source.
type ownToken struct {
	source *token.Source
	raw    string
}

// outgoingContext returns ctx with exactly the metadata in the table of the package documentation.
func outgoingContext(ctx context.Context) (context.Context, ownToken, error) {
	in, out := identityOf(ctx), outgoingOf(ctx)
	md := make(metadata.MD, 4)
	if in.requestID != "" {
		md[mdRequestID] = []string{in.requestID}
	}
	if out.key != "" {
		md[mdIdempotency] = []string{out.key}
	}
	if origin.IsEvent(ctx) {
		md[mdOrigin] = []string{originEvent}
	}
	own := ownToken{source: out.source}
	switch {
	case out.source != nil:
		raw, err := out.source.Token(withoutCredentials(ctx, in.requestID))
		if err != nil {
			if ctx.Err() != nil {
				return nil, own, status.FromContextError(ctx.Err()).Err()
			}
			return nil, own, fault.Away(fmt.Errorf("the service's own token: %w", err))
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
