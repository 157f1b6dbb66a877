package docs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgramsLinkNoTestTools compares the packages of devkit that the programs link with
// those that CONTRIBUTING.md allows. The standalone program starts a PostgreSQL server.
// The standalone program and the command line create the demonstration company and a
// certificate for webhook receivers on this machine.
func TestProgramsLinkNoTestTools(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`,
		"./services/...", "./gateway-a/...", "./gateway-b/...", "./deploy/standalone/...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	linked := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		programs++
		for _, p := range packages[1:] {
			if strings.HasPrefix(p, "reservation.dev/devkit/") {
				linked[packages[0]] = append(linked[packages[0]], strings.TrimPrefix(p, "reservation.dev/devkit/"))
			}
		}
		slices.Sort(linked[packages[0]])
	}
	want := map[string][]string{
		"reservation.dev/deploy/standalone":                  {"credentials", "demonstration", "localca", "pgserver", "sampledata"},
		"reservation.dev/services/reservectl/cmd/reservectl": {"credentials", "demonstration", "localca", "sampledata"},
	}
	if diff := cmp.Diff(want, linked); diff != "" || programs < 10 {
		t.Errorf("of %d programs (- allowed, + linked):\n%s", programs, diff)
	}
}
