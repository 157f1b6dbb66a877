package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
)

// processPart is a service without dependencies, which a test runs as a process.
func processPart(kind string) Part {
	p := Part{Name: "sample", About: "a part for tests"}
	p.Run = func(ctx context.Context, h *Host) error {
		h.Health.SetServing(h.Part, true)
		fmt.Println("running")
		if kind == "fails" {
			return errors.New("boom")
		}
		<-ctx.Done()
		fmt.Println("ending")
		if kind == "hangs" {
			select {}
		}
		return nil
	}
	if kind == "panics" {
		p.Run = func(context.Context, *Host) error { panic("boom") }
	}
	return p
}

// process is a process that runs a service.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func startProcess(t *testing.T, kind string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	p := &process{t: t, cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Env = []string{partEnv + "=" + kind, "ADMIN_ADDR=" + testkit.FreeAddr(t), "PATH=" + os.Getenv("PATH")}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		cancel()
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) says(want string) {
	p.t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		p.t.Fatalf("it printed %q, want %q; %s", p.lines.Text(), want, &p.stderr)
	}
}

// ends waits for the process and returns its exit code, or the negative signal number.
func (p *process) ends() int {
	p.t.Helper()
	for p.lines.Scan() {
		continue
	}
	_ = p.cmd.Wait()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

func TestMainAsAProcess(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String()+" stops a service cleanly", func(t *testing.T) {
			p := startProcess(t, "serves")
			p.says("running")
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			p.says("ending")
			if code := p.ends(); code != 0 || !strings.Contains(p.stderr.String(), `"msg":"stopped"`) {
				t.Errorf("ended with %d: %s", code, &p.stderr)
			}
		})
	}
	t.Run("a second signal kills a service that does not stop", func(t *testing.T) {
		p := startProcess(t, "hangs", "serve")
		p.says("running")
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.says("ending")
		done := make(chan int, 1)
		go func() { done <- p.ends() }()
		testkit.Eventually(t, patience/2, func() error {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case code := <-done:
				if code != -int(syscall.SIGTERM) {
					t.Errorf("ended with %d: %s", code, &p.stderr)
				}
				return nil
			case <-time.After(10 * time.Millisecond):
				return errors.New("it goes on")
			}
		})
	})
	t.Run("a failing service ends the process with its error", func(t *testing.T) {
		p := startProcess(t, "fails")
		p.says("running")
		if code := p.ends(); code != 1 || !strings.Contains(p.stderr.String(), "\nsample: boom\n") {
			t.Errorf("ended with %d: %s", code, &p.stderr)
		}
	})
	t.Run("a panicking service ends the process with an error", func(t *testing.T) {
		if code := startProcess(t, "panics").ends(); code != 2 {
			t.Errorf("ended with %d", code)
		}
	})
	t.Run("an unknown command is an error", func(t *testing.T) {
		p := startProcess(t, "serves", "sevre")
		if code := p.ends(); code != 1 || !strings.Contains(p.stderr.String(), `"sevre"`) {
			t.Errorf("ended with %d: %s", code, &p.stderr)
		}
	})
}

func TestCommands(t *testing.T) {
	output := func(p Part, command string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), p, command, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	p := processPart("serves")
	if got := output(p, "version"); got != "sample "+Version()+"\n" || Version() == "" {
		t.Errorf("version is %q", got)
	}
	for _, command := range []string{"help", "-h", "--help"} {
		if got := output(p, command); !strings.HasPrefix(got, "sample: a part for tests\n") || !strings.Contains(got, "migrate") {
			t.Errorf("%s is %q", command, got)
		}
	}
	t.Run("migrate creates the schema in an empty database, and can run again", func(t *testing.T) {
		ownerURL, _ := testkit.EmptyDB(t)
		t.Setenv("MIGRATION_DATABASE_URL", ownerURL)
		t.Setenv("DATABASE_APP_ROLE", testkit.AppRole())
		for range 2 {
			output(newSample().part(), "migrate")
		}
	})
	t.Run("migrate of a service without a database is an error", func(t *testing.T) {
		if err := run(t.Context(), p, "migrate", &bytes.Buffer{}); err == nil {
			t.Error("it succeeded")
		}
	})
	t.Run("migrate names the missing settings", func(t *testing.T) {
		err := run(t.Context(), newSample().part(), "migrate", &bytes.Buffer{})
		for _, name := range []string{"MIGRATION_DATABASE_URL", "DATABASE_APP_ROLE"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("no %s in %v", name, err)
			}
		}
	})
}
