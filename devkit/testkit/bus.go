package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"reservation.dev/platform/bus"
)

// Bus connects t to a NATS server that the tests of the process share, with a prefix that only t
// uses. The streams exist. When t ends, they are deleted and the connection is closed. Another call
// in the same test returns another connection, like another process of the same platform.
func Bus(t testing.TB) *bus.Bus {
	t.Helper()
	s := sharedNATS(t)
	b := connect(t, BusConfig(t), nats.InProcessServer(s.running()))
	if err := b.EnsureStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// BusConfig returns the settings with which another process or connection uses the bus of t.
func BusConfig(t testing.TB) bus.Config {
	t.Helper()
	s := sharedNATS(t)
	if prefix, ok := process.prefixes.Load(t); ok {
		return bus.Config{URL: s.URL(), Prefix: prefix.(string)}
	}
	cfg := bus.Config{URL: s.URL(), Prefix: fmt.Sprintf("t%d", process.prefixCount.Add(1))}
	process.prefixes.Store(t, cfg.Prefix)
	t.Cleanup(func() {
		process.prefixes.Delete(t)
		s.removeStreams(t, cfg.Prefix)
	})
	return cfg
}

// NATSURL returns the loopback address of the shared server, for tests that run processes. The
// processes need the BUS_PREFIX of BusConfig.
func NATSURL(t testing.TB) string {
	t.Helper()
	return sharedNATS(t).URL()
}

func connect(t testing.TB, cfg bus.Config, opts ...nats.Option) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(t.Context(), cfg, Log(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

type onceNATS struct {
	once sync.Once
	s    *NATSServer
	err  error
}

func sharedNATS(t testing.TB) *NATSServer {
	t.Helper()
	needMain(t)
	o := &process.nats
	o.once.Do(func() {
		dir, err := os.MkdirTemp("", "testkit-nats-")
		if err != nil {
			o.err = err
			return
		}
		atExit(func() { _ = os.RemoveAll(dir) })
		s := &NATSServer{dir: dir, port: natsserver.RANDOM_PORT}
		if o.err = s.start(); o.err != nil {
			return
		}
		atExit(s.stop)
		o.s = s
	})
	if o.err != nil {
		t.Fatalf("no NATS for tests: %v", o.err)
	}
	return o.s
}

// NATSServer is a NATS server with JetStream that a test can stop and start again on the same port.
type NATSServer struct {
	dir string

	mu   sync.Mutex
	port int
	s    *natsserver.Server // nil while stopped
}

// NewNATSServer starts a NATS server that only t uses.
func NewNATSServer(t testing.TB) *NATSServer {
	t.Helper()
	port, err := process.ports.take()
	if err != nil {
		t.Fatal(err)
	}
	s := &NATSServer{dir: t.TempDir(), port: port}
	s.Start(t)
	t.Cleanup(s.stop)
	return s
}

// URL returns the server's address, which stays the same after a restart.
func (s *NATSServer) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("nats://127.0.0.1:%d", s.port)
}

// Dir returns the directory of the server's streams.
func (s *NATSServer) Dir() string { return s.dir }

// Connect connects to the server over TCP, as a service does.
func (s *NATSServer) Connect(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	cfg.URL = s.URL()
	return connect(t, cfg)
}

// Start starts a stopped server on the same port and with the same data.
func (s *NATSServer) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Stop stops the server; its data stays.
func (s *NATSServer) Stop(t testing.TB) {
	t.Helper()
	s.stop()
}

// Wipe deletes the data of a stopped server.
func (s *NATSServer) Wipe(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
}

const natsStartTime = time.Minute

func (s *NATSServer) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	srv, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: s.port, StoreDir: s.dir, JetStream: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30,
		NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(natsStartTime) {
		srv.Shutdown()
		return errors.New("nats: the server did not start")
	}
	s.port = srv.Addr().(*net.TCPAddr).Port
	s.s = srv
	return nil
}

func (s *NATSServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.s == nil {
		return
	}
	s.s.Shutdown()
	s.s.WaitForShutdown()
	s.s = nil
}

func (s *NATSServer) running() *natsserver.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}

// removeStreams deletes the streams of a test from the shared server.
func (s *NATSServer) removeStreams(t testing.TB, prefix string) {
	b, err := bus.Connect(context.Background(), bus.Config{Prefix: prefix}, Log(t), nats.InProcessServer(s.running()))
	if err != nil {
		t.Errorf("remove streams of %s: %v", prefix, err)
		return
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), natsStartTime)
	defer cancel()
	names := b.JetStream().StreamNames(ctx)
	for name := range names.Name() {
		if strings.HasPrefix(name, strings.ToUpper(prefix)+"_") {
			_ = b.JetStream().DeleteStream(ctx, name)
		}
	}
}

// busState holds what the tests of a process share to use the bus.
type busState struct {
	nats        onceNATS
	prefixes    sync.Map // testing.TB -> its prefix
	prefixCount atomic.Int64
}
