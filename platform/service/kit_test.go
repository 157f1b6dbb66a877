package service

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// partEnv makes this test binary run as the process of the service it names.
const partEnv = "SERVICE_TEST_PART"

func TestMain(m *testing.M) {
	if name := os.Getenv(partEnv); name != "" {
		Main(processPart(name))
		return
	}
	testkit.Main(m)
}

const patience = time.Minute

const (
	empty = "/grpc.testing.TestService/EmptyCall"
	unary = "/grpc.testing.TestService/UnaryCall"
)

func schema() pg.Migrations {
	return pg.Migrations{Part: "sample", AppRole: testkit.AppRole(), FS: fstest.MapFS{
		"0001_things.sql": {Data: []byte("-- +goose Up\ncreate table things (id integer primary key);\n")},
	}}
}

// sample is a service with one gRPC service, for tests.
type sample struct {
	grpc_testing.UnimplementedTestServiceServer
	policy  rpc.Policy
	callers []string
	// before, if set, runs instead of the service's own members.
	before func(g *Group)

	entered chan struct{} // receives a value when a UnaryCall begins
	leave   chan struct{} // UnaryCall returns when it is closed
}

func newSample() *sample {
	policy := rpc.Policy{empty: rpc.Public, unary: rpc.AnyToken}
	for _, s := range grpc_testing.TestService_ServiceDesc.Streams {
		policy["/grpc.testing.TestService/"+s.StreamName] = rpc.AnyToken
	}
	for _, m := range grpc_testing.TestService_ServiceDesc.Methods {
		if name := "/grpc.testing.TestService/" + m.MethodName; policy[name] == "" {
			policy[name] = rpc.AnyToken
		}
	}
	return &sample{policy: policy, entered: make(chan struct{}, 10), leave: make(chan struct{})}
}

type sampleConfig struct{ Base Base }

func (s *sample) part() Part {
	return Part{
		Name: "sample", About: "a part for tests", Migrations: schema().FS, Callers: s.callers,
		Settings: func() any { return &sampleConfig{} }, Run: s.run,
	}
}

func (s *sample) run(ctx context.Context, h *Host) error {
	var cfg sampleConfig
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	k, err := Open(ctx, h, cfg.Base, s.part())
	if err != nil {
		return err
	}
	defer k.Close()
	srv := k.GRPC(s.policy)
	grpc_testing.RegisterTestServiceServer(srv, s)
	g := NewGroup(ctx, h.Log)
	k.Run(g)
	if s.before != nil {
		s.before(g)
	}
	g.Go("grpc", k.ServeGRPC(srv))
	return g.Wait()
}

func (s *sample) EmptyCall(context.Context, *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	return &grpc_testing.Empty{}, nil
}

func (s *sample) UnaryCall(ctx context.Context, _ *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	s.entered <- struct{}{}
	select {
	case <-s.leave:
		return &grpc_testing.SimpleResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// running is a service that serve runs, with its dependencies.
type running struct {
	t     testing.TB
	env   config.Env
	nats  *testkit.NATSServer
	proxy *testkit.Proxy
	bus   *bus.Bus
	key   ed25519.PrivateKey
	stop  context.CancelFunc
	done  chan struct{}
	ended error
	conn  *grpc.ClientConn
}

// prepare creates the database and NATS of a service without starting it.
func prepare(t testing.TB) *running {
	t.Helper()
	_, appURL := testkit.DBURLs(t, schema())
	r := &running{t: t, nats: testkit.NewNATSServer(t), done: make(chan struct{}), key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	r.proxy, appURL = testkit.NewProxy(t, appURL)
	r.env = config.Env{
		"DATABASE_URL": appURL, "NATS_URL": r.nats.URL(), "GRPC_ADDR": testkit.FreeAddr(t), "ADMIN_ADDR": testkit.FreeAddr(t), "LOG_LEVEL": "error",
	}
	r.bus = r.nats.Connect(t, bus.Config{})
	if err := r.bus.EnsureStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// publishKeys publishes the signing keys that a service's verifier waits for.
func (r *running) publishKeys() {
	r.t.Helper()
	k := token.NewJWK("a", r.key.Public().(ed25519.PublicKey))
	payload, err := proto.Marshal(&authv1.SigningKeysChanged{Version: 1, Keys: []*authv1.JsonWebKeySnapshot{{
		Kid: k.Kid, Kty: k.Kty, Crv: k.Crv, X: k.X, Alg: k.Alg, Use: k.Use,
	}}})
	if err == nil {
		_, err = r.bus.Publish(r.t.Context(), []bus.Message{{
			ID: id.NewUUID(), Subject: "auth.v1.signing_keys_changed.all", Payload: payload, OccurredAt: time.Now(),
		}})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// start runs the service like its process does, except for signals.
func (r *running) start(p Part) {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	r.stop = stop
	go func() {
		defer close(r.done)
		r.ended = serve(ctx, p, r.env)
	}()
	r.t.Cleanup(func() {
		stop()
		<-r.done
	})
	conn, err := rpc.Dial(r.env["GRPC_ADDR"], rpc.DialOptions{Timeout: patience})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	r.conn = conn
}

// wait returns the error that the service ended with.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case <-r.done:
		return r.ended
	case <-time.After(patience):
		r.t.Fatal("the service does not end")
		return nil
	}
}

// caller returns ctx with the token of a caller.
func (r *running) caller() context.Context {
	r.t.Helper()
	raw, err := token.Sign(r.key, "a", "reservation", token.Claims{
		Subject: "m2m_1", Kind: token.KindClient, Company: id.New[id.Company](), IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return rpc.WithClaims(r.t.Context(), &token.Claims{Raw: raw})
}

// readiness is the response of /readyz.
type readiness struct {
	Ready      bool
	WaitingFor []string `json:"waiting_for"`
	Reasons    map[string]string
	code       int
}

func (r *running) readiness() (got readiness, err error) {
	code, body, err := r.get("/readyz")
	if err != nil {
		return got, err
	}
	got.code = code
	return got, json.Unmarshal([]byte(body), &got)
}

// awaits waits until the service is ready, or until its reasons are exactly names.
func (r *running) awaits(names ...string) {
	r.t.Helper()
	want := http.StatusOK
	if len(names) > 0 {
		want = http.StatusServiceUnavailable
	}
	testkit.Eventually(r.t, patience, func() error {
		got, err := r.readiness()
		if err == nil && (got.code != want || got.Ready != (len(names) == 0) || strings.Join(got.WaitingFor, ",") != strings.Join(names, ",")) {
			err = fmt.Errorf("got %+v, want to wait for %q", got, names)
		}
		return err
	})
}

func (r *running) get(path string) (int, string, error) {
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + r.env["ADMIN_ADDR"] + path)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// loseDatabase closes the connections to the database and refuses new ones.
func (r *running) loseDatabase() {
	r.proxy.Refuse.Store(1 << 30)
	r.proxy.Cut()
}

func (r *running) regainDatabase() { r.proxy.Refuse.Store(0) }
