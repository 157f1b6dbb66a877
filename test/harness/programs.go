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

// packages are the programs that tests run, by name.
func packages() map[string]string {
	return map[string]string{
		"standalone": "./deploy/standalone",
		"reservectl": "./services/reservectl/cmd/reservectl",
		"auth":       "./services/auth/cmd/auth",
		"customer":   "./services/customer/cmd/customer",
		"booking":    "./services/booking/cmd/booking",
		"pass":       "./services/pass/cmd/pass",
		"webhook":    "./services/webhook/cmd/webhook",
		"admin":      "./services/admin/cmd/admin",
		"gateway-a":  "./gateway-a/cmd/gateway-a",
		"gateway-b":  "./gateway-b/cmd/gateway-b",
		"m":          "./test/load/m",
		"nats":       "./test/load/nats",
	}
}

// buildLimit bounds a build on a slow machine with nothing cached.
const buildLimit = 10 * time.Minute

// programs builds what tests run. All test processes build into one directory,
// so that an unchanged program is linked once; each takes its own hard links
// from there, so that a later build does not change what a running test starts.
type programs struct {
	mu    sync.Mutex
	dir   string // of this process's links
	paths map[string]string
}

// Program returns the path of a program, built without the race detector. The
// first call for a name builds it; asking for several at once is faster.
func Program(t testing.TB, name string, more ...string) string {
	t.Helper()
	needMain(t)
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
				complain("%v", err)
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

// goBuild builds into dir. Without version control stamps a commit of something
// else leaves a program as it is; without symbols it is linked sooner.
func goBuild(root, dir string, names []string) error {
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, name := range names {
		pkg, ok := packages()[name]
		if !ok {
			return fmt.Errorf("no program %q", name)
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

// runDir makes the directory of this process's links, and removes those that
// killed test processes left.
func runDir(base string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(base, "run-*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 2*time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp(base, "run-*")
}

// File reads a file of the repository, named from its root.
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

// Root returns the top of the workspace: where go.work is, above this file.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the source file's place is not known")
	}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no go.work above %s: run the tests from a checkout, without -trimpath", file)
		}
	}
}

// lockFile opens path and locks it until it is closed; how is LOCK_EX, with
// LOCK_NB to fail where another process holds it.
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
