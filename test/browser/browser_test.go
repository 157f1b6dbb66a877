// Package browser tests the dashboard in a real browser over the whole platform.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// chrome is the browser that is installed; a test is skipped where none is.
func chrome(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no browser is installed: apt-get install chromium")
	return ""
}

// tab is a page of a browser with a profile of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	troubles []string
}

// stepLimit bounds what is done at one time.
const stepLimit = 20 * time.Second

func openTab(t *testing.T, base string) *tab {
	t.Helper()
	profile := filepath.Join(harness.TempDir(t), "profile")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chrome(t)), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		// The profile can be removed when the browser has ended.
		_ = chromedp.Cancel(ctx)
		chromedp.FromContext(ctx).Allocator.Wait()
	})
	b := &tab{t: t, ctx: ctx, base: base}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.troubles = append(b.troubles, e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			// Answers that refuse a form are logged as errors of the network.
			if e.Entry.Level == cdplog.LevelError && e.Entry.Source != cdplog.SourceNetwork {
				b.troubles = append(b.troubles, e.Entry.Text)
			}
		}
	})
	// The browser lives as long as the context of the first run.
	if err := chromedp.Run(ctx, cdplog.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

// do runs actions, and fails the test with what the page then shows.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepLimit)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var location, body string
		after, cancel := context.WithTimeout(b.ctx, stepLimit)
		defer cancel()
		_ = chromedp.Run(after, chromedp.Location(&location), chromedp.Evaluate("document.body.innerText", &body))
		b.t.Fatalf("%v at %s:\n%s", err, location, body)
	}
}

// open goes to a path, and returns when its heading is there.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
	b.until("document.querySelector('h1')")
}

// press clicks the button or link with a text, within the content of the page.
func (b *tab) press(label string) {
	b.t.Helper()
	b.do(chromedp.Click(fmt.Sprintf(`//main//*[self::a or self::button][normalize-space(.)=%q]`, label), chromedp.BySearch))
}

// fill types into a field, by its label's "for".
func (b *tab) fill(id, value string) {
	b.t.Helper()
	b.do(chromedp.Clear("#"+id, chromedp.ByQuery), chromedp.SendKeys("#"+id, value, chromedp.ByQuery))
}

// sees waits until the page shows a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// until waits until a condition holds. It is asked from outside: the pages'
// policy lets nothing within them be evaluated.
func (b *tab) until(condition string) {
	b.t.Helper()
	harness.Eventually(b.t, stepLimit, func() error {
		ctx, cancel := context.WithTimeout(b.ctx, stepLimit)
		defer cancel()
		var holds bool
		var body string
		err := chromedp.Run(ctx, chromedp.Evaluate("Boolean(document.body && "+condition+")", &holds), chromedp.Evaluate("document.body ? document.body.innerText : ''", &body))
		if err == nil && !holds {
			err = fmt.Errorf("not yet: %s in\n%s", condition, body)
		}
		return err
	})
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	var text string
	b.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return strings.TrimSpace(text)
}

// signIn begins a session.
func (b *tab) signIn(email, password string) {
	b.t.Helper()
	b.open("/sign-in")
	b.fill("email", email)
	b.fill("password", password)
	b.press("Sign in")
	b.sees("Sign out")
}

// quiet fails the test where a page's policy was broken or a script failed.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.troubles {
		b.t.Errorf("the browser complains: %s", trouble)
	}
}
