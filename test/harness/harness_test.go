package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
)

// childDir names the environment variable with the working directory of a second test process.
const childDir = "HARNESS_CHILD_DIR"

func TestMain(m *testing.M) { Main(m) }

func TestPrograms(t *testing.T) { // invariant 1
	first := Program(t, "reservectl")
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a process builds a program once", func(t *testing.T) {
		again := Program(t, "reservectl")
		after, err := os.Stat(again)
		if err != nil || again != first || !os.SameFile(before, after) {
			t.Errorf("%s, then %s: %v", first, again, err)
		}
	})
	t.Run("a process does not build a program that an earlier process left up to date", func(t *testing.T) {
		other := &programs{}
		path, err := other.get([]string{"reservectl"})
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("it was built again: %v", err)
		}
	})
	t.Run("an unknown name is an error", func(t *testing.T) {
		if _, err := (&programs{}).get([]string{"nothing"}); err == nil {
			t.Error("an unknown program was built")
		}
	})
}

// recorder is a test whose failure does not fail the test that runs it.
type recorder struct {
	testing.TB
	mu   sync.Mutex
	said []string
	fail bool
}

func (r *recorder) note(fail bool, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
	r.fail = r.fail || fail
}

type stopped struct{}

func (r *recorder) Helper()                      {}
func (r *recorder) Cleanup(func())               {}
func (r *recorder) Errorf(f string, args ...any) { r.note(true, f, args...) }
func (r *recorder) Logf(f string, args ...any)   { r.note(false, f, args...) }
func (r *recorder) Fatalf(f string, args ...any) { r.note(true, f, args...); panic(stopped{}) }
func (r *recorder) Failed() bool                 { r.mu.Lock(); defer r.mu.Unlock(); return r.fail }
func (r *recorder) text() string                 { return strings.Join(r.said, "\n") }
func (r *recorder) try(do func(t testing.TB))    { defer func() { _ = recover() }(); do(r) }
func shell(t testing.TB, script string) *Process {
	return newProcess(t, "sh", t.TempDir(), nil, "/bin/sh", "-c", script)
}

func TestProcess(t *testing.T) {
	t.Run("a process that ends unexpectedly fails its test and prints its log", func(t *testing.T) { // invariant 4
		for _, script := range []string{"echo going; exit 3", "echo going"} {
			r := &recorder{TB: t}
			p := shell(r, script)
			p.Start(r)
			<-p.running.done
			p.end(r)
			if !r.fail || !strings.Contains(r.text(), "ended unexpectedly") || !strings.Contains(r.text(), "going") {
				t.Errorf("%s: %s", script, r.text())
			}
		}
	})
	t.Run("waiting for a process that has ended fails immediately", func(t *testing.T) { // invariant 2
		r := &recorder{TB: t}
		p := shell(r, "exit 3")
		p.Start(r)
		began := time.Now()
		r.try(func(t testing.TB) { p.await(t, "ready", func() error { return errors.New("no") }) })
		if !strings.Contains(r.text(), "exit status 3") || time.Since(began) > startLimit/2 {
			t.Errorf("after %s: %s", time.Since(began), r.text())
		}
		p.KillNow()
	})
	t.Run("a process that ignores SIGTERM is killed and its test fails", func(t *testing.T) { // invariant 2
		r := &recorder{TB: t}
		p := shell(r, "trap '' TERM; echo deaf; while :; do sleep 0.05; done")
		p.patience = 200 * time.Millisecond
		p.Start(r)
		pid := p.PID()
		Eventually(t, killLimit, func() error {
			if !strings.Contains(p.Log(), "deaf") {
				return errors.New("the process does not ignore SIGTERM yet")
			}
			return nil
		})
		p.end(r)
		if !r.fail || syscall.Kill(pid, 0) == nil {
			t.Errorf("failed %v, alive %v: %s", r.fail, syscall.Kill(pid, 0) == nil, r.text())
		}
	})
	t.Run("a paused process does not run until it is resumed", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("the state of a process is read from /proc, which only Linux has")
		}
		p := shell(t, "while :; do sleep 0.01; done")
		p.Start(t)
		await := func(still bool) {
			t.Helper()
			Eventually(t, killLimit, func() error {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
				if err == nil && strings.Contains(string(stat), ") T ") != still {
					err = fmt.Errorf("it is %s", stat)
				}
				return err
			})
		}
		await(false)
		p.Pause()
		await(true)
		p.Resume()
		await(false)
		p.Kill(t)
	})
	t.Run("a killed process can be started again and keeps its log", func(t *testing.T) {
		p := shell(t, "echo $$; exec sleep 100")
		for range 2 {
			p.Start(t)
			Eventually(t, killLimit, func() error {
				if !strings.Contains(p.Log(), strconv.Itoa(p.PID())) {
					return errors.New("the process has not started")
				}
				return nil
			})
			p.Kill(t)
		}
		if lines := strings.Split(p.Log(), "\n"); len(lines) != 2 {
			t.Errorf("the log is %q", lines)
		}
	})
	t.Run("a process does not inherit the environment of the test", func(t *testing.T) {
		t.Setenv("RESERVATION_TOKEN", "developer's")
		p := newProcess(t, "sh", t.TempDir(), map[string]string{"MINE": "yes"}, "/bin/sh", "-c", "env; exec sleep 100")
		p.Start(t)
		Eventually(t, killLimit, func() error {
			if !strings.Contains(p.Log(), "MINE=yes") {
				return errors.New("the process has not printed its environment yet")
			}
			return nil
		})
		if strings.Contains(p.Log(), "RESERVATION_TOKEN") {
			t.Errorf("got %s", p.Log())
		}
	})
}

