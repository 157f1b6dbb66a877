package docs

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	// needLinters is the environment variable with which the test fails if npm is missing
	// or cannot reach its registry. Without it, the test is skipped in that case.
	needLinters = "OPENAPI_TESTS_NEED_LINTERS"
	// installLimit is long enough for npm to fetch the linters or to fail.
	installLimit = 5 * time.Minute
	lintLimit    = 3 * time.Minute
)

// noRegistry matches what npm prints if it cannot reach its registry.
var noRegistry = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)$`)

// unreachable reports whether npm is missing, or its output says that it cannot reach its
// registry.
func unreachable(out string) bool {
	_, err := exec.LookPath("npm")
	return err != nil || noRegistry.MatchString(out)
}

func TestUnreachable(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	for out, want := range map[string]bool{
		"npm error code ENOTFOUND\nnpm error syscall getaddrinfo":   true,
		"make: npm\nnpm ERR! code ECONNREFUSED\n":                   true,
		"npm error code EUSAGE\nnpm error lock file is not in sync": false,
		"npm error code EINTEGRITY\n":                               false,
		"npm error code E404\n":                                     false,
		"":                                                          false,
	} {
		if got := unreachable(out); got != want {
			t.Errorf("%q: got %t, want %t", out, got, want)
		}
	}
}

// TestSlowOpenAPILinters runs two independent linters, which must accept the descriptions
// without a warning.
func TestSlowOpenAPILinters(t *testing.T) {
	if out, err := makeTarget(t, ".cache/openapi/installed", installLimit); err != nil {
		report := t.Fatalf
		if os.Getenv(needLinters) == "" && unreachable(out) {
			report = t.Skipf
		}
		report("the OpenAPI descriptions are not linted: npm cannot install the linters: %v\n%s", err, out)
	}
	if out, err := makeTarget(t, "lint-openapi", lintLimit); err != nil {
		t.Errorf("make lint-openapi: %v\n%s", err, out)
	}
}

func makeTarget(t *testing.T, target string, limit time.Duration) (string, error) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", target)
	cmd.Dir, cmd.WaitDelay = root, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
