package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"reservation.dev/test/harness"
)

// The accessibility checker is not part of the product. The tests download a fixed version from the
// npm registry.
const (
	axePackage = "axe-core@4.14.1"
	axeSum     = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
	axeLimit   = time.Minute
)

// needAxe is the setting that makes a missing checker a failure instead of a skipped test.
const needAxe = "BROWSER_TESTS_NEED_AXE"

// axeSource returns the checker's script; "" if the registry cannot be reached and needAxe is
// not set.
func axeSource(t *testing.T) (source string) {
	t.Run("downloads the accessibility checker", func(t *testing.T) { source = readAxe(t) })
	return source
}

func readAxe(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(root, ".cache", "test", axePackage+".js")
	if script, err := os.ReadFile(kept); err == nil {
		return string(script)
	}
	script, err := fetchAxe(t)
	if err != nil {
		say := t.Skipf
		if os.Getenv(needAxe) != "" {
			say = t.Fatalf
		}
		say("accessibility is not checked: %s is not to be had: %v", axePackage, err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, script, 0o644)); err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func fetchAxe(t *testing.T) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), axeLimit)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, npm, "pack", axePackage, "--silent", "--pack-destination", dir)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w: %s", err, out)
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return nil, fmt.Errorf("npm pack made %v", packed)
	}
	raw, err := os.ReadFile(packed[0])
	if err != nil {
		return nil, err
	}
	if sum := sha512.Sum512(raw); base64.StdEncoding.EncodeToString(sum[:]) != axeSum {
		t.Fatalf("%s is not what it was: its sum is %x", axePackage, sum)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if err != nil {
			return nil, err
		}
		if file.Name == "package/axe.min.js" {
			return io.ReadAll(files)
		}
	}
}

// evaluate runs a script in the page through the debugger, without its result.
func evaluate(ctx context.Context, t *chromedp.Target, script string) error {
	res, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: script + "\n;0"})
	if err == nil && res.ExceptionDetails != nil {
		err = errors.New(res.ExceptionDetails.Text)
	}
	return err
}
