package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDocumentation reads the documentation site as people do who have no account. Every
// step fails if the browser requests anything from another server.
func TestDocumentation(t *testing.T) { // invariant 5
	w := newWorld(t, liberation())
	t.Run("pages", w.testDocsPages)
	t.Run("search", w.testDocsSearch)
	t.Run("colours", w.testDocsColours)
	t.Run("tabs", w.testDocsTabs)
	t.Run("without JavaScript", w.testDocsWithoutScript)
	t.Run("references", w.testReferences)
	t.Run("reference of a gateway", w.testGatewayReference)
	t.Run("timetable of the examples", w.testTimetable) // invariant 6
}

// testDocsPages opens every page on a phone.
func (w *world) testDocsPages(t *testing.T) {
	b := w.tab(t)
	b.open("/sign-in")
	b.follow("Documentation")
	b.says("Where to go next")
	b.size(390, 844)
	paths := eval[[]string](b, `[...new Set([...document.querySelectorAll(".side a")].map(a => a.getAttribute("href")))]`)
	if len(paths) < 50 {
		t.Fatalf("the navigation has %d pages", len(paths))
	}
	for _, path := range paths {
		if slices.Contains(referencePages(), path) {
			continue
		}
		if status := b.open(path); status != 200 {
			t.Errorf("%s is answered %d", path, status)
		}
		if width := eval[int](b, "document.scrollingElement.scrollWidth"); width > 390 {
			t.Errorf("%s is %d pixels wide on a phone", path, width)
		}
		b.quiet()
	}
	b.step("the menu of a phone leads to a page", func(t *testing.T) {
		b.open("/docs")
		b.do("menu", clickVisible(`//details[@class="menu"]/summary`))
		b.followAt("Errors", `//details[@class="menu"]//a[normalize-space()="Errors"]`)
		if b.path() != "/docs/errors" {
			t.Errorf("it leads to %s", b.path())
		}
	})
	b.step("an unknown page helps", func(t *testing.T) {
		if status := b.open("/docs/none"); status != 404 {
			t.Errorf("it is answered %d", status)
		}
		b.says("Page not found", "Errors")
		b.takeProblems() // the browser reports the status
	})
}

func referencePages() []string {
	return []string{"/docs/interface-a", "/docs/interface-b", "/docs/webhooks-reference"}
}

func (w *world) testDocsSearch(t *testing.T) {
	for _, width := range []int64{1280, 390} {
		b := w.tab(t)
		b.size(width, 844)
		b.open("/docs")
		b.step(fmt.Sprintf("by keyboard, %d pixels wide", width), func(t *testing.T) {
			b.searchFor("Idempotency-Key")
			b.do("results", chromedp.WaitVisible(chromedp.CSS(".results a")))
			hits := eval[[]string](b, `[...document.querySelectorAll(".results a")].map(a => a.innerText)`)
			if !strings.Contains(strings.ToLower(hits[0]), "idempotency") {
				t.Errorf("the first result is %q", hits[0])
			}
			if !eval[bool](b, `(() => { const r = document.querySelector(".results").getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })()`) {
				t.Error("the results do not fit the window")
			}
			b.do("first result", chromedp.KeyEvent(kb.ArrowDown))
			if focused := eval[string](b, "document.activeElement.innerText"); focused != hits[0] {
				t.Errorf("the focus is on %q", focused)
			}
			b.do("open it", chromedp.KeyEvent(kb.Enter))
			b.until(`location.pathname !== "/docs"`)
			b.until(`document.readyState === "complete"`)
			if !strings.Contains(strings.ToLower(b.text()), "idempotency-key") {
				t.Errorf("%s does not have the word", b.path())
			}
		})
		b.step(fmt.Sprintf("for nothing that there is, %d pixels wide", width), func(t *testing.T) {
			b.open("/docs")
			b.searchFor("zzqqxx")
			b.until(`document.querySelector(".results").innerText.includes("No page has")`)
			b.do("close", chromedp.KeyEvent(kb.Escape))
			if eval[bool](b, `document.querySelector(".results").checkVisibility()`) {
				t.Error("Escape does not close the results")
			}
			b.quiet()
		})
	}
}

