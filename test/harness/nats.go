package harness

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a NATS server with JetStream in the test process, on a loopback port
// that it keeps.
type NATS struct {
	opts   server.Options
	server *server.Server
}

// StartNATS runs a server that keeps its streams below dir until the test ends.
func StartNATS(t testing.TB, dir string) *NATS {
	t.Helper()
	n := &NATS{opts: server.Options{
		Host: "127.0.0.1", Port: freePorts(t), StoreDir: dir, JetStream: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30, NoLog: true, NoSigs: true,
	}}
	n.Start(t)
	t.Cleanup(n.end)
	return n
}

// Start starts a server that was stopped.
func (n *NATS) Start(t testing.TB) {
	t.Helper()
	opts := n.opts // the server changes what it is given
	s, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	n.server = s
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server did not start")
	}
}

// Stop ends the server; its streams stay.
func (n *NATS) Stop(testing.TB) { n.end() }

func (n *NATS) end() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}

// URL is where the server listens.
func (n *NATS) URL() string { return "nats://" + loopback(n.opts.Port) }
