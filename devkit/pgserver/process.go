//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is a running program. It has its own process group, so that Ctrl-C in a terminal reaches
// only its parent.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended
	err  error         // the program's result; read it after done
}

// spawn starts cmd. If this process dies, the kernel sends it deathSignal (on Linux only).
func spawn(cmd *exec.Cmd, a account, deathSignal syscall.Signal) (*process, error) {
	cmd.SysProcAttr = attributes(deathSignal)
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Credential = a.credential
	cmd.Env = environment()
	// Wait must not wait forever for a grandchild that keeps the output open.
	cmd.WaitDelay = 5 * time.Second
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// For the kernel, the parent is dead when the thread that forked has ended. So this
		// thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run runs cmd and waits for its end. If ctx is cancelled, run kills it and all its children.
func run(ctx context.Context, cmd *exec.Cmd, a account) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := spawn(cmd, a, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
		return ctx.Err()
	}
}

// The times that a server gets to end after SIGQUIT and SIGKILL.
const (
	quitTimeout = 5 * time.Second
	killTimeout = 5 * time.Second
)

// shutDown ends a PostgreSQL server. SIGINT disconnects the sessions and writes everything to disk.
// If the server still runs when ctx ends, shutDown sends SIGQUIT, from which the next start recovers,
// and last SIGKILL. It returns an error unless the shutdown was clean.
func (p *process) shutDown(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	unclean := fmt.Errorf("PostgreSQL did not shut down in time and was stopped immediately: %w", context.Cause(ctx))
	steps := []struct {
		signal  syscall.Signal
		timeout time.Duration
	}{{syscall.SIGQUIT, quitTimeout}, {syscall.SIGKILL, killTimeout}}
	for _, step := range steps {
		if err := p.signal(step.signal); err != nil {
			return errors.Join(unclean, err)
		}
		select {
		case <-p.done:
			return unclean
		case <-time.After(step.timeout):
		}
	}
	return errors.Join(unclean, fmt.Errorf("process %d does not end", p.cmd.Process.Pid))
}

func (p *process) signal(sig syscall.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return fmt.Errorf("signal %s to PostgreSQL: %w", sig, err)
}

// environment returns the environment for PostgreSQL's programs. Most variables of this process are
// left out, because some (PGDATA, PGPORT, PGOPTIONS, locales) would change the programs' behaviour.
func environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "PATH" || name == "HOME" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
			env = append(env, entry)
		}
	}
	return env
}