// searchFor presses the key of the search box and types a text. The debugger types the key
// into the box as well, which a keyboard does not.
func (b *tab) searchFor(text string) {
	b.t.Helper()
	b.do("search", chromedp.KeyEvent("/"))
	if !eval[bool](b, `(() => { const box = document.activeElement; box.value = ""; return box.matches("[role=search] input"); })()`) {
		b.t.Fatal("the key / does not lead to the search box")
	}
	b.do("type "+text, chromedp.KeyEvent(text))
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(stepLimit)
	for b.now("String("+expression+")") != "true" {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s is never true, at %s:\n%s", expression, b.path(), b.text())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// background returns the colour of the page.
func (b *tab) background() string {
	b.t.Helper()
	return eval[string](b, "getComputedStyle(document.body).backgroundColor")
}

const (
	lightPage = "rgb(246, 245, 242)"
	darkPage  = "rgb(19, 23, 22)"
)

func (w *world) testDocsColours(t *testing.T) {
	b := w.tab(t)
	for scheme, want := range map[string]string{"light": lightPage, "dark": darkPage} {
		b.scheme(scheme)
		b.open("/docs/webhooks")
		if got := b.background(); got != want {
			t.Errorf("%s: the page is %s, want %s", scheme, got, want)
		}
	}
	b.scheme("light")
	b.open("/docs/webhooks")
	b.do("dark", clickVisible(`//button[normalize-space()="Dark"]`))
	if got := b.background(); got != darkPage {
		t.Errorf("after the switch the page is %s", got)
	}
	b.open("/docs/errors")
	if got := b.background(); got != darkPage {
		t.Errorf("the next page is %s: the choice is not remembered", got)
	}
	b.open("/docs/interface-a")
	b.until(`document.body.classList.contains("dark-mode")`)
	b.quiet()
}

func (w *world) testDocsTabs(t *testing.T) {
	b := w.tab(t)
	b.open("/docs/interface-a-guide")
	shown := `[...document.querySelectorAll(".tabs")].map(g => [...g.querySelectorAll(".tab")].filter(t => t.checkVisibility()).map(t => t.dataset.tab).join("+"))`
	if got := eval[[]string](b, shown); len(got) == 0 || got[0] != "curl" {
		t.Fatalf("tabs show %q, want curl first", got)
	}
	b.do("Python", clickVisible(`(//*[@role="tab"][normalize-space()="Python"])[1]`))
	if got := eval[[]string](b, shown); got[0] != "Python" {
		t.Errorf("after a click tabs show %q", got)
	}
	b.do("Go", chromedp.KeyEvent(kb.ArrowRight))
	if got := eval[[]string](b, shown); got[0] != "Go" {
		t.Errorf("after the arrow key tabs show %q", got)
	}
	b.open("/docs/interface-a-guide")
	if got := eval[[]string](b, shown); got[0] != "Go" {
		t.Errorf("opened again tabs show %q: the choice is not remembered", got)
	}
	b.quiet()
}

func (w *world) testDocsWithoutScript(t *testing.T) {
	b := w.tab(t)
	b.withoutScript()
	b.open("/docs/interface-a-guide")
	if eval[bool](b, `document.querySelector(".search").checkVisibility() || document.querySelector(".theme").checkVisibility()`) {
		t.Error("the page shows controls that need JavaScript")
	}
	if all, shown := eval[int](b, `document.querySelectorAll(".tab").length`), eval[int](b, `[...document.querySelectorAll(".tab")].filter(t => t.checkVisibility()).length`); all == 0 || all != shown {
		t.Errorf("%d of %d examples are shown", shown, all)
	}
	b.open("/docs/interface-a")
	b.says("The reference needs JavaScript")
}

// testReferences opens an operation of Interface B and a message, and looks at the
// operation's examples in each language.
func (w *world) testReferences(t *testing.T) {
	b := w.tab(t)
	b.open("/docs/interface-b#tag/registrations/POST/events/{id}/registrations")
	b.until(`document.body.innerText.includes("/events/{id}/registrations")`)
	for _, example := range []struct{ client, code string }{
		{"Shell Curl", "curl " + w.Credentials.InterfaceB.BaseURL}, {"JavaScript Fetch", "fetch("}, {"Python Requests", "requests.post("}, {"Go NewRequest", "http.NewRequest("},
	} {
		b.step("in "+example.client, func(t *testing.T) {
			b.exampleIn(example.client)
			b.until(`[...document.querySelectorAll("code, pre")].some(e => e.innerText.includes(` + quote(t, example.code) + `))`)
		})
	}
	b.step("search leads to another operation of the page", func(t *testing.T) {
		b.searchFor("Cancel a registration")
		b.do("result", clickVisible(`//ol//a[starts-with(@href,"/docs/interface-b#") and contains(@href,"/DELETE/")]`))
		b.until(`location.hash.includes("DELETE")`)
		b.until(`[...document.querySelectorAll("h3")].some(h => h.innerText.includes("Cancel a registration") && h.getBoundingClientRect().top >= 0 && h.getBoundingClientRect().top < innerHeight)`)
	})
	if strings.Contains(b.text(), "Test Request") {
		t.Error("the reference offers to send requests to the dashboard")
	}
	b.quiet()
	b.open("/docs/webhooks-reference#tag/purchases/webhook/POST/pass.purchased")
	b.until(`document.body.innerText.includes("A customer bought a pass") && document.body.innerText.includes('"Ten Classes"')`)
	b.quiet()
	for _, width := range []int64{1280, 390} {
		for _, path := range referencePages() {
			b.size(width, 844)
			b.open(path)
			b.until(`document.body.innerText.includes("OpenAPI 3.1.0")`)
			if got := eval[int](b, "document.scrollingElement.scrollWidth"); int64(got) > width {
				t.Errorf("%s is %d pixels wide in %d", path, got, width)
			}
			b.quiet()
		}
	}
}

// exampleIn shows the first operation's example for a client.
func (b *tab) exampleIn(client string) {
	b.t.Helper()
	picker := `[...document.querySelectorAll("[data-testid=client-picker]")].find(e => e.checkVisibility())`
	b.until(picker + " !== undefined")
	if b.now(picker+`?.innerText.trim() ?? ""`) == client {
		return
	}
	b.clickWhenThere(picker)
	b.clickWhenThere(`[...document.querySelectorAll("[role=option]")].find(e => e.innerText.trim() === ` + quote(b.t, strings.SplitN(client, " ", 2)[1]) + `)`)
	b.until(picker + ".innerText.trim() === " + quote(b.t, client))
}

// clickWhenThere waits for the element that an expression finds, and clicks it at once, because a page that is being
// built replaces its elements.
func (b *tab) clickWhenThere(element string) {
	b.t.Helper()
	b.until(`(() => { const e = ` + element + `; e?.click(); return e !== undefined; })()`)
}

// testGatewayReference sends a request from the page that Interface A serves.
func (w *world) testGatewayReference(t *testing.T) {
	b := w.chromium.tab(t, w.Credentials.InterfaceA.BaseURL)
	var sent []string
	if err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && e.Request.Method == "POST" {
			b.mu.Lock()
			defer b.mu.Unlock()
			sent = append(sent, e.Request.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.open("/docs#tag/access/POST/token")
	b.until(`document.body.innerText.includes("/token")`)
	b.quiet()
	test := `[...document.querySelectorAll("button")].find(e => e.checkVisibility() && /Test Request/.test(e.innerText))`
	b.clickWhenThere(test)
	send := `[...document.querySelectorAll("button")].find(e => e.checkVisibility() && /^Send/.test(e.innerText.trim()))`
	b.clickWhenThere(send)
	deadline := time.Now().Add(stepLimit)
	for {
		b.mu.Lock()
		done := slices.Contains(sent, w.Credentials.InterfaceA.BaseURL+"/token")
		b.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no request was sent:\n%s", b.text())
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, problem := range b.takeProblems() {
		if strings.Contains(problem, "leaves") || strings.Contains(problem, "policy") {
			t.Error(problem)
		}
	}
}

// TestSlowDocumentation looks at pages of every kind as TestSlowPages does at the
// dashboard's.
func TestSlowDocumentation(t *testing.T) { // invariants 3, 4 and 5
	w := newWorld(t, liberation())
	b := w.tab(t)
	command(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	axe := axeSource(t)
	for _, path := range []string{"", "/interface-a-guide", "/webhooks", "/errors", "/operations", "/dashboard", "/runbooks/HoldsOverdue", "/adr"} {
		b.look(t, place{"docs" + path, "/docs" + path}, axe)
	}
}