func TestPorts(t *testing.T) { // invariant 5
	base := freePorts(t)
	t.Run("two test processes do not get the same ports", func(t *testing.T) {
		path := filepath.Join(os.TempDir(), "reservation-test-ports", strconv.Itoa(base))
		if f, err := lockFile(path, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			f.Close()
			t.Error("the block of ports is not locked")
		}
	})
	t.Run("ports in use are skipped", func(t *testing.T) {
		l, err := net.Listen("tcp", loopback(base+portsBlock-1))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := allFree(base); err == nil {
			t.Error("a block with a port in use counts as free")
		}
	})
}

// TestSlowNothingIsLeft checks invariant 3.
func TestSlowNothingIsLeft(t *testing.T) {
	dir := TempDir(t)
	t.Run("no process is left when the test ends", func(t *testing.T) {
		t.Setenv("TMPDIR", dir)
		t.Run("the test", runAll)
		NothingLeft(t, dir)
		if left, err := filepath.Glob(filepath.Join(dir, "reservation-test-[0-9]*")); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run("no process is left when the test process is sent "+sig.String(), func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.timeout", "2m")
			child.Env = append(os.Environ(), childDir+"="+dir, "TMPDIR="+dir)
			p, err := spawn(child, nil)
			if err != nil {
				t.Fatal(err)
			}
			Eventually(t, startLimit, func() error {
				select {
				case <-p.done:
					t.Fatalf("the test process ended: %v", p.err)
				default:
				}
				_, err := os.Stat(filepath.Join(dir, "running"))
				return err
			})
			if len(Leftovers(t, dir)) < 8 {
				t.Errorf("only these processes are running: %v", Leftovers(t, dir))
			}
			if err := child.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			<-p.done
			NothingLeft(t, dir)
			if err := os.Remove(filepath.Join(dir, "running")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// runAll runs everything that the harness can start.
func runAll(t *testing.T) {
	c := StartCluster(t, ClusterOptions{Gateways: 2, Durable: pgserver.Fast})
	s := StartStandalone(t, StandaloneOptions{})
	company := c.Operator(t).NewCompany(t, "Europe/London")
	a := c.A(t)
	a.Do(t, Request{Path: "/customers", Token: a.Token(t, company.NewClient(t))}).Into(t, 200, nil)
	s.Operator(t).NewCompany(t, "Europe/London")
}

// TestChild runs in the second test process until that is ended.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	StartCluster(t, ClusterOptions{Gateways: 2, Durable: pgserver.Fast})
	StartStandalone(t, StandaloneOptions{})
	if err := os.WriteFile(filepath.Join(dir, "running"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	<-ctx.Done()
}
