package harness

import (
	"syscall"
	"testing"
)

// ProgramOptions describe a program that is not part of this tree.
type ProgramOptions struct {
	Name, Path string
	Args       []string
	Env        map[string]string
	// Dir is its working directory, which also gets its log.
	Dir string
	// Account is the account that runs it; nil: that of this process.
	Account *syscall.Credential
}

// NewProgram describes a process of the program. Start runs it.
func NewProgram(t testing.TB, o ProgramOptions) *Process {
	t.Helper()
	p := newProcess(t, o.Name, o.Dir, o.Env, o.Path, o.Args...)
	p.account = o.Account
	return p
}
