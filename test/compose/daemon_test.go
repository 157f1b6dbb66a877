package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	commandLimit = 5 * time.Minute
	buildLimit   = 30 * time.Minute // with an empty cache, on a slow machine
	daemonLimit  = time.Minute
)

// docker is a Docker daemon for a test, with the settings to reach it.
type docker struct {
	dir string // directory of the daemon's data
	env []string
}

// startDocker starts a daemon with its own root directory, socket and process group. It ends with
// t, and its data is removed, except if COMPOSE_TEST_DIR names a directory: then its images and
// build cache are kept for the next run.
func startDocker(t *testing.T) *docker {
	t.Helper()
	dir, err := os.Getenv("COMPOSE_TEST_DIR"), error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "compose-test-")
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	} else {
		// The process that runs this test also has the setting in its environment, but is not a
		// process of the daemon.
		dir = filepath.Join(dir, "docker")
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &docker{dir: dir, env: append(os.Environ(), "DOCKER_HOST=unix://"+dir+"/docker.sock", "DOCKER_CONFIG="+dir+"/config", "DOCKER_BUILDKIT=1")}
	plugins := filepath.Join(dir, "config", "cli-plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tool(t, "docker-compose"), filepath.Join(plugins, "docker-compose")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	restoreNetwork(t)
	log, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := exec.Command("dockerd", "--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/docker.pid",
		"--host", "unix://"+dir+"/docker.sock")
	daemon.Stdout, daemon.Stderr = log, log
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(daemonLimit):
			t.Error("dockerd did not end")
			_ = syscall.Kill(-daemon.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		unmount(dir)
		harness.NothingLeft(t, dir)
	})
	harness.Eventually(t, daemonLimit, func() error {
		_, err := d.try(t.Context(), "", "docker", "version")
		if err != nil {
			text, _ := os.ReadFile(log.Name()) // included in the error
			err = fmt.Errorf("%w\n%s", err, tail(text))
		}
		return err
	})
	return d
}

// unmount unmounts everything that a daemon left mounted below dir.
func unmount(dir string) {
	text, _ := os.ReadFile("/proc/mounts") // without it there is nothing to unmount
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH)
		}
	}
}

// tool returns the path of a program that make compose-test has built.
func tool(t *testing.T, name string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".cache", "compose", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make compose-test builds it", err)
	}
	return path
}

// try runs a command against the daemon, in the root of the repository, and returns its standard
// output. input is its standard input.
func (d *docker) try(ctx context.Context, input string, command ...string) (string, error) {
	return d.tryFrom(ctx, strings.NewReader(input), nil, command...)
}

func (d *docker) tryFrom(ctx context.Context, input io.Reader, env []string, command ...string) (string, error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env, c.Stdin = root, append(append([]string{}, d.env...), env...), input
	c.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), errors.Join(err, ctx.Err()), tail(out.Bytes()), tail(errs.Bytes()))
	}
	return out.String(), nil
}

// run is like try, but fails t if the command fails or exceeds limit.
func (d *docker) run(t *testing.T, limit time.Duration, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	out, err := d.try(ctx, "", command...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.1f s", strings.Join(command, " "), time.Since(began).Seconds())
	return strings.TrimSpace(out)
}

// tail returns the end of a long text.
func tail(text []byte) []byte {
	const most = 6000
	if len(text) > most {
		return text[len(text)-most:]
	}
	return text
}
