package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// packages returns the packages of the programs that tests run, by program name.
func packages() map[string]string {
	return map[string]string{
		"standalone":   "./deploy/standalone",
		"reservectl":   "./services/reservectl/cmd/reservectl",
		"auth":         "./services/auth/cmd/auth",
		"customer":     "./services/customer/cmd/customer",
		"booking":      "./services/booking/cmd/booking",
		"pass":         "./services/pass/cmd/pass",
		"subscription": "./services/subscription/cmd/subscription",
		"media":        "./services/media/cmd/media",
		"reports":      "./services/reports/cmd/reports",
		"webhook":      "./services/webhook/cmd/webhook",
		"admin":        "./services/admin/cmd/admin",
		"directory":    "./services/directory/cmd/directory",
		"gateway-a":    "./gateway-a/cmd/gateway-a",
		"gateway-b":    "./gateway-b/cmd/gateway-b",
		"m":            "./test/load/m",
		"nats":         "./test/load/nats",
	}
}

// buildLimit bounds a build on a slow machine with an empty cache.
const buildLimit = 10 * time.Minute

// programs builds the programs that tests run. All test processes build into one directory, so
// that an unchanged program is linked only once. Each process makes its own hard links to the
// programs, so that a later build does not change a program of a running test.
type programs struct {
	mu    sync.Mutex
	dir   string // with this process's links
	paths map[string]string
}

// Program returns the path of a program, built without the race detector. The first call for a
// name builds it. One call with several names is faster than several calls.
func Program(t testing.TB, name string, more ...string) string {
	t.Helper()
	requireMain(t)
	path, err := process.programs.get(append([]string{name}, more...))
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return path
}

func (p *programs) get(names []string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var missing []string
	for _, name := range names {
		if p.paths[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		if err := p.build(missing); err != nil {
			return "", err
		}
	}
	return p.paths[names[0]], nil
}

func (p *programs) build(names []string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	shared := filepath.Join(root, ".cache", "test", "bin")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return err
	}
	lock, err := lockFile(filepath.Join(root, ".cache", "test", "lock"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := goBuild(root, shared, names); err != nil {
		return err
	}
	if p.dir == "" {
		if p.dir, err = runDir(filepath.Join(root, ".cache", "test")); err != nil {
			return err
		}
		p.paths = map[string]string{}
		dir := p.dir
		atExit(func() {
			if err := os.RemoveAll(dir); err != nil {
				logProblem("%v", err)
			}
		})
	}
	for _, name := range names {
		path := filepath.Join(p.dir, name)
		if err := os.Link(filepath.Join(shared, name), path); err != nil {
			return err
		}
		p.paths[name] = path
	}
	return nil
}

// goBuild builds into dir. It omits version control stamps, so that a commit that changes other
// files does not rebuild a program, and symbols, which makes linking faster.
func goBuild(root, dir string, names []string) error {
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, name := range names {
		pkg, ok := packages()[name]
		if !ok {
			return fmt.Errorf("unknown program %q", name)
		}
		args = append(args, pkg)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.WaitDelay = 5 * time.Second
	timer := time.AfterFunc(buildLimit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}

// runDir creates the directory of this process's links, and removes those of test processes that
// were killed.
func runDir(base string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(base, "run-*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 2*time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp(base, "run-*")
}

// File returns the content of a file of the repository, given its path from the root.
func File(t testing.TB, name string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Root returns the root of the workspace: the directory of go.work, above this file.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the path of this source file is unknown")
	}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.work above %s: run the tests from a checkout, without -trimpath", file)
		}
	}
}

// lockFile opens path and locks it until it is closed. how is LOCK_EX, with LOCK_NB to fail if
// another process holds the lock.
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}
