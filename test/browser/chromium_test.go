package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"reservation.dev/test/harness"
)

// chromium is a browser process with its own profile.
type chromium struct{ ctx context.Context }

// findChromium returns the browser's path; "" if there is none. The variable CHROMIUM overrides the
// browsers on the path.
func findChromium() string {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startChromium starts a browser with the fonts of a set, and ends it with the test. It skips the
// test if no browser is installed.
func startChromium(t *testing.T, fonts fontSet) *chromium {
	t.Helper()
	path := findChromium()
	if path == "" {
		t.Skip("no Chromium on the path: deploy/install-chromium.sh installs it, or CHROMIUM names one")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(harness.TempDir(t), "profile")),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-lcd-text", true), // pictures of text in shades of one colour
		chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("accept-lang", "en-GB,en"),
		chromedp.Env(fonts.environment(t)...),
		chromedp.Env("LC_ALL=C.UTF-8", "LANGUAGE=en_GB", "TZ=UTC"),
	)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		end()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return &chromium{ctx}
}
