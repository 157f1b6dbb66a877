package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// The limits allow for a loaded machine. A service takes ten seconds to drain on any.
	stopLimit  = time.Minute
	killLimit  = 30 * time.Second
	startLimit = 3 * time.Minute
	// logTail is how much of the log a failed test prints, in bytes.
	logTail = 8 << 10
)

// Process is a program that a test runs, and can stop, kill and start again. It ends with the
// test.
type Process struct {
	Name string

	path string
	args []string
	env  []string
	dir  string
	log  string // file, kept across restarts
	// account is the account that runs it; nil: that of this process.
	account *syscall.Credential
	// patience is how long the process may take to end.
	patience time.Duration

	mu      sync.Mutex
	running *running
}

// running is one run of a program.
type running struct {
	cmd   *exec.Cmd
	done  chan struct{} // closed when it has ended
	err   error         // how it ended; valid after done is closed
	asked bool          // the test asked it to end
}

// newProcess describes a program; Start runs it. If t fails, the end of the program's log is
// printed.
func newProcess(t testing.TB, name, dir string, env map[string]string, path string, args ...string) *Process {
	t.Helper()
	p := &Process{Name: name, path: path, args: args, dir: dir, log: dir + "/" + name + ".log", env: environment(env), patience: stopLimit}
	t.Cleanup(func() { p.end(t) })
	return p
}

// environment returns the environment of a program. It has little of this process's own
// environment, so that a developer's settings do not change the result of a test.
func environment(settings map[string]string) []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "POSTGRES_BIN"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

// set changes a setting for the next start.
func (p *Process) set(name, value string) {
	p.env = append(slices.DeleteFunc(p.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }), name+"="+value)
}

// Start runs the program; it must not be running.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		t.Fatalf("%s is running already", p.Name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, log, log
	r, err := spawn(cmd, p.account)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	p.running = r
}

// spawn starts cmd in its own process group, as a shell does.
func spawn(cmd *exec.Cmd, account *syscall.Credential) (*running, error) {
	cmd.SysProcAttr = attributes()
	cmd.SysProcAttr.Credential = account
	cmd.SysProcAttr.Setpgid = true
	// A grandchild that outlives the program must not make Wait block on its output.
	cmd.WaitDelay = 5 * time.Second
	r := &running{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel kills the child when the thread that forked it ends. The thread is therefore
		// reserved for the child until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		r.err = cmd.Wait()
		close(r.done)
	}()
	return r, <-started
}

// Set changes settings of the process. They apply from its next start.
func (p *Process) Set(settings map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.env = slices.DeleteFunc(p.env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, replaced := settings[name]
		return replaced
	})
	for name, value := range settings {
		p.env = append(p.env, name+"="+value)
	}
}

// LogFile returns the path of the file with the process's standard output and error.
func (p *Process) LogFile() string { return p.log }

// PID returns the process's id, or 0 if it is not running.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.cmd.Process.Pid
}

// Kill ends the process with SIGKILL, as a crash does, and waits until it has ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.Crash(); err != nil {
		t.Fatal(err)
	}
}

// Crash is Kill for any goroutine.
func (p *Process) Crash() error {
	p.KillNow()
	if _, err := p.wait(killLimit); err != nil {
		return fmt.Errorf("%s, killed: %w", p.Name, err)
	}
	return nil
}

// KillNow sends SIGKILL without waiting, and can be called from any goroutine. Kill then waits
// until the process has ended.
func (p *Process) KillNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		p.running.asked = true
		_ = p.running.cmd.Process.Kill()
	}
}

// Pause suspends the process with SIGSTOP until Resume, like a machine that gives it no processor
// time. Do not stop a paused process.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused process continue.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = p.running.cmd.Process.Signal(sig)
	}
}

// Stop sends SIGTERM, as an orchestrator does, and fails t unless the process ends in time and
// without an error.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.signalGroup(syscall.SIGTERM)
	p.awaitEnd(t)
}

