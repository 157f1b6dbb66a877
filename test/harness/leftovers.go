package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Leftovers returns the processes that use dir: it is in their command line or environment, or
// they work below it. This holds for every program of this package and for PostgreSQL's
// processes. It needs Linux's /proc.
func Leftovers(t testing.TB, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("leftover processes are found in /proc, which only Linux has")
	}
	var found []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || !concerns(pid, dir) {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && len(command) > 0 { // a zombie has none
			found = append(found, entry.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func concerns(pid int, dir string) bool {
	base := filepath.Join("/proc", strconv.Itoa(pid))
	if cwd, err := os.Readlink(filepath.Join(base, "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
		return true
	}
	for _, name := range []string{"cmdline", "environ"} {
		if text, err := os.ReadFile(filepath.Join(base, name)); err == nil && strings.Contains(string(text), dir) {
			return true
		}
	}
	return false
}

// NothingLeft fails t if processes that use dir are still running after a minute.
func NothingLeft(t testing.TB, dir string) {
	t.Helper()
	Eventually(t, time.Minute, func() error {
		if left := Leftovers(t, dir); len(left) > 0 {
			return fmt.Errorf("%d processes are left:\n%s", len(left), strings.Join(left, "\n"))
		}
		return nil
	})
}
