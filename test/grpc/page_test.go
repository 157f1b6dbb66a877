package grpc

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// update makes the test write the programs into the page.
var update = flag.Bool("update", false, "include the programs in docs/GRPC.md again")

// pageLimit is the time limit for all commands of the page.
const pageLimit = 5 * time.Minute

const pagePath = "../../docs/GRPC.md"

var (
	shell   = regexp.MustCompile("(?s)```sh\n(.*?)```")
	include = regexp.MustCompile("(?s)<!-- include (\\S+) -->\n```go\n(.*?)```")
	version = regexp.MustCompile(`grpcurl/cmd/grpcurl@(v[0-9.]+)`)
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProgramsOfThePage(t *testing.T) {
	text := page(t)
	updated := include.ReplaceAllStringFunc(text, func(block string) string {
		path := include.FindStringSubmatch(block)[1]
		source, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- include " + path + " -->\n```go\n" + string(source) + "```"
	})
	if n := len(include.FindAllString(text, -1)); n != 2 {
		t.Errorf("the page includes %d programs, want 2", n)
	}
	if *update {
		if err := os.WriteFile(pagePath, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if updated != text {
		t.Error("a program on the page differs from its source: go test ./test/grpc -run TestProgramsOfThePage -update")
	}
}

func TestSlowCommandsOfThePage(t *testing.T) {
	for _, program := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the page needs %s: %v", program, err)
		}
	}
	tools := installGrpcurl(t)
	platform := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on"}})
	script := "set -eu -o pipefail\n"
	for _, block := range shell.FindAllStringSubmatch(page(t), -1) {
		script += block[1]
	}
	script = strings.NewReplacer(".run/credentials.json", platform.CredentialsFile(), "bin/reservectl", harness.Program(t, "reservectl")).Replace(script)
	for run := range 2 { // a reader may follow the page twice
		out := runScript(t, tools, script)
		for _, want := range []string{
			"reservation.customer.v1.CustomerService\n", "message CreateCustomerRequest", `"customers": [`, "zoe@example.com",
			"Code: InvalidArgument", `"reason": "VALIDATION_ERROR"`, `"field": "last_name"`, `"status": "SERVING"`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("run %d does not print %q:\n%s", run, want, out)
			}
		}
		if strings.Contains(out, "faultKind") {
			t.Errorf("an error shows internals:\n%s", out)
		}
	}
}

// runScript runs the commands in the root of the tree and returns their output.
func runScript(t *testing.T, tools, script string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.WaitDelay = root, time.Second
	cmd.Env = append(os.Environ(), "PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("the page's commands: %v\n%s", err, out.String())
	}
	return out.String()
}

// installGrpcurl builds the version of grpcurl that the page names, and returns its directory.
func installGrpcurl(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(root, "tools", "grpcurl")
	pinned, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	named := version.FindStringSubmatch(page(t))
	if named == nil || !strings.Contains(string(pinned), "github.com/fullstorydev/grpcurl "+named[1]+" ") {
		t.Fatalf("the page names grpcurl %v, but tools/grpcurl/go.mod another version", named)
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", dir, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("grpcurl: %v\n%s", err, out)
	}
	return dir
}
