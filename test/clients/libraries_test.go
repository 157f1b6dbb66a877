package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// waiting is how long a test waits for a program.
const waiting = 30 * time.Second

// TestSlowLibrariesAreCurrent compares the generated part of the client libraries with the OpenAPI
// descriptions.
func TestSlowLibrariesAreCurrent(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	fresh, libraries := harness.TempDir(t), filepath.Join(root(t), "clients")
	command(t, t.Context(), root(t), nil, filepath.Join("tools", "clients", "generate.sh"), fresh, nodeModules(t))
	err := filepath.WalkDir(fresh, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(fresh, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		got, missing := os.ReadFile(filepath.Join(libraries, name))
		if !bytes.Equal(got, want) {
			t.Errorf("clients/%s does not match the OpenAPI descriptions: run make clients and commit the result", name)
		}
		return errors.Join(err, missing)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSlowLibraries runs the tests of the client libraries, and their examples against a platform.
func TestSlowLibraries(t *testing.T) {
	t.Parallel()
	platform := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on", "RATE_LIMIT": "10000"}})
	for name, build := range map[string]func(*testing.T) func(example string) []string{"Go": goLibrary, "TypeScript": typescriptLibrary} {
		t.Run(name, func(t *testing.T) { testExamples(t, platform, build(t)) })
	}
}

// goLibrary tests clients/go, and returns the commands of its examples.
func goLibrary(t *testing.T) func(example string) []string {
	t.Helper()
	dir, bin, env := filepath.Join(root(t), "clients", "go"), harness.TempDir(t), []string{"GOFLAGS=-mod=readonly"}
	command(t, t.Context(), dir, env, "go", "test", "-count=1", "./...")
	command(t, t.Context(), dir, env, "go", "build", "-o", bin, "./examples/...")
	return func(example string) []string { return []string{filepath.Join(bin, example)} }
}

// typescriptLibrary compiles and tests clients/typescript, and returns the commands of its examples.
func typescriptLibrary(t *testing.T) func(example string) []string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	modules := filepath.Join(nodeModules(t), "node_modules")
	dir, out := filepath.Join(root(t), "clients", "typescript"), harness.TempDir(t)
	if err := os.WriteFile(filepath.Join(out, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, t.Context(), dir, nil, filepath.Join(modules, ".bin", "tsc"), "--typeRoots", filepath.Join(modules, "@types"), "--outDir", out)
	command(t, t.Context(), dir, nil, "node", "--test", filepath.Join(out, "test", "client.test.js"), filepath.Join(out, "test", "webhook.test.js"))
	return func(example string) []string { return []string{"node", filepath.Join(out, "examples", example+".js")} }
}

// testExamples runs the examples of a library: one books, one receives the webhook of the booking, and
// one reads all customers.
func testExamples(t *testing.T, platform *harness.Standalone, example func(name string) []string) {
	c := platform.Credentials.InterfaceB
	env := []string{"B=" + c.BaseURL, "API_KEY=" + c.APIKey, "API_SECRET=" + c.APISecret}
	received := receive(t, platform, example("receive"))

	booked := output(t, env, example("book"))
	registration := regexp.MustCompile(`^booked .* (reg_[0-9a-z]{26})\n$`).FindStringSubmatch(booked)
	if registration == nil {
		t.Fatalf("the example printed %q", booked)
	}
	harness.Eventually(t, waiting, func() error {
		if !strings.Contains(received.String(), " "+registration[1]+" ") {
			return fmt.Errorf("the webhook of %s was not received: %s", registration[1], received)
		}
		return nil
	})

	b := harness.NewB(t, c.BaseURL)
	var list struct{ Total int }
	b.Do(t, harness.Request{Path: "/customers", Token: b.Token(t, harness.Credential{ID: c.APIKey, Secret: c.APISecret})}).Into(t, http.StatusOK, &list)
	lines := strings.Split(strings.TrimSpace(output(t, env, example("sync"))), "\n")
	ids := map[string]bool{}
	for _, line := range lines {
		var customer struct{ ID string }
		if err := json.Unmarshal([]byte(line), &customer); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		ids[customer.ID] = true
	}
	if list.Total <= 100 || len(ids) != list.Total || len(lines) != list.Total {
		t.Errorf("%d lines with %d customers, not %d on several pages", len(lines), len(ids), list.Total)
	}
}

// receive runs a receiver behind a new webhook endpoint until the test ends, and returns its output.
func receive(t *testing.T, platform *harness.Standalone, args []string) *transcript {
	t.Helper()
	addr, c := harness.FreeAddr(t), platform.Credentials.InterfaceB
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	b := harness.NewB(t, c.BaseURL)
	var endpoint struct{ Secret string }
	b.Do(t, harness.Request{
		Method: http.MethodPost, Path: "/webhook-endpoints", Token: b.Token(t, harness.Credential{ID: c.APIKey, Secret: c.APISecret}),
		Body: jsonText(object{"url": platform.Listen(t, proxy)}),
	}).Into(t, http.StatusCreated, &endpoint)

	_, port, _ := net.SplitHostPort(addr) // FreeAddr returns a valid address
	out := &transcript{}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port, "SECRETS=whsec_b2xkIHNlY3JldA==,"+endpoint.Secret)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the end of the test's context has killed it
	harness.Eventually(t, waiting, func() error {
		resp, err := http.Post("http://"+addr+"/", "application/json", strings.NewReader(`{"event":"registration.created","data":{}}`))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("an unsigned request is answered %s", resp.Status)
		}
		return nil
	})
	return out
}

// output runs a program, and returns what it prints.
func output(t *testing.T, env, args []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var problems bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), &problems
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, text, &problems)
	}
	return string(text)
}

// transcript keeps what a running program prints.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
