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

// process is a program that was started, in a process group of its own so that
// Ctrl-C in a terminal reaches only its parent.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
	err  error         // how it ended; read it after done
}

// spawn starts cmd. If this process dies, the kernel sends deathSignal, where it can.
func spawn(cmd *exec.Cmd, a account, deathSignal syscall.Signal) (*process, error) {
	cmd.SysProcAttr = attributes(deathSignal)
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Credential = a.credential
	cmd.Env = environment()
	// A grandchild that outlives the program must not keep Wait on its output.
	cmd.WaitDelay = 5 * time.Second
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that forked for the parent's
		// death, so that thread belongs to the child until the child has ended.
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

// run runs cmd to its end. A cancelled ctx kills it with all its children.
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

// How long a server gets to end after each of the harder signals.
const (
	quitTimeout = 5 * time.Second
	killTimeout = 5 * time.Second
)

// shutDown ends a PostgreSQL server: sessions are cut off and everything is
// written (SIGINT); if that is not done when ctx ends, at once (SIGQUIT, from
// which the next start recovers), and in the end by force. It returns an error
// unless the shutdown was a clean one.
func (p *process) shutDown(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	unclean := fmt.Errorf("PostgreSQL did not shut down in time and was made to: %w", context.Cause(ctx))
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

// environment is what PostgreSQL's programs see of this process's environment.
// PGDATA, PGPORT, PGOPTIONS, locales and the like would change what they do.
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
