package docs

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/localca"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// guides returns the pages whose commands a reader follows against make run. This test
// does not run the commands of other pages:
//   - docs/GRPC.md needs grpcurl and the Go sources, so test/grpc follows it in the
//     source tree, twice, on its own platform.
//   - docs/ERRORS.md and docs/SECURITY.md show single requests with the variables of
//     other pages, and settings, certificates and databases that make run does not have.
//   - docs/OPERATIONS.md starts the services as processes on a PostgreSQL server that the
//     reader administers.
func guides() []string {
	return []string{"README.md", "docs/INTERFACE_A.md", "docs/INTERFACE_B.md", "docs/WEBHOOKS.md", testModePage}
}

const (
	testModePage = "docs/TEST_MODE.md"
	// testModeVariables sets the variables of testModePage, which its reader copies from elsewhere.
	testModeVariables = `export RESERVATION_CREDENTIALS=.run/credentials.json
COMPANY=$(jq -er .company_id .run/credentials.json) B=$(jq -er .interface_b.api_base_url .run/credentials.json)
made=$(bin/reservectl key create --company $COMPANY --test --name "Website" --output json)
TEST_KEY=$(jq -er .api_key <<<"$made") TEST_SECRET=$(jq -er .api_secret <<<"$made")
`
)

// startPage is the page that a new user follows once, on a new platform.
const startPage = "docs/START_GO.md"

// guideAddress is the address of the reader's own program in the guides.
const guideAddress = "https://example.com/webhooks"

// The start page can be followed on a new platform. Then every guide can be followed twice, before
// and after the others.
func TestGuidesCanBeFollowed(t *testing.T) {
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{
		// The guides explain the limit. A reader does not follow all guides at the same
		// time, but this test does.
		"DEMO": "on", "RATE_LIMIT": "1000",
	}})
	address := listen(t, filepath.Join(s.Dir, "webhook-ca.pem"))
	dir := checkout(t, s)
	t.Run(startPage, func(t *testing.T) {
		follow(t, dir, "make() { [ \"$*\" = run ]; }\n"+harness.StartScript(t, startPage, s.Credentials.InterfaceB.BaseURL))
	})
	again := guides()
	slices.Reverse(again)
	for _, guide := range append(guides(), again...) {
		t.Run(guide, func(t *testing.T) {
			script := strings.ReplaceAll(guideScript(page(t, guide)), guideAddress, address)
			if guide == testModePage {
				script = testModeVariables + script
			}
			follow(t, dir, script)
		})
	}
}

// listen starts a receiver of webhooks with a certificate of the platform's local
// authority, and returns its address.
func listen(t *testing.T, authority string) string {
	t.Helper()
	ca, err := localca.Load(authority)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	receiver.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	receiver.StartTLS()
	t.Cleanup(receiver.Close)
	return receiver.URL + "/webhooks"
}

// checkout makes a directory like the one in which a reader has run make run.
func checkout(t *testing.T, s *harness.Standalone) string {
	t.Helper()
	dir := harness.TempDir(t)
	program := harness.Program(t, "reservectl", "standalone")
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bin/reservectl": program, ".run": s.Dir} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// guideShell makes curl fail for an error response, and runs make demo with the program
// that is already built. Its time limits allow for a loaded machine.
const guideShell = `set -eu -o pipefail
curl() { command curl --fail-with-body --max-time 60 "$@"; }
make() { case $1 in demo) bin/reservectl demo --limit 5m --credentials .run/credentials.json ;; *) return 1 ;; esac; }
fails() { if "$@"; then echo "this should have failed: $*" >&2; exit 1; fi; }
js() { ! command -v node || node --input-type=module; }
python() { ! command -v python3 || python3 -; }
go() { cat >main.go && GOWORK=off command go run main.go; }
`

var (
	shellBlock   = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```\n(?: *```json\n(.*?)^ *```)?")
	programBlock = regexp.MustCompile("(?ms)\\A```(js|python|go)\n(.*?)^```\n")
	// endless matches the commands that start the platform, test it, or run until Ctrl-C.
	endless = regexp.MustCompile(`(?m)^(?:make (?:run|test)\b|bin/reservectl (?:--credentials \S+ )?listen\b|WEBHOOK_SECRETS=).*$`)
)

// guideScript returns all commands of a page, in their order. A command must fail if the
// response after it is an error. Programs that directly follow a block of commands run
// after it, if their language is installed.
func guideScript(text string) string {
	var script strings.Builder
	for _, at := range shellBlock.FindAllStringSubmatchIndex(text, -1) {
		commands, response := endless.ReplaceAllString(text[at[2]:at[3]], ""), ""
		if at[4] >= 0 {
			response = text[at[4]:at[5]]
		}
		if strings.HasPrefix(response, `{"error":`) || strings.HasPrefix(response, `{"message":`) && strings.Contains(response, `"error":`) {
			commands = "fails " + commands
		}
		script.WriteString(commands)
		rest := text[at[1]:]
		for m := programBlock.FindStringSubmatch(rest); m != nil; m = programBlock.FindStringSubmatch(rest) {
			script.WriteString(m[1] + " <<'PROGRAM'\n" + m[2] + "PROGRAM\n")
			rest = rest[len(m[0]):]
		}
	}
	return script.String()
}

func follow(t *testing.T, dir, script string) {
	t.Helper()
	if len(strings.Fields(script)) < 10 {
		t.Fatalf("the page has no commands: %q", script)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-x", "-c", guideShell+script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-3000):])
	}
}

func TestGuideScript(t *testing.T) {
	text := "# A guide\n```sh\nmake run\n```\nand\n```sh\nmake demo\ncurl -s x\n```\n```json\n{\"a\":1}\n```\nbut\n```sh\ncurl -s y\n```\n```json\n{\"error\":{}}\n```\n"
	if got, want := guideScript(text), "\nmake demo\ncurl -s x\nfails curl -s y\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text = "```sh\nexport A=1\n```\n```js\na();\n```\n```python\na()\n```\n```json\n{}\n```\n\n```go\nnot run\n```\n"
	if got, want := guideScript(text), "export A=1\njs <<'PROGRAM'\na();\nPROGRAM\npython <<'PROGRAM'\na()\nPROGRAM\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
