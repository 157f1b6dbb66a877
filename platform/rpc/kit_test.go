package rpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

const patience = time.Minute

// The methods of the test service.
const (
	empty   = "/grpc.testing.TestService/EmptyCall"
	unary   = "/grpc.testing.TestService/UnaryCall"
	output  = "/grpc.testing.TestService/StreamingOutputCall"
	duplex  = "/grpc.testing.TestService/FullDuplexCall"
	unnamed = "/grpc.testing.TestService/CacheableUnaryCall" // has no policy
)

// part is a process with one test service and a client of it. A test sets the behaviour of its
// methods.
type part struct {
	grpc_testing.UnimplementedTestServiceServer
	t       testing.TB
	issuer  *tokentest.Issuer
	company id.Company
	log     *logBuffer
	addr    string
	srv     *rpc.Server
	conn    *grpc.ClientConn
	client  grpc_testing.TestServiceClient

	once  sync.Once
	token string // the token of request

	mu sync.Mutex
	do func(ctx context.Context) error
}

// newPart starts a part. If change is not nil, it can change the options.
func newPart(t testing.TB, change func(*rpc.ServerOptions)) *part {
	t.Helper()
	p := &part{t: t, issuer: tokentest.New(t), company: id.New[id.Company](), log: &logBuffer{}}
	p.serve(testkit.FreeAddr(t), change) // a test may serve on it again
	p.conn = dial(t, p.addr, rpc.DialOptions{Timeout: patience})
	p.client = grpc_testing.NewTestServiceClient(p.conn)
	return p
}

func dial(t testing.TB, addr string, o rpc.DialOptions) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (p *part) serve(addr string, change func(*rpc.ServerOptions)) {
	p.t.Helper()
	o := rpc.ServerOptions{
		Log:      slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Verifier: p.issuer.Verifier,
		Policy:   rpc.Policy{empty: rpc.Public, unary: "customers:read|profile:read", output: "bookings:read", duplex: rpc.AnyToken},
	}
	if change != nil {
		change(&o)
	}
	p.srv = rpc.NewServer(o)
	grpc_testing.RegisterTestServiceServer(p.srv, p)
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.addr = ln.Addr().String()
	srv, done := p.srv, make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); err != nil {
			p.t.Error(err)
		}
	}()
	p.t.Cleanup(func() {
		srv.Stop()
		<-done
	})
}

// does sets the behaviour of the methods.
func (p *part) does(f func(ctx context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do = f
}

func (p *part) run(ctx context.Context) error {
	p.mu.Lock()
	do := p.do
	p.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx)
}

func (p *part) EmptyCall(ctx context.Context, _ *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	return &grpc_testing.Empty{}, p.run(ctx)
}

func (p *part) UnaryCall(ctx context.Context, req *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	res := &grpc_testing.SimpleResponse{Payload: &grpc_testing.Payload{Body: make([]byte, req.GetResponseSize())}}
	return res, p.run(ctx)
}

func (p *part) CacheableUnaryCall(ctx context.Context, _ *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	p.t.Error("a method without a policy was called")
	return &grpc_testing.SimpleResponse{}, nil
}

func (p *part) StreamingOutputCall(_ *grpc_testing.StreamingOutputCallRequest, s grpc.ServerStreamingServer[grpc_testing.StreamingOutputCallResponse]) error {
	if err := s.Send(&grpc_testing.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	return p.run(s.Context())
}

// output reads the stream to its end.
func (p *part) output(ctx context.Context) error {
	s, err := p.client.StreamingOutputCall(ctx, &grpc_testing.StreamingOutputCallRequest{})
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// as returns ctx with the claims of the token raw, as after it was verified.
func (p *part) as(raw string) context.Context {
	p.t.Helper()
	c, err := p.issuer.Verifier.Verify(p.t.Context(), raw)
	if err != nil {
		p.t.Fatal(err)
	}
	return rpc.WithClaims(p.t.Context(), c)
}

// reader returns the ctx of a caller that can call UnaryCall and StreamingOutputCall.
func (p *part) reader() context.Context {
	return p.as(p.issuer.Client(p.company, "customers:read", "bookings:read"))
}

// signed returns ctx with the token of reader, for a client without the interceptors of package rpc.
func (p *part) signed() context.Context {
	p.t.Helper()
	raw := p.issuer.Client(p.company, "customers:read", "bookings:read")
	return metadata.AppendToOutgoingContext(p.t.Context(), "authorization", "Bearer "+raw)
}

// raw calls method with the given metadata, without the client's interceptors.
func (p *part) raw(method string, md ...string) error {
	p.t.Helper()
	conn, err := grpc.NewClient(p.addr, insecureCreds())
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(p.t.Context(), md...), patience)
	defer cancel()
	return conn.Invoke(ctx, method, &grpc_testing.SimpleRequest{}, &grpc_testing.SimpleResponse{})
}

// strangersClient is a client without the size limits and interceptors of package rpc.
func (p *part) strangersClient() grpc_testing.TestServiceClient {
	p.t.Helper()
	conn, err := grpc.NewClient(p.addr, insecureCreds())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	return grpc_testing.NewTestServiceClient(conn)
}

// received makes a call and returns the arguments of its handler.
func (p *part) received(call func() error) (got context.Context, md metadata.MD, err error) {
	p.does(func(ctx context.Context) error {
		got = ctx
		md, _ = metadata.FromIncomingContext(ctx)
		return nil
	})
	defer p.does(nil)
	err = call()
	return got, md, err
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(line)
}

// take returns the lines since the previous take.
func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

// fixed returns a source of one token.
func fixed(raw string) *token.Source {
	return token.NewSource(func(context.Context) (string, time.Time, error) {
		return raw, time.Now().Add(time.Hour), nil
	})
}

// registry gathers the metrics of one part.
type registry struct{ *prometheus.Registry }

func newRegistry() registry { return registry{prometheus.NewRegistry()} }

func (r registry) use(o *rpc.ServerOptions) { o.Metrics, o.Part = r, "test" }

func (r registry) count(t *testing.T, of string) uint64 {
	t.Helper()
	got, err := counts(r)
	if err != nil {
		t.Fatal(err)
	}
	return got[of]
}
