package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stepLimit bounds one step of a tab: a click and the page that comes of it.
const stepLimit = 30 * time.Second

// tab is one tab of a window of its own: its cookies are nobody else's.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // of the dashboard

	mu       sync.Mutex
	problems []string // what the browser complained of
	bytes    int64    // what was transferred
}

// tab opens a tab, as wide and high as a window on a desk.
func (c *chromium) tab(t *testing.T, base string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx, base: base}
	// The first run makes the tab; a context with a limit would end it with the limit.
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, audits.Enable, cdp.Empty{})
	b.size(1280, 900)
	return b
}

// note collects what the browser says of pages.
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
		// The browser's own widgets have their icons as data.
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && u.Scheme+"://"+u.Host != b.base {
			complain("a request that leaves the dashboard: %s", e.Request.URL)
		}
	case *network.EventLoadingFinished:
		b.bytes += int64(e.EncodedDataLength)
	}
}

// takeProblems returns what the browser complained of since the last call.
func (b *tab) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// quiet fails the test with what the browser complained of, if anything.
func (b *tab) quiet() {
	b.t.Helper()
	for _, problem := range b.takeProblems() {
		b.t.Errorf("%s: the browser says: %s", b.path(), problem)
	}
}

// step runs a subtest with the tab. What follows builds on it, and so ends with it.
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

// do runs actions that must succeed; a failure shows what the page says.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
}

// read runs an action for its value.
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

// eval evaluates an expression in the page, as the debugger does.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return read(b, expression, chromedp.Evaluate[T](expression))
}

// command gives the debugger's protocol a command.
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

// size makes the window as wide and high as given, in pixels; narrow ones are phones.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// scheme prefers "light" or "dark" colours, and no motion: what fades has not
// got its colours yet.
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

// open goes to a path of the dashboard and returns the status of the answer.
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

// path returns where the tab is, from the slash on.
func (b *tab) path() string {
	return strings.TrimPrefix(b.now(`location.href`), b.base)
}

// text returns what the page says to a person who sees it.
func (b *tab) text() string { return b.now(`document.body.innerText`) }

// now evaluates an expression that is a text; where that fails, the error is the
// text: it is for messages too.
func (b *tab) now(expression string) string {
	ctx, cancel := b.limited()
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		return err.Error()
	}
	return text
}

// says fails the test unless the page says each of the texts.
func (b *tab) says(texts ...string) {
	b.t.Helper()
	page := b.text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Fatalf("%s does not say %q:\n%s", b.path(), text, page)
		}
	}
}

// literal writes a string as XPath has it.
func literal(s string) string {
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return `'` + s + `'`
}

// control finds a button or link of the page's content by what it says.
func control(label string) string {
	is := "[normalize-space()=" + literal(label) + "]"
	return "(//main//button" + is + " | //main//a" + is + " | //main//summary" + is + ")[1]"
}

// follow clicks a button or link and waits for the page that it leads to.
func (b *tab) follow(label string) {
	b.t.Helper()
	b.followAt(label, control(label))
}

// followAt is follow for what an XPath finds.
func (b *tab) followAt(what, xpath string) {
	b.t.Helper()
	ctx, cancel := b.limited()
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(xpath, chromedp.NodeVisible)); err != nil {
		b.t.Fatalf("click on %q: %v\nat %s:\n%s", what, err, b.path(), b.text())
	}
}

// press clicks a button that leads to no other page.
func (b *tab) press(label string) {
	b.t.Helper()
	b.do("press "+label, chromedp.Click(control(label), chromedp.NodeVisible))
}

// field finds a control by its label.
func field(label string) string {
	return "//*[@id=//main//label[starts-with(normalize-space()," + literal(label) + ")]/@for]"
}

// fill types a value into the field with the label, in place of what is there.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	at := field(label)
	b.do("wait for "+label, chromedp.WaitVisible(at))
	eval[bool](b, `(() => {
		const control = document.evaluate(`+quote(b.t, at)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		control.focus();
		control.select();
		return true;
	})()`)
	b.do("fill "+label, chromedp.SendKeys(at, cmp.Or(value, kb.Backspace)))
}

// quote writes a text as JavaScript has it.
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
	b.do("choose "+label, chromedp.SetValue(field(label), value, chromedp.NodeVisible))
}

// tick clicks the box or the radio button beside which label stands.
func (b *tab) tick(label string) {
	b.t.Helper()
	at := "//main//label[.//*[normalize-space()=" + literal(label) + "]]//input"
	b.do("tick "+label, chromedp.Click(at, chromedp.NodeVisible))
}

// textOf returns what one element says, by its CSS selector.
func (b *tab) textOf(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(read(b, "read "+selector, chromedp.Text(chromedp.CSS(selector), chromedp.NodeVisible)))
}

// cookies returns the tab's cookies.
func (b *tab) cookies() []*network.Cookie {
	b.t.Helper()
	return command(b, network.GetCookies, network.GetCookiesParams{}).Cookies
}

// clickVisible clicks what an XPath finds, as soon as it is to be seen.
func clickVisible(xpath string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(xpath, chromedp.NodeVisible)
}
