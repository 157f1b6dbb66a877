package testkit

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
)

// process holds what the tests of one process share. It is this package's only variable: a test
// binary has no main function of its own that could hold it.
var process shared

type shared struct {
	mu    sync.Mutex
	main  bool
	exits []func()

	server    onceServer
	templates sync.Map // template key -> *template
	ports     ports

	busState
}

// Main runs the tests, stops the servers that they shared, and exits. Every package that uses a
// shared resource of testkit calls it from TestMain. It hides the machine's PostgreSQL client
// settings, such as PGSERVICE, from the tests.
func Main(m *testing.M) {
	if err := pgserver.ForgetClientSettings(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	process.mu.Lock()
	process.main = true
	process.mu.Unlock()
	code := m.Run()
	runExits()
	os.Exit(code)
}

// atExit registers f to run after the last test. The functions run in reverse order.
func atExit(f func()) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.exits = append(process.exits, f)
}

func runExits() {
	for {
		process.mu.Lock()
		n := len(process.exits)
		if n == 0 {
			process.mu.Unlock()
			return
		}
		f := process.exits[n-1]
		process.exits = process.exits[:n-1]
		process.mu.Unlock()
		f()
	}
}

// needMain fails t if its package does not call Main and would leave servers running.
func needMain(t testing.TB) {
	t.Helper()
	process.mu.Lock()
	defer process.mu.Unlock()
	if !process.main {
		t.Fatal("this package needs: func TestMain(m *testing.M) { testkit.Main(m) }")
	}
}

// Eventually calls cond until it returns nil, and fails the test with cond's last error after
// timeout. It is for conditions that another process fulfils; for the test's own goroutines, use
// channels.
func Eventually(t testing.TB, timeout time.Duration, cond func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", timeout, err)
		}
		time.Sleep(pause)
	}
}

// Log returns a logger that writes to the test's output until the test ends, and then drops
// everything.
func Log(t testing.TB) *slog.Logger {
	t.Helper()
	out := &testOutput{t: t}
	t.Cleanup(out.stop)
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testOutput drops output after the end of the test, when t.Log would panic.
type testOutput struct {
	mu   sync.Mutex
	t    testing.TB
	over bool
}

var _ io.Writer = (*testOutput)(nil)

func (o *testOutput) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.t.Log(string(bytes.TrimRight(line, "\n")))
	}
	return len(line), nil
}

func (o *testOutput) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

// complain reports errors at the end of the process, when no test can fail any more.
func complain(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "testkit: "+format+"\n", args...)
}
