package failover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"reservation.dev/test/harness"
)

// machine is a group of processes that die together.
type machine struct {
	name                               string
	etcd, peers, nats, routes, monitor string
	postgres, patroni                  string // "": the machine has no PostgreSQL
	data                               string // PostgreSQL's directory
	engines                            []*harness.Process
	server                             *harness.Process // NATS, which is one of engines
	parts                              []*harness.Part
}

func (m *machine) String() string { return m.name }

// healthy returns an error unless the machine's etcd and NATS are members of their clusters.
func (m *machine) healthy(ctx context.Context) error {
	var etcd struct{ Health string }
	if err := getJSON(ctx, "http://"+m.etcd+"/health", &etcd); err != nil {
		return err
	}
	if etcd.Health != "true" {
		return fmt.Errorf("etcd is not healthy")
	}
	var nats struct{ Status string }
	if err := getJSON(ctx, "http://"+m.monitor+"/healthz", &nats); err != nil {
		return err
	}
	if nats.Status != "ok" {
		return fmt.Errorf("NATS is %s", nats.Status)
	}
	return nil
}

// kill sends SIGKILL to every process of the machine, and returns when they have ended.
func (m *machine) kill(t *testing.T) {
	t.Helper()
	for _, p := range m.engines {
		p.KillNow()
	}
	m.killPostgres()
	for _, p := range m.parts {
		p.KillNow()
	}
	for _, p := range m.engines {
		p.Kill(t)
	}
	for _, p := range m.parts {
		p.Kill(t)
	}
}

// killPostgres kills PostgreSQL's processes, which Patroni starts.
func (m *machine) killPostgres() { m.signalPostgres(syscall.SIGKILL) }

func (m *machine) signalPostgres(signal syscall.Signal) {
	if m.data == "" {
		return
	}
	for _, pid := range serverOf(m.data) {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

// suspend stops every process of the machine. It keeps its connections but answers nothing.
func (m *machine) suspend(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { m.kill(t) }) // a suspended process does not end otherwise
	for _, p := range m.engines {
		p.Pause()
	}
	m.signalPostgres(syscall.SIGSTOP)
	for _, p := range m.parts {
		p.Pause()
	}
}

// reset restarts a suspended machine, as its watchdog does.
func (m *machine) reset(t *testing.T) {
	t.Helper()
	m.kill(t)
	m.revive(t)
}

// serverOf returns the processes of the PostgreSQL server of a data directory.
func serverOf(data string) []int {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(text), "\n")
	main, err := strconv.Atoi(line)
	if err != nil {
		return nil
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", main))
	if err != nil || cwd != data {
		return nil // the file is that of an earlier server
	}
	all := []int{main}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", main, main))
	for child := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// revive starts everything on the machine.
func (m *machine) revive(t *testing.T) {
	t.Helper()
	for _, p := range m.engines {
		p.Start(t)
	}
	for _, p := range m.parts {
		p.Start(t)
	}
}

// guardScript waits until the test process ends, and then kills the PostgreSQL servers that it may
// have left. Patroni ends with the test process, but its PostgreSQL does not.
const guardScript = `cat; for file; do pid=$(head -n 1 "$file" 2>/dev/null) || continue
	[ "$(readlink "/proc/$pid/cwd")" = "$(dirname "$file")" ] && kill -9 "$pid"; done; exit 0`

// guard kills the PostgreSQL servers when t or the test process ends, no matter how.
func (e *engines) guard(t *testing.T) {
	t.Helper()
	args := []string{"-c", guardScript, "guard"}
	for _, m := range e.machines {
		if m.data != "" {
			args = append(args, filepath.Join(m.data, "postmaster.pid"))
		}
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(input.Close(), cmd.Wait()); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// executable returns the path of a program.
func executable(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
