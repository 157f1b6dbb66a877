package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stepLimit bounds a step of a tab, for example a click and the page that it loads.
const stepLimit = time.Minute

// tab is a tab with its own cookies.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // of the dashboard
	// files is the origin of the media service's files, from which pages can load too; "" if there is none.
	files string
	// actions counts the clicks and the fields that were filled in.
	actions int

	mu       sync.Mutex
	problems []string // what the browser complained of
	bytes    int64    // what was transferred
}

// tab opens a tab of the size of a desktop window.
func (c *chromium) tab(t *testing.T, base string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx, base: base}
	// The first run creates the tab. A context with a time limit would close the tab at the limit.
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, audits.Enable, cdp.Empty{})
	b.size(1280, 900)
	return b
}

// note collects the browser's messages about pages.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			for _, arg := range e.Args {
				complain("console: %s %s", arg.Value, arg.Description)
			}
		}
	case *runtime.EventExceptionThrown:
		complain("script: %v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			complain("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			complain("content security policy: %s", e.Issue.Details.ContentSecurityPolicyIssueDetails.ViolatedDirective)
		}
	case *network.EventRequestWillBeSent:
		// The browser's own controls load their icons from data URLs.
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && !slices.Contains([]string{b.base, b.files}, u.Scheme+"://"+u.Host) {
			complain("a request that leaves the dashboard: %s", e.Request.URL)
		}
	case *network.EventLoadingFinished:
		b.bytes += int64(e.EncodedDataLength)
	}
}

// takeProblems returns the problems that the browser reported since the last call.
func (b *tab) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// quiet fails the test if the browser has reported problems.
func (b *tab) quiet() {
	b.t.Helper()
	for _, problem := range b.takeProblems() {
		b.t.Errorf("%s: the browser says: %s", b.path(), problem)
	}
}

// step runs a subtest with the tab. If it fails, the test ends, because later steps depend on it.
func (b *tab) step(name string, f func(t *testing.T)) {
	outer := b.t
	ok := outer.Run(name, func(t *testing.T) {
		b.t = t
		f(t)
	})
	b.t = outer
	if !ok {
		outer.FailNow()
	}
}

// limited returns the tab's context for one step.
func (b *tab) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, stepLimit)
}

// do runs actions and fails the test with the page's text if one fails.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
}

// read runs an action and returns its value.
func read[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
	return v
}

// eval evaluates an expression in the page through the debugger.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return read(b, expression, chromedp.Evaluate[T](expression))
}

// command sends a command of the debugger protocol.
func command[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		b.t.Fatalf("%s: %v", c.Method, err)
	}
	return r
}

// size sets the size of the window in pixels. Narrow windows are phones.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// scheme sets the preferred colour scheme, "light" or "dark", and turns animations off, during which
// colours are not final.
func (b *tab) scheme(name string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// withoutScript turns JavaScript off.
func (b *tab) withoutScript() {
	b.t.Helper()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// withScript turns JavaScript on again.
func (b *tab) withScript() {
	b.t.Helper()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
}

// open loads a path of the dashboard and returns the status of the response.
func (b *tab) open(path string) int64 {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	res, err := chromedp.RunResponse(ctx, chromedp.Navigate(b.base+path))
	if err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	return res.Status
}

// path returns the path and the query of the open page.
func (b *tab) path() string {
	return strings.TrimPrefix(b.now(`location.href`), b.base)
}

// text returns the visible text of the page.
func (b *tab) text() string { return b.now(`document.body.innerText`) }

// now evaluates an expression with a text as its value. If that fails, it returns the error's text,
// so that failure messages can use it.
func (b *tab) now(expression string) string {
	ctx, cancel := b.limited()
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		return err.Error()
	}
	return text
}

// says fails the test unless the page shows each of the texts.
func (b *tab) says(texts ...string) {
	b.t.Helper()
	page := b.text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Fatalf("%s does not say %q:\n%s", b.path(), text, page)
		}
	}
}

// literal returns a string as an XPath literal.
func literal(s string) string {
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return `'` + s + `'`
}

// control finds a button or link of the page's content by its text.
func control(label string) string {
	is := "[normalize-space()=" + literal(label) + "]"
	return "(//main//button" + is + " | //main//a" + is + " | //main//summary" + is + ")[1]"
}

// follow clicks a button or link and waits for the next page.
func (b *tab) follow(label string) {
	b.t.Helper()
	b.followAt(label, control(label))
}

// followAt is follow for the element that an XPath finds.
func (b *tab) followAt(what, xpath string) {
	b.t.Helper()
	b.actions++
	ctx, cancel := b.limited()
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(xpath, chromedp.NodeVisible)); err != nil {
		b.t.Fatalf("click on %q: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
}

// press clicks a button that does not load another page.
func (b *tab) press(label string) {
	b.t.Helper()
	b.actions++
	b.do("press "+label, chromedp.Click(control(label), chromedp.NodeVisible))
}

// field finds a control by its label.
func field(label string) string {
	return "//*[@id=//main//label[starts-with(normalize-space()," + literal(label) + ")]/@for]"
}

// fill replaces the value of the field with a label. The whole text arrives at once, as from the clipboard: a search
// while typing then has one result, and does not replace it while the test looks at it.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	b.actions++
	at := field(label)
	b.do("wait for "+label, chromedp.WaitVisible(at))
	eval[bool](b, `(() => {
		const control = document.evaluate(`+quote(b.t, at)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		control.focus();
		control.select();
		return true;
	})()`)
	if value == "" {
		b.do("empty "+label, chromedp.KeyEvent(kb.Backspace))
		return
	}
	command(b, input.InsertText, input.InsertTextParams{Text: value})
}

// quote returns a text as a JavaScript literal.
func quote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// choose picks an option of a list by its value.
func (b *tab) choose(label, value string) {
	b.t.Helper()
	b.actions++
	b.do("choose "+label, chromedp.SetValue(field(label), value, chromedp.NodeVisible))
}

// tick clicks the box or radio button with a label.
func (b *tab) tick(label string) {
	b.t.Helper()
	b.actions++
	at := "//main//label[.//*[normalize-space()=" + literal(label) + "]]//input"
	b.do("tick "+label, chromedp.Click(at, chromedp.NodeVisible))
}

// textOf returns the text of the element that a CSS selector finds.
func (b *tab) textOf(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(read(b, "read "+selector, chromedp.Text(chromedp.CSS(selector), chromedp.NodeVisible)))
}

// cookies returns the tab's cookies.
func (b *tab) cookies() []*network.Cookie {
	b.t.Helper()
	return command(b, network.GetCookies, network.GetCookiesParams{}).Cookies
}

// clickVisible clicks the element that an XPath finds, when it is visible.
func clickVisible(xpath string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(xpath, chromedp.NodeVisible)
}
