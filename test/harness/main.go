package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// process is the state that the tests of one process share. It is this package's only variable: a
// test binary has no main function of its own that could hold it.
var process shared

type shared struct {
	mu    sync.Mutex
	main  bool
	exits []func()

	programs programs
	ports    ports
}

// Main runs the tests, removes their shared files, and exits. Every package that uses the harness
// calls it from TestMain.
func Main(m *testing.M) {
	process.mu.Lock()
	process.main = true
	process.mu.Unlock()
	code := m.Run()
	process.mu.Lock()
	exits := process.exits
	process.mu.Unlock()
	for i := len(exits) - 1; i >= 0; i-- {
		exits[i]()
	}
	os.Exit(code)
}

// atExit registers f to run after the last test, in reverse order of registration.
func atExit(f func()) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.exits = append(process.exits, f)
}

// requireMain fails a test whose package would leave files behind.
func requireMain(t testing.TB) {
	t.Helper()
	process.mu.Lock()
	defer process.mu.Unlock()
	if !process.main {
		t.Fatal("this package needs: func TestMain(m *testing.M) { harness.Main(m) }")
	}
}

// Eventually calls cond until it returns nil, and fails the test with cond's last error after
// limit. Use it to wait for other processes.
func Eventually(t testing.TB, limit time.Duration, cond func() error) {
	t.Helper()
	if err := poll(limit, cond); err != nil {
		t.Fatalf("not within %s: %v", limit, err)
	}
}

// poll calls cond until it returns nil, or returns its last error after limit.
func poll(limit time.Duration, cond func() error) error {
	deadline := time.Now().Add(limit)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := cond()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// TempDir returns a directory that other accounts can enter, which PostgreSQL needs if the tests
// run as root. It is removed when t ends.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reservation-test-*")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		removeClusters(dir)
		// The children of a process that was killed can outlive it for a moment, and create files in a
		// directory that is being removed.
		if err := poll(killLimit, func() error { return os.RemoveAll(dir) }); err != nil {
			t.Errorf("%v", err)
		}
	})
	return dir
}

// removeClusters removes databases that were stored elsewhere because their account cannot enter
// the temporary directory. A file named instance holds their location.
func removeClusters(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, "*", "instance"))
	deeper, _ := filepath.Glob(filepath.Join(dir, "*", "*", "instance"))
	for _, file := range append(left, deeper...) {
		if name, err := os.ReadFile(file); err == nil && len(name) >= 16 {
			_ = os.RemoveAll(filepath.Join("/var/lib/reservation", string(name[:16])))
		}
	}
}

// logProblem prints a problem at the end of the process, when there is no test left to fail.
func logProblem(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "harness: "+format+"\n", args...)
}
