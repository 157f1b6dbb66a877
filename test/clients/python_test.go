package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// TestPythonUnits runs the tests of the Python client itself.
func TestPythonUnits(t *testing.T) {
	t.Parallel()
	if out, err := python(t, nil, nil, "-m", "unittest", "discover", "-s", "tests").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSlowPythonClient runs the scenarios with the Python client.
func TestSlowPythonClient(t *testing.T) {
	t.Parallel()
	driver, err := filepath.Abs("testdata/scenario.py")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, u *use) {
		face := "b"
		if strings.Contains(u.description, "gateway-a") {
			face = "a"
		}
		if out, err := python(t, u.env, stepsJSON(t, u.steps), driver, face).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestPythonExamples runs the examples of the Python client against the demonstration company, and
// the commands at the end of its README.
func TestPythonExamples(t *testing.T) {
	t.Parallel()
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on", "RATE_LIMIT": "10000"}})
	b := s.Credentials.InterfaceB
	env := []string{"B=" + b.BaseURL, "API_KEY=" + b.APIKey, "API_SECRET=" + b.APISecret}
	copied := filepath.Join(harness.TempDir(t), "customers.db")
	sync := func(args ...string) string {
		t.Helper()
		out, err := python(t, env, nil, append([]string{"examples/sync_customers.py", copied}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if got := sync(); got != "240 customers read\n" {
		t.Errorf("the first copy: %s", got)
	}
	if got := firstBooking(t, s); !regexp.MustCompile(`^.+ \S+Z \d+(\.\d+)? GBP\nreg_\w{26}\n$`).MatchString(got) {
		t.Errorf("the booking: %s", got)
	}
	if got := sync("--all"); got != "241 customers read\n" {
		t.Errorf("a new copy after the booking created a customer: %s", got)
	}
	if got := sync(); got == "0 customers read\n" {
		t.Errorf("an update does not read the new customer again, who is in the overlap: %s", got)
	}
}

// firstBooking runs the last commands of the README in a directory like the one in which a reader has
// run make run, and returns their output.
func firstBooking(t *testing.T, s *harness.Standalone) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "clients", "python", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, last, found := strings.Cut(string(text), "```sh\n")
	commands, _, closed := strings.Cut(last, "```")
	if !found || !closed {
		t.Fatal("the README has no commands")
	}
	dir := harness.TempDir(t)
	for link, target := range map[string]string{".run": s.Dir, "clients": filepath.Join(root(t), "clients")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// python returns a command that runs Python with the client, in its folder.
func python(t *testing.T, env []string, input []byte, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	folder := filepath.Join(root(t), "clients", "python")
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-B"}, args...)...)
	cmd.Dir, cmd.Stdin = folder, bytes.NewReader(input)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+filepath.Join(folder, "src")), env...)
	return cmd
}

// stepsJSON returns the steps for a program in another language.
func stepsJSON(t *testing.T, steps []step) []byte {
	t.Helper()
	all := []object{}
	for _, s := range steps {
		all = append(all, object{
			"operation": s.operation, "status": s.want(), "path": s.path, "query": s.query, "header": s.header, "body": s.body, "save": s.save,
		})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
