package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	commandLimit = 2 * time.Minute
	// installLimit is the time limit for commands that wait until all pods are ready.
	installLimit = 15 * time.Minute
)

// try runs a program with the cluster's credentials, in the root of the repository, and returns
// its standard output.
func (c *cluster) try(ctx context.Context, limit time.Duration, name string, args ...string) (string, error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = root, 5*time.Second
	path := strings.Join([]string{filepath.Join(root, ".cache", "kubernetes"), filepath.Join(root, ".cache", "tools"), os.Getenv("PATH")}, ":")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+c.dir, "PATH="+path)
	if found, err := lookIn(path, name); err == nil {
		cmd.Path, cmd.Err = found, nil
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), errors.Join(err, ctx.Err()), tail(out.Bytes()), tail(problems.Bytes()))
	}
	return out.String(), nil
}

// lookIn is exec.LookPath with another PATH.
func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	return c.try(ctx, commandLimit, "kubectl", args...)
}

// run is like try, but fails t if the program fails.
func (c *cluster) run(t *testing.T, limit time.Duration, name string, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := c.try(t.Context(), limit, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Logf("%s %s: %.1f s", name, strings.Join(args, " "), took.Seconds())
	}
	return strings.TrimSpace(out)
}

// get reads objects of a namespace into v.
func (c *cluster) get(t *testing.T, namespace string, v any, args ...string) {
	t.Helper()
	out := c.run(t, commandLimit, "kubectl", append([]string{"--namespace", namespace, "get", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
}

// apply creates objects.
func (c *cluster) apply(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(c.dir, "objects.yaml") // kubectl would split a name at a comma, which names of tests have
	write(t, file, text)
	c.run(t, commandLimit, "kubectl", "apply", "-f", file)
}

// troubles returns the states of pods, the last events, and the ends of logs.
func (c *cluster) troubles() string {
	var all strings.Builder
	ctx := context.Background() // the test's context may have ended
	for _, args := range [][]string{
		{"get", "pods", "--all-namespaces", "-o", "wide"},
		{"get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"},
		{"--namespace", namespace, "logs", "--selector", "app.kubernetes.io/instance=" + release, "--all-containers", "--prefix", "--tail=8", "--max-log-requests=50"},
	} {
		out, err := c.try(ctx, commandLimit, "kubectl", args...)
		fmt.Fprintf(&all, "kubectl %s: %v\n%s\n", strings.Join(args, " "), err, tail([]byte(out)))
	}
	logs, _ := filepath.Glob(c.dir + "/*.log")
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		fmt.Fprintf(&all, "%s\n%s\n", log, text[max(0, len(text)-2500):])
	}
	return all.String()
}

// tail returns the end of a long text.
func tail(text []byte) []byte { return text[max(0, len(text)-6000):] }
