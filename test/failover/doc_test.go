// Package failover kills the machines below a platform. The platform runs on a PostgreSQL primary
// with a synchronous standby, under Patroni with etcd, and on three NATS servers that keep three
// copies. A machine is a group of processes: killing it sends SIGKILL to all of them.
//
// While clients book, cancel, buy passes and receive webhooks, and repeat requests as
// docs/ERRORS.md requires, the test kills one of everything and then each machine. Nothing that was
// acknowledged may be lost, and nothing may be doubled. The test prints how long no client got an
// answer.
//
// It runs if FAILOVER_TEST is set, which make failover-test does after it has installed the
// requirements.
package failover

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// needEngines skips t unless FAILOVER_TEST is set, and fails it if an engine is not installed.
func needEngines(t *testing.T) {
	t.Helper()
	if os.Getenv("FAILOVER_TEST") == "" {
		t.Skip("kills machines for some minutes: make failover-test")
	}
	if runtime.GOOS != "linux" {
		t.Fatal("the processes of a machine are found in /proc, which only Linux has")
	}
	for _, program := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run make failover-test, which installs it", err)
		}
	}
}

// natsServer returns the path of the NATS server that the Makefile builds.
func natsServer(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".cache", "compose", "nats-server")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make failover-test, which builds it", err)
	}
	return path
}

// account returns the account that runs PostgreSQL, which does not run as root; nil: this one.
func account(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := number(t, u.Uid), number(t, u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
