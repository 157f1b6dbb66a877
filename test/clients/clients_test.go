package clients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestSlowTypeScriptClients runs the scenarios with clients by openapi-typescript.
func TestSlowTypeScriptClients(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	tools := nodeModules(t)
	each(t, func(t *testing.T, u *use) {
		program := typescript(u.operations, u.given, variables(t, u.given, u.steps), u.steps)
		dir := harness.TempDir(t)
		u.write(t, dir, "package.json", `{"type":"module"}`)
		u.write(t, dir, "main.ts", program)
		if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		bin := filepath.Join(tools, "node_modules", ".bin")
		u.run(t, dir, filepath.Join(bin, "openapi-typescript"), "--default-non-nullable=false", u.description, "-o", "api.d.ts")
		u.run(t, dir, filepath.Join(bin, "tsc"), "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext", "--types", "node", "main.ts")
		u.run(t, dir, "node", "main.js")
	})
}

// TestSlowGoClients runs the scenarios with clients by oapi-codegen.
func TestSlowGoClients(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, u *use) {
		tools := filepath.Join(root(t), "tools", "clients")
		dir := harness.TempDir(t)
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(tools, name))
			if err != nil {
				t.Fatal(err)
			}
			u.write(t, dir, name, string(text))
		}
		u.write(t, dir, "main.go", golang(u.operations, u.given, u.steps))
		if err := os.Mkdir(filepath.Join(dir, "api"), 0o755); err != nil {
			t.Fatal(err)
		}
		u.run(t, dir, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "api", "-o", "api/api.go", u.description)
		u.run(t, dir, "go", "run", ".")
	})
}

// use is the use of one interface by a generated client.
type use struct {
	description string
	operations  map[string]operation
	given       []string // variables, which are in the environment in upper case
	steps       []step
	env         []string
}

// face is one of the two interfaces.
type face struct {
	name, prefix string
	// steps returns a scenario that calls every operation, and the variables that it starts with.
	steps func(t *testing.T, c *harness.Credentials) ([]step, map[string]string)
}

func faces() []face {
	return []face{{name: "b", prefix: "/api/v1", steps: stepsOfB}, {name: "a", steps: stepsOfA}}
}

// base returns the base address of the interface.
func (f face) base(c *harness.Credentials) string {
	if f.name == "a" {
		return c.InterfaceA.BaseURL
	}
	return c.InterfaceB.BaseURL
}

// each runs a scenario on both interfaces of a new platform, through a proxy that checks the responses.
func each(t *testing.T, run func(t *testing.T, u *use)) {
	t.Helper()
	platform := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on", "RATE_LIMIT": "10000"}})
	for _, f := range faces() {
		t.Run("interface "+f.name, func(t *testing.T) {
			c := platform.Credentials
			if f.name == "b" {
				key := platform.Operator(t).Company(c.CompanyID).TestMode(t).NewKey(t, 0)
				c.InterfaceB.APIKey, c.InterfaceB.APISecret = key.ID, key.Secret
			}
			u := &use{description: descriptionFile(t, f.name)}
			u.operations = described(t, u.description)
			steps, given := f.steps(t, &c)
			u.steps = steps
			for name, value := range given {
				u.given, u.env = append(u.given, name), append(u.env, strings.ToUpper(name)+"="+value)
			}
			checkCoverage(t, u.operations, u.steps)
			u.env = append(u.env, "BASE="+validating(t, u.description, f.base(&c), f.prefix)+f.prefix)
			run(t, u)
		})
	}
}

// validating returns the address of a proxy for base that checks every response.
func validating(t *testing.T, description, base, prefix string) string {
	t.Helper()
	text, err := os.ReadFile(description)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(strings.TrimSuffix(base, prefix))
	if err != nil {
		t.Fatal(err)
	}
	contract := openapitest.Load(t, text, prefix)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // so that the transport decompresses what it checks
		},
		Transport: contract.Transport(t, &http.Transport{}),
	})
	t.Cleanup(server.Close)
	return server.URL
}

func (u *use) write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program in dir. It fails t if the program fails.
func (u *use) run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command(t, t.Context(), dir, u.env, name, args...)
}

func command(t *testing.T, ctx context.Context, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
}

// nodeModules installs the generators from npm, in the versions of tools/clients, and returns the
// directory of node_modules.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(root(t), ".cache", "clients")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	changed := false
	for _, name := range []string{".npmrc", "package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(root(t), "tools", "clients", name))
		if err != nil {
			t.Fatal(err)
		}
		if old, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(old) == string(text) {
			continue
		}
		changed = true
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "tsc")); changed || err != nil {
		command(t, t.Context(), dir, nil, "npm", "ci", "--loglevel", "error")
	}
	return dir
}
