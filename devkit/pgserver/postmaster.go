//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// PostgreSQL's lock file has the server's process identifier on the first line and its state on the
// eighth.
const (
	pidFile   = "postmaster.pid"
	stateLine = 7
)

func postmasterPID(data string) int { return pidIn(filepath.Join(data, pidFile)) }

// isReady reports whether the server with this process identifier accepts connections.
func isReady(data string, pid int) bool {
	text, err := os.ReadFile(filepath.Join(data, pidFile))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return len(lines) > stateLine && strings.TrimSpace(lines[0]) == strconv.Itoa(pid) &&
		strings.TrimSpace(lines[stateLine]) == "ready"
}

// clearPIDFile removes the lock file of a killed server if its process identifier now belongs to
// another program. PostgreSQL itself only looks at the identifier and would not start; containers
// reuse identifiers soon. The caller holds the cluster's lock, so no server of this package can be
// running. clearPIDFile returns an error if somebody else started a server on the cluster.
func clearPIDFile(data string) error {
	pid := postmasterPID(data)
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return nil // PostgreSQL notices that itself
	}
	if isServerOn(pid, data) {
		return fmt.Errorf("a PostgreSQL server that another program started (process %d) is running on %s: stop it first", pid, data)
	}
	err := os.Remove(filepath.Join(data, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// isServerOn reports whether the process pid is a PostgreSQL server on data. It returns true if it
// cannot find out.
func isServerOn(pid int, data string) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if dir, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil {
		return dir == data // a server's working directory is its data
	}
	if text, err := os.ReadFile(filepath.Join(proc, "cmdline")); err == nil {
		return strings.Contains(filepath.Base(firstArgument(text)), "post")
	}
	text, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.Contains(string(text), "post")
}

func firstArgument(cmdline []byte) string {
	first, _, _ := strings.Cut(string(cmdline), "\x00")
	return first
}
