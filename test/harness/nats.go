package harness

import (
	"net"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a NATS server with JetStream on a fixed loopback port, in the test process or in its
// own process.
type NATS struct {
	dir     string
	opts    server.Options
	server  *server.Server
	process *Process // nil: runs in the test process
}

// StartNATS runs a server that stores its streams below dir, until the test ends.
func StartNATS(t testing.TB, dir string) *NATS {
	t.Helper()
	return startNATS(t, natsOptions(t, dir))
}

func natsOptions(t testing.TB, dir string) server.Options {
	return server.Options{
		Host: "127.0.0.1", Port: freePorts(t), StoreDir: dir, JetStream: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30, NoLog: true, NoSigs: true,
	}
}

func startNATS(t testing.TB, opts server.Options) *NATS {
	t.Helper()
	n := &NATS{dir: opts.StoreDir, opts: opts}
	n.Start(t)
	t.Cleanup(n.end)
	return n
}

// startNATSProcess is like StartNATS, but the server runs in its own process.
func startNATSProcess(t testing.TB, dir string) *NATS {
	t.Helper()
	n := &NATS{dir: dir, opts: server.Options{Port: freePorts(t)}}
	env := map[string]string{"NATS_PORT": strconv.Itoa(n.opts.Port), "NATS_DIR": dir}
	n.process = newProcess(t, "nats", TempDir(t), env, Program(t, "nats"))
	n.Start(t)
	return n
}

// Start starts a server that was stopped.
func (n *NATS) Start(t testing.TB) {
	t.Helper()
	if n.process != nil {
		n.process.Start(t)
		n.process.await(t, "listening", func() error {
			conn, err := net.Dial("tcp", loopback(n.opts.Port))
			if err == nil {
				conn.Close()
			}
			return err
		})
		return
	}
	opts := n.opts // the server changes its options
	s, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	n.server = s
	if !s.ReadyForConnections(startLimit) {
		t.Fatal("the NATS server did not start")
	}
}

// Stop ends the server; its streams are kept.
func (n *NATS) Stop(t testing.TB) {
	t.Helper()
	if n.process != nil {
		n.process.Stop(t)
		return
	}
	n.end()
}

// Crash kills a server that runs in its own process with SIGKILL; its streams are kept.
func (n *NATS) Crash(t testing.TB) {
	t.Helper()
	n.process.Kill(t)
}

func (n *NATS) end() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}

// PID returns the process id of the server's own process, or 0 if it has none.
func (n *NATS) PID() int {
	if n.process == nil {
		return 0
	}
	return n.process.PID()
}

// Dir returns the directory of the server's streams.
func (n *NATS) Dir() string { return n.dir }

// URL returns the server's URL.
func (n *NATS) URL() string { return "nats://" + loopback(n.opts.Port) }
