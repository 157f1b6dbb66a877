// Package webhooks checks everything that receivers of webhooks are given: the examples of
// docs/webhooks in their languages, and third-party libraries, must verify the published vectors
// and real requests. The copy of the CRM example must equal the lists of Interface B.
package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	vectorsFile = "../../docs/webhooks/vectors.json"
	examples    = "../../docs/webhooks/examples"
)

// vector is a request with the verdicts that a receiver must reach.
type vector struct {
	Name     string            `json:"name"`
	Time     int64             `json:"time"`
	Secrets  []string          `json:"secrets"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	JWT      bool              `json:"jwt"`
	Standard bool              `json:"standardWebhooks"`
}

func readVectors(t *testing.T) (text []byte, all []vector) {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var good, bad int
	for _, v := range file.Vectors {
		if v.JWT && v.Standard {
			good++
		} else {
			bad++
		}
	}
	if good < 5 || bad < 15 {
		t.Fatalf("%d good and %d bad vectors are too few", good, bad)
	}
	return text, file.Vectors
}

// compare compares verdicts with the published ones. A verdict has two values by vector name: for
// the JWT and for the Standard Webhooks signature.
func compare(t *testing.T, all []vector, verdicts map[string][2]bool) {
	t.Helper()
	for _, v := range all {
		got, ok := verdicts[v.Name]
		if want := [2]bool{v.JWT, v.Standard}; !ok || got != want {
			t.Errorf("%s: JWT and Standard Webhooks are %v, want %v", v.Name, got, want)
		}
	}
}

// program returns the path of a program, and skips the test if it is not installed.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: its example is not tested", name)
	}
	return path
}

func absolute(t *testing.T, path ...string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// check runs a program on the vectors and returns its verdicts.
func check(t *testing.T, dir string, text []byte, args ...string) map[string][2]bool {
	t.Helper()
	var verdicts map[string][2]bool
	judge(t, dir, text, &verdicts, args...)
	return verdicts
}

// judge runs a program on the vectors and decodes its output into verdicts.
func judge(t *testing.T, dir string, text []byte, verdicts any, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(text)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, errOut.Bytes())
	}
	if err := json.Unmarshal(out, verdicts); err != nil {
		t.Fatalf("%v: %v in %s", args, err, out)
	}
}

// copyGo copies files of the Go example and others into a separate module.
func copyGo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example\n\ngo 1.24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildGo builds the program of a module without dependencies.
func buildGo(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "go"), "build", "-o", "program", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "program")
}

func TestExamples(t *testing.T) {
	text, all := readVectors(t)
	t.Run("Go", func(t *testing.T) {
		dir := copyGo(t, map[string]string{"verify.go": examples + "/go/verify.go", "check.go": "testdata/check.go.txt"})
		compare(t, all, check(t, dir, text, buildGo(t, dir)))
	})
	for _, tt := range []struct{ language, program, file string }{
		{"JavaScript", "node", "node/verify.mjs"}, {"Python", "python3", "python/verify.py"}, {"PHP", "php", "php/verify.php"},
	} {
		t.Run(tt.language, func(t *testing.T) {
			driver := absolute(t, "testdata", "check"+filepath.Ext(tt.file))
			compare(t, all, check(t, t.TempDir(), text, program(t, tt.program), driver, absolute(t, examples, tt.file)))
		})
	}
}

func TestGoLibraries(t *testing.T) {
	_, all := readVectors(t)
	verdicts := map[string][2]bool{}
	for _, v := range all {
		header := http.Header{}
		for name, value := range v.Headers {
			header.Set(name, value)
		}
		var verdict [2]bool
		for _, secret := range v.Secrets {
			verdict[0] = verdict[0] || byJWT(t, v, header, secret)
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			// The library uses the current time, but the vectors have fixed times.
			seconds, _ := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
			fresh := time.Unix(v.Time, 0).Sub(time.Unix(seconds, 0)).Abs() <= 5*time.Minute
			verdict[1] = verdict[1] || fresh && verifier.VerifyIgnoringTimestamp([]byte(v.Body), header) == nil
		}
		verdicts[v.Name] = verdict
	}
	compare(t, all, verdicts)
}

func byJWT(t *testing.T, v vector, header http.Header, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(v.Body))
	for _, name := range []string{"X-Service-Signature", "X-Service-Signature-Previous"} {
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(header.Get(name), claims, func(*jwt.Token) (any, error) { return key, nil },
			jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer("reservation"), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
			jwt.WithLeeway(time.Minute), jwt.WithTimeFunc(func() time.Time { return time.Unix(v.Time, 0) }))
		if err == nil && claims["body_sha256"] == hex.EncodeToString(sum[:]) {
			return true
		}
	}
	return false
}

// TestNPMLibraries checks the vectors with the libraries from npm that receivers in JavaScript
// use.
func TestNPMLibraries(t *testing.T) {
	text, all := readVectors(t)
	node, npm := program(t, "node"), program(t, "npm")
	dir := t.TempDir()
	driver, err := os.ReadFile("testdata/libraries.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"libraries.mjs": driver, "package.json": []byte(`{"private":true,"type":"module"}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "jose@6", "standardwebhooks@1")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm's registry is unreachable, so its libraries are not tested: %v: %s", err, out)
	}
	compare(t, all, check(t, dir, text, node, "libraries.mjs"))
}
