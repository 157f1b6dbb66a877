package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// insideOf is set for the process in the namespaces, to the directory of the test.
const insideOf = "CLUSTER_TEST_DIR"

func TestCluster(t *testing.T) {
	if dir := os.Getenv(insideOf); dir != "" {
		testInside(t, dir)
		return
	}
	needCluster(t)
	dir := harness.TempDir(t)
	before := tunables(t)
	makeCgroups(t, filepath.Base(dir))
	again(t, dir)
	harness.NothingLeft(t, dir)
	if mounts, err := os.ReadFile("/proc/mounts"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left or cannot be read: %v\n%s", err, mounts)
	}
	if after := tunables(t); !slices.Equal(before, after) {
		t.Errorf("this machine's settings changed from %v to %v", before, after)
	}
}

// again runs this test in separate namespaces, in which it is the first process: when it ends,
// the kernel ends all others.
func again(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Minute))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestCluster$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), insideOf+"="+dir)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The kernel kills the child when the thread that forked it ends, so the thread is reserved.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Errorf("the test in the namespaces: %v", errors.Join(err, ctx.Err()))
	}
}

// cgroups returns the cgroup hierarchies of this machine: one, or one for each controller.
func cgroups(t *testing.T) []string {
	t.Helper()
	const all = "/sys/fs/cgroup"
	if _, err := os.Stat(all + "/cgroup.controllers"); err == nil {
		return []string{all}
	}
	files, err := filepath.Glob(all + "/*/cgroup.procs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cgroups in %s: %v", all, err)
	}
	var found []string
	for _, file := range files {
		// cpu may be a link to cpu,cpuacct.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}

// makeCgroups creates a group for the pods in every hierarchy. They are removed with t.
func makeCgroups(t *testing.T, name string) {
	t.Helper()
	for _, hierarchy := range cgroups(t) {
		group := filepath.Join(hierarchy, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			// The last processes may still be ending.
			harness.Eventually(t, 30*time.Second, func() error { return removeCgroup(group) })
		})
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(hierarchy, file))
			if err != nil {
				continue // does not apply to this controller
			}
			if err := os.WriteFile(filepath.Join(group, file), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// removeCgroup removes a group and its subgroups.
func removeCgroup(group string) error {
	var groups []string
	err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range slices.Backward(groups) {
		if err := os.Remove(g); err != nil {
			return fmt.Errorf("%w: %s", err, g)
		}
	}
	return nil
}
