package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// modeSwitch is the switch of test mode in the header of a desktop window.
const modeSwitch = `//header[contains(@class,"side")]//button[@role="switch"]`

// switchMode presses the switch of test mode.
func (b *tab) switchMode() {
	b.t.Helper()
	b.size(1280, 900)
	b.followAt("Test mode", modeSwitch)
}

// testPlaces puts the tab in test mode, and returns pages of it.
func (b *tab) testPlaces() []place {
	b.t.Helper()
	b.open("/")
	b.switchMode()
	b.says("Test mode is on.")
	return []place{
		{"today in test mode", "/"}, {"test clock", "/test-mode"}, {"delete all test data", "/test-mode/reset"},
		{"API keys in test mode", "/settings/api-keys"}, {"new event in test mode", "/events/new"}, {"account in test mode", "/account"},
	}
}

func (w *world) testTestMode(t *testing.T) {
	b, live := w.signedIn(t), w.signedIn(t)
	b.step("switches to test mode, where there are no live data", func(t *testing.T) {
		b.open("/customers")
		b.switchMode()
		if path := b.path(); path != "/customers" {
			t.Errorf("the switch leads to %s", path)
		}
		b.says("Test mode is on.", "This page shows test data only.", "No customers here")
		live.open("/customers")
		if page := live.text(); strings.Contains(page, "This page shows test data") || strings.Contains(page, "No customers here") {
			t.Errorf("another session is in test mode:\n%s", page)
		}
		b.quiet()
	})
	b.step("says so in print", func(t *testing.T) {
		command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		if !eval[bool](b, `document.querySelector(".mode").checkVisibility() && !document.querySelector(".side").checkVisibility()`) {
			t.Error("the printed page does not show the banner alone")
		}
		command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	})
	b.step("creates a key of test mode", func(t *testing.T) {
		b.open("/settings/api-keys/new")
		b.fill("Name", "Trial")
		b.tick("*")
		b.follow("Create the key")
		if key := b.credential(); !strings.HasPrefix(key.ID, "key_test_") {
			t.Errorf("the key is %s", key.ID)
		}
	})
	b.step("moves the test clock", func(t *testing.T) {
		b.open("/test-mode")
		b.follow("1 week")
		b.says("Everything that is due by then follows within seconds.")
		zone := eval[string](b, `document.querySelector(".side .who strong").textContent`)
		loc, err := time.LoadLocation(strings.ReplaceAll(zone, " ", "_"))
		if err != nil {
			t.Fatal(err)
		}
		want := time.Now().In(loc).AddDate(0, 0, 7).Format("2006-01-02")
		b.open("/events/new")
		if start := eval[string](b, `document.querySelector("#start").value`); start <= want {
			t.Errorf("a new event starts at %s, and the test clock shows %s", start, want)
		}
	})
	b.step("refuses a form that was opened in the other mode", func(t *testing.T) {
		b.open("/customers/new")
		// Another tab switches back.
		switched := read(b, "another tab", chromedp.Evaluate[bool](`(() => {
			const form = document.querySelector(".side .switch");
			return fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))}).then(r => r.ok);
		})()`, chromedp.EvalAwaitPromise))
		if !switched {
			t.Fatal("the other tab does not switch")
		}
		b.fill("First name", "Ann")
		b.fill("Last name", "Test")
		b.fill("E-mail address", "ann@example.com")
		b.follow("Add the customer")
		b.says("You opened this form in test mode", "Nothing was changed.")
		b.takeProblems() // the browser reports the refusal
	})
	b.step("deletes all test data", func(t *testing.T) {
		b.switchMode()
		b.open("/test-mode")
		b.follow("Delete all test data")
		b.says("These remain:")
		b.follow("Delete all test data")
		b.says("All test data are deleted:")
		b.open("/settings/api-keys")
		b.says("Trial")
	})
	b.step("switches back", func(t *testing.T) {
		b.switchMode()
		b.says("Test mode is off.")
		if page := b.text(); strings.Contains(page, "Trial") {
			t.Error("a key of test mode is shown in live mode")
		}
		b.quiet()
	})
}
