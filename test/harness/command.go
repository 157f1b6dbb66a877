package harness

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandLimit bounds one run of a command. It allows for a loaded machine.
const commandLimit = 5 * time.Minute

// Command is a program that runs to its end.
type Command struct {
	Program string // a name that Program knows
	Path    string // of the program; "": built from this tree
	Args    []string
	Env     map[string]string
	Input   string
	Dir     string
	// Account is the account that runs it; nil: that of this process.
	Account *syscall.Credential
}

// Result is how a command ended.
type Result struct {
	Code           int
	Output, Errors string
	command        string
}

// Run runs a command and fails t if it does not end within commandLimit.
func Run(t testing.TB, c Command) Result {
	t.Helper()
	path := c.Path
	if path == "" {
		path = programFor(t, c.Account, c.Program)
	}
	cmd := exec.Command(path, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin = environment(c.Env), c.Dir, strings.NewReader(c.Input)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	r, err := spawn(cmd, c.Account)
	if err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(commandLimit)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		_ = cmd.Process.Kill()
		<-r.done
		t.Fatalf("%s %v did not end within %s\n%s", c.Program, c.Args, commandLimit, errOut.String())
	}
	result := Result{Output: out.String(), Errors: errOut.String(), command: c.Program + " " + strings.Join(c.Args, " ")}
	var exit *exec.ExitError
	switch {
	case errors.As(r.err, &exit):
		result.Code = exit.ExitCode()
	case r.err != nil:
		t.Fatal(r.err)
	}
	return result
}

// Succeeded fails t unless the exit status is 0, and returns the output.
func (r Result) Succeeded(t testing.TB) string {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("%s: exit status %d\n%s%s", r.command, r.Code, r.Output, r.Errors)
	}
	return r.Output
}
