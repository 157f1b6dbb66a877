package docs

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	// needLinters is the setting that makes it a failure if the linters cannot be
	// installed. Without it the test is skipped.
	needLinters = "OPENAPI_TESTS_NEED_LINTERS"
	// installLimit is enough for npm to fetch the linters, or to give up.
	installLimit = 5 * time.Minute
	lintLimit    = 3 * time.Minute
)

// Two independent linters accept both descriptions without a warning.
func TestOpenAPILinters(t *testing.T) {
	if out, err := makeTarget(t, ".cache/openapi/installed", installLimit); err != nil {
		say := t.Skipf
		if os.Getenv(needLinters) != "" {
			say = t.Fatalf
		}
		say("the OpenAPI descriptions are not linted: npm cannot install the linters: %v\n%s", err, out)
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
