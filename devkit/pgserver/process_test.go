//go:build unix

package pgserver

import (
	"os/exec"
	"strings"
	"testing"
)

func sleepCommand() *exec.Cmd { return exec.Command("sleep", "600") }

func TestEnvironment(t *testing.T) {
	t.Run("variables that change PostgreSQL's behaviour are left out", func(t *testing.T) {
		for _, name := range []string{"PGDATA", "PGPORT", "PGOPTIONS", "LANG", "LC_CTYPE"} {
			t.Setenv(name, "surprise")
		}
		t.Setenv("LD_LIBRARY_PATH", "/opt/lib")
		all := strings.Join(environment(), "\n")
		if strings.Contains(all, "surprise") {
			t.Error(all)
		}
		for _, want := range []string{"PATH=", "LD_LIBRARY_PATH=/opt/lib", "TZ=UTC", "LC_ALL=C"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s is missing: %s", want, all)
			}
		}
	})
}