// Interrupt sends SIGINT to the whole process group, as Ctrl-C does.
func (p *Process) Interrupt(t testing.TB) {
	t.Helper()
	p.signalGroup(syscall.SIGINT)
	p.awaitEnd(t)
}

// InterruptTwice sends SIGINT twice, like a user who presses Ctrl-C again.
func (p *Process) InterruptTwice(t testing.TB) {
	t.Helper()
	p.signalGroup(syscall.SIGINT)
	p.signalGroup(syscall.SIGINT)
	p.awaitEnd(t)
}

// AwaitFailure calls cause, which makes the process end, and returns the error with which it
// ended.
func (p *Process) AwaitFailure(t testing.TB, cause func() error) error {
	t.Helper()
	p.mu.Lock()
	if p.running != nil {
		p.running.asked = true
	}
	p.mu.Unlock()
	if err := cause(); err != nil {
		t.Fatal(err)
	}
	ended, err := p.wait(p.patience)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return ended
}

func (p *Process) signalGroup(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		p.running.asked = true
		_ = syscall.Kill(-p.running.cmd.Process.Pid, sig)
	}
}

func (p *Process) awaitEnd(t testing.TB) {
	t.Helper()
	ended, err := p.wait(p.patience)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if ended != nil {
		t.Fatalf("%s ended with an error after it was asked to end: %v", p.Name, ended)
	}
}

// wait returns how the process ended; err reports that it did not end within limit.
func (p *Process) wait(limit time.Duration) (ended, err error) {
	p.mu.Lock()
	r := p.running
	p.mu.Unlock()
	if r == nil {
		return nil, nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		return nil, fmt.Errorf("it did not end within %s", limit)
	}
	p.mu.Lock()
	p.running = nil
	p.mu.Unlock()
	return r.err, nil
}

// crashed returns why the process ended without being asked to, or nil if it did not.
func (p *Process) crashed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil || p.running.asked {
		return nil
	}
	select {
	case <-p.running.done:
		if p.running.err == nil {
			return errors.New("it ended unexpectedly, without an error")
		}
		return fmt.Errorf("it ended unexpectedly: %w", p.running.err)
	default:
		return nil
	}
}

// end is the cleanup of a process.
func (p *Process) end(t testing.TB) {
	if err := p.crashed(); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
	p.signalGroup(syscall.SIGTERM)
	if _, err := p.wait(p.patience); err != nil {
		t.Errorf("%s: %v; killed", p.Name, err)
		p.signalGroup(syscall.SIGKILL)
		if _, err := p.wait(killLimit); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if t.Failed() {
		t.Logf("the end of the log of %s:\n%s", p.Name, p.Log())
	}
}

// Log returns the end of the process's log.
func (p *Process) Log() string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > logTail {
		_, _ = f.Seek(-logTail, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return string(bytes.TrimSpace(text))
}

// await polls cond until it returns nil. It fails t after startLimit, or when the process ends.
func (p *Process) await(t testing.TB, what string, cond func() error) {
	t.Helper()
	ended := errors.New("ended")
	err := poll(startLimit, func() error {
		if err := p.crashed(); err != nil {
			ended = err
			return nil
		}
		return cond()
	})
	if err == nil && p.crashed() != nil {
		err = ended
	}
	if err != nil {
		t.Fatalf("%s is not %s: %v\n%s", p.Name, what, err, p.Log())
	}
}

// ready reads /readyz on an admin port and returns an error unless the process is ready.
func ready(adminAddr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+adminAddr+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s", res.Status, bytes.TrimSpace(text))
	}
	return nil
}

// InterruptEarly is Interrupt for a process that may still be starting. The process may
// end with an error.
func (p *Process) InterruptEarly(t testing.TB) {
	t.Helper()
	p.signalGroup(syscall.SIGINT)
	if _, err := p.wait(p.patience); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
}
