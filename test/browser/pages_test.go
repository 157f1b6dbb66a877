package browser

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// maxPage is the most that a page can transfer with an empty cache, in bytes, including its assets.
const maxPage = 150_000

// maxShift is the highest layout shift score of a page while it loads, as Chromium measures it. A
// score of up to 0.1 is considered good.
const maxShift = 0.02

// windows are a desktop window and a phone. The accessibility checker checks each of them in one
// colour scheme: its rules depend on the scheme or on the width, not on both.
var windows = []struct {
	name          string
	width, height int64
	scheme        string
}{{"desk", 1280, 900, "light"}, {"phone", 390, 844, "dark"}}

// TestSlowPages checks every page.
func TestSlowPages(t *testing.T) { // invariants 2 to 4
	w := newWorld(t, liberation())
	pages := w.pages(t)
	t.Run("each page", func(t *testing.T) {
		t.Parallel()
		w.testPages(t, pages)
	})
	t.Run("layout in German", func(t *testing.T) {
		t.Parallel()
		w.testGerman(t, pages)
	})
	for _, fonts := range fontSets() {
		t.Run("layout in "+fonts.family, func(t *testing.T) {
			t.Parallel()
			w.testLayout(t, fonts, pages)
		})
	}
}

func (w *world) testPages(t *testing.T, pages []place) {
	b := w.signedIn(t)
	axe := axeSource(t)
	guest, tester := w.tab(t), w.signedIn(t)
	guests, tests := w.guestPlaces(t, b, guest), tester.testPlaces()
	teacher, classes := w.teacherPlaces(t)
	for _, pattern := range unseen(t, slices.Concat(pages, guests, tests, classes)) {
		t.Errorf("no place is at %s", pattern)
	}
	for _, tab := range []*tab{b, guest, tester, teacher} {
		command(tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		tab.takeProblems()
	}
	for _, p := range guests {
		guest.look(t, p, axe)
	}
	for _, p := range tests {
		tester.look(t, p, axe)
	}
	for _, p := range classes {
		teacher.look(t, p, axe)
	}
	for _, p := range pages {
		b.look(t, p, axe)
	}
}

// pages returns the pages for which a session is needed, after adding data that they show.
func (w *world) pages(t *testing.T) []place {
	t.Helper()
	b := w.signedIn(t)
	w.fill(b)
	samples := w.samples(t)
	w.delivered(t)
	return slices.Concat(w.places(t, b), samples, w.membershipPlaces(b), w.appointmentPlaces(t))
}

// delivered waits for a delivery that is not a test, which can be replayed.
func (w *world) delivered(t *testing.T) {
	t.Helper()
	harness.Eventually(t, stepLimit, func() error {
		res, err := w.op.Webhooks.CountDeliveries(w.company.Ctx(t.Context()), &webhookv1.CountDeliveriesRequest{})
		if err == nil && res.GetCount() == 0 {
			err = errors.New("there is no delivery")
		}
		return err
	})
}

// fill adds the data that the pages show.
func (w *world) fill(b *tab) {
	b.t.Helper()
	b.addEndpoint(w.receiver.url+"/hook", "The newsletter")
	b.follow("Send Test")
	b.says("The receiver accepted the message.")
	b.addDiscount("PAGES10")
	w.addLongNames(b.t)
}

// addLongNames adds a customer and an event with texts of the greatest length, without spaces.
func (w *world) addLongNames(t *testing.T) {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	long := strings.Repeat("Wolfeschlegelsteinhausen", 4)
	_, err := w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: long, LastName: long, Email: long[:60] + "@" + long[:60] + ".example"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: long, Location: long,
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// look opens a page in every window, light and dark, and checks the invariants. axe is the
// accessibility checker; "" if there is none.
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
			if path := b.path(); path != p.path {
				t.Fatalf("%s redirects to %s", p.path, path)
			}
			if size := b.takeBytes(); size > maxPage || size < 1000 {
				t.Errorf("%s: %d bytes are transferred", p.path, size)
			}
			if shift := b.shift(); shift > maxShift {
				t.Errorf("%s, %s: the layout shifts by %.3f", p.path, window.name, shift)
			}
			for _, fault := range b.misfits(window.width) {
				t.Errorf("%s, %s: %s", p.path, window.name, fault)
			}
			b.scheme(window.scheme)
			for _, violation := range b.violations(axe) {
				t.Errorf("%s, %s, %s: %s", p.path, window.name, window.scheme, violation)
			}
			b.scheme("light")
		}
		for _, fault := range b.scriptless(p) {
			t.Errorf("%s, without JavaScript: %s", p.path, fault)
		}
		b.size(1280, 900)
		b.open(p.path)
		for _, fault := range b.tabThrough() {
			t.Errorf("%s, keyboard: %s", p.path, fault)
		}
		b.quiet()
	})
}

// scriptless opens a page without JavaScript. It returns the elements that need JavaScript and are
// shown nevertheless, and the buttons that do nothing because they belong to no form.
func (b *tab) scriptless(p place) []string {
	b.t.Helper()
	b.withoutScript()
	defer b.withScript()
	b.open(p.path)
	return eval[[]string](b, `(() => {
		const shown = [...document.querySelectorAll("[data-script], button")].filter(e => e.checkVisibility({visibilityProperty: true}));
		return shown.filter(e => e.dataset.script !== undefined || e.matches("button") && (!e.form || e.type !== "submit"))
			.map(e => "it has " + e.outerHTML.slice(0, 160));
	})()`)
}

// takeBytes returns the number of bytes transferred since the last call.
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

// violations returns the faults that the accessibility checker finds; none without a checker.
func (b *tab) violations(axe string) []string {
	b.t.Helper()
	if axe == "" {
		return nil
	}
	// The debugger evaluates the script, so the content security policy does not have to allow it.
	b.do("axe", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { return evaluate(ctx, t, axe) }))
	return read(b, "axe", chromedp.Evaluate[[]string](`axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
	}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary.replace(/\s+/g, " "))))`,
		chromedp.EvalAwaitPromise))
}

// tabThrough goes through the page with the Tab key. It returns the controls that the key does not
// reach, and those that do not show their focus.
func (b *tab) tabThrough() []string {
	b.t.Helper()
	count := eval[int](b, `(() => {
		window.reached = new Set();
		window.within = document.activeElement !== document.body; // the page focuses a field; the key starts there
		window.reachable = () => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
			.filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0 && (e.type !== "radio" || e.checked));
		return window.reachable().length;
	})()`)
	var faults []string
	for range 3*count + 20 { // a field for a date takes the key several times
		b.do("Tab", chromedp.KeyEvent(kb.Tab))
		fault := eval[string](b, `(() => {
			const e = document.activeElement;
			if (window.within && (!e || e === document.body)) {
				window.within = false;
				return "";
			}
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
