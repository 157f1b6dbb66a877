package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// maxPage is how much a page may transfer, in bytes, with all that it needs and
// nothing kept from before.
const maxPage = 150_000

// maxShift is how far what is shown may jump while a page loads: Chromium's
// layout shift score, of which 0.1 is called good.
const maxShift = 0.02

// windows are a desk and a phone. The accessibility checker sees each in one
// scheme: what it looks for depends on the scheme or on the width, not on both.
var windows = []struct {
	name          string
	width, height int64
	scheme        string
}{{"desk", 1280, 900, "light"}, {"phone", 390, 844, "dark"}}

func (w *world) testPages(t *testing.T) { // invariants 3 and 4
	b := w.signedIn(t)
	w.fill(b)
	pages := w.places(t, b)
	command(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	axe := axeSource(t)
	b.takeProblems()

	guest := w.tab(t)
	guest.look(t, place{"sign-in", "/sign-in"}, axe)
	guest.look(t, place{"new password", w.resetLink(t)}, axe)
	for _, p := range pages {
		b.look(t, p, axe)
	}
}

// resetLink makes an owner of whom nobody knows, and a link for their password.
func (w *world) resetLink(t *testing.T) string {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	made, err := w.op.Administrators.CreateAdministrator(ctx, &authv1.CreateAdministratorRequest{Email: "forgetful@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.op.Administrators.CreatePasswordReset(ctx, &authv1.CreatePasswordResetRequest{Id: made.GetAdministrator().GetId()})
	if err != nil {
		t.Fatal(err)
	}
	return "/reset/" + link.GetToken()
}

// fill makes what the pages need to have something on them.
func (w *world) fill(b *tab) {
	b.t.Helper()
	b.addEndpoint(w.receiver.url+"/hook", "The newsletter")
	b.follow("Send Test")
	b.says("The receiver took it.")
	b.addDiscount("PAGES10")
}

// look opens a page in every window, light and dark, and holds it to the
// invariants. axe is the accessibility checker, "" where it is not to be had.
func (b *tab) look(t *testing.T, p place, axe string) {
	t.Run(p.name, func(t *testing.T) {
		outer := b.t
		b.t = t
		defer func() { b.t = outer }()
		for _, window := range windows {
			b.size(window.width, window.height)
			b.takeBytes()
			if status := b.open(p.path); status != 200 {
				t.Fatalf("%s is answered %d", p.path, status)
			}
			if size := b.takeBytes(); size > maxPage || size < 1000 {
				t.Errorf("%s: %d bytes are transferred", p.path, size)
			}
			if shift := b.shift(); shift > maxShift {
				t.Errorf("%s, %s: what is shown jumps by %.3f", p.path, window.name, shift)
			}
			for _, cut := range b.cut() {
				t.Errorf("%s, %s: a part is cut off: %s", p.path, window.name, cut)
			}
			if wide := b.wide(window.width); len(wide) > 0 {
				t.Errorf("%s, %s: it scrolls sideways for\n%s", p.path, window.name, strings.Join(wide, "\n"))
			}
			b.scheme(window.scheme)
			for _, violation := range b.violations(axe) {
				t.Errorf("%s, %s, %s: %s", p.path, window.name, window.scheme, violation)
			}
			b.scheme("light")
		}
		b.size(1280, 900)
		b.open(p.path)
		for _, fault := range b.tabThrough() {
			t.Errorf("%s, keyboard: %s", p.path, fault)
		}
		b.quiet()
	})
}

// takeBytes returns what was transferred since the last call.
func (b *tab) takeBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.bytes
	b.bytes = 0
	return n
}

// shift returns the layout shift score of the page.
func (b *tab) shift() float64 {
	b.t.Helper()
	return read(b, "layout shift", chromedp.Evaluate[float64](`new Promise(done => {
		let sum = 0;
		new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({type: "layout-shift", buffered: true});
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum), 20)));
	})`, chromedp.EvalAwaitPromise))
}

// wide returns what makes the page wider than the window, if it is.
func (b *tab) wide(width int64) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf(`(() => {
		if (document.scrollingElement.scrollWidth <= %[1]d) return [];
		const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %[1]d + 0.5);
		return wide.slice(0, 5).map(e => e.outerHTML.slice(0, 160)).concat("the page is " + document.scrollingElement.scrollWidth + " wide");
	})()`, width))
}

// cut returns what is wider than the card that it is on, which hides the rest.
func (b *tab) cut() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("main *")]
		.filter(e => getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
		.map(e => e.className + ": " + e.scrollWidth + " in " + e.clientWidth)`)
}

// violations returns what the accessibility checker finds; none without it.
func (b *tab) violations(axe string) []string {
	b.t.Helper()
	if axe == "" {
		return nil
	}
	// The debugger evaluates it: the page's content security policy stays as it is.
	b.do("axe", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { return evaluate(ctx, t, axe) }))
	return read(b, "axe", chromedp.Evaluate[[]string](`axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
	}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary.replace(/\s+/g, " "))))`,
		chromedp.EvalAwaitPromise))
}

// tabThrough goes through the page with the Tab key, and returns what it does not
// reach, and what does not show that it has the focus.
func (b *tab) tabThrough() []string {
	b.t.Helper()
	count := eval[int](b, `(() => {
		window.reached = new Set();
		window.reachable = () => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
			.filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0 && (e.type !== "radio" || e.checked));
		return window.reachable().length;
	})()`)
	var faults []string
	for range 3*count + 20 { // a field for a date takes the key several times
		b.do("Tab", chromedp.KeyEvent(kb.Tab))
		fault := eval[string](b, `(() => {
			const e = document.activeElement;
			if (!e || e === document.body || window.reached.has(e) && e === window.reachable()[0]) return "end";
			const first = !window.reached.has(e), style = getComputedStyle(e), at = e.getBoundingClientRect();
			window.reached.add(e);
			if (!first) return "";
			if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) return "the focus does not show at " + e.outerHTML.slice(0, 160);
			if (at.bottom < 0 || at.top > innerHeight) return "the focus is out of sight at " + e.outerHTML.slice(0, 160);
			return "";
		})()`)
		if fault == "end" {
			break
		}
		if fault != "" {
			faults = append(faults, fault)
		}
	}
	return append(faults, eval[[]string](b, `window.reachable().filter(e => !window.reached.has(e)).map(e => "Tab does not reach " + e.outerHTML.slice(0, 160))`)...)
}
