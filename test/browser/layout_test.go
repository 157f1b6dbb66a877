package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// widths are the widths of phones, tablets and desktop windows, in pixels.
var widths = []int64{320, 390, 640, 800, 980, 1152, 1280, 1600}

// largeTextWidths are the widths in which the pages are also checked with larger text.
var largeTextWidths = []int64{390, 800, 1280}

// narrowest is the width of the narrowest supported window, as a multiple of its text size.
const narrowest = 12

// textSizes are text sizes that a person can choose in the browser, in pixels: the default, the
// next larger one and twice the default.
var textSizes = []int64{16, 20, 32}

// testLayout checks that every page fits windows of many widths, with the fonts of a set and several
// text sizes.
func (w *world) testLayout(t *testing.T, fonts fontSet, pages []place) {
	browser := startChromium(t, fonts)
	browser.tab(t, w.url).uses(fonts)
	b := browser.tab(t, w.url)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	b.fitAll(pages)
	b.fitAll(b.testPlaces())
}

// testGerman checks that every page in German, which has long words, fits a desktop window and a narrow phone.
func (w *world) testGerman(t *testing.T, pages []place) {
	b := startChromium(t, liberation()).tab(t, w.url)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	eval[string](b, `document.cookie = "language=de-DE; path=/"`)
	for _, p := range pages {
		if status := b.open(p.path); status != 200 {
			t.Fatalf("%s is answered %d", p.path, status)
		}
		if language := eval[string](b, `document.documentElement.lang`); language != "de-DE" {
			t.Fatalf("%s is in %s", p.path, language)
		}
		for _, width := range []int64{1280, 360} {
			b.size(width, 900)
			for _, fault := range b.misfits(width) {
				t.Errorf("%s in German, %d wide: %s", p.name, width, fault)
			}
		}
	}
}

// fitAll checks pages in many widths and text sizes.
func (b *tab) fitAll(pages []place) {
	b.t.Helper()
	for _, p := range pages {
		if status := b.open(p.path); status != 200 {
			b.t.Fatalf("%s is answered %d", p.path, status)
		}
		for _, size := range textSizes {
			b.fits(p, size)
		}
	}
	b.textSize(textSizes[0])
}

// textSize sets the size of text without a size of its own, in pixels.
func (b *tab) textSize(size int64) {
	b.t.Helper()
	command(b, page.SetFontSizes, page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: size, Fixed: size}})
}

// fits fails the test for everything on the open page that does not fit a width at a text size.
func (b *tab) fits(p place, size int64) {
	b.t.Helper()
	b.textSize(size)
	in := widths
	if size > textSizes[0] {
		in = largeTextWidths
	}
	for _, width := range in {
		if width < narrowest*size {
			continue
		}
		b.size(width, 900)
		for _, fault := range b.misfits(width) {
			b.t.Errorf("%s, text of %d pixels, %d wide: %s", p.name, size, width, fault)
		}
	}
}

// misfits returns the elements that make the page wider than the window, and the elements that are
// wider than their box, which then hides a part, scrolls or overflows. It leaves out elements that
// are meant to scroll. It also returns the appointments and classes of a column that overlap.
func (b *tab) misfits(width int64) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf(`(() => {
		const html = e => e.outerHTML.slice(0, 160), page = document.scrollingElement.scrollWidth;
		const wide = page <= %[1]d ? [] : [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %[1]d + 0.5)
			.slice(0, 5).map(e => "it scrolls sideways for " + html(e)).concat("the page is " + page + " wide");
		const shown = [...document.querySelectorAll("main *")].filter(e => e.clientWidth > 1 && !e.closest(".vh, svg, .scroll") && e.checkVisibility());
		const cut = shown.filter(e => getComputedStyle(e).overflowX !== "visible" && !e.matches("input, textarea, select") && e.scrollWidth > e.clientWidth + 1)
			.map(e => "cut off: " + e.className + ": " + e.scrollWidth + " in " + e.clientWidth);
		const out = shown.filter(e => {
			const box = e.parentElement.closest(".card, .day, .slot, .note, .button, button, td, th, .choice, .pick");
			return box && e.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
		}).map(e => "sticks out of its box: " + html(e));
		const blocks = [...document.querySelectorAll(".track")].flatMap(t => [...t.querySelectorAll(".block:not(.timeoff)")].map(e => ({e, at: e.getBoundingClientRect()}))
			.sort((a, b) => a.at.top - b.at.top).filter((b, i, all) => i > 0 && b.at.top < all[i - 1].at.bottom - 0.5).map(b => "overlaps another: " + html(b.e)));
		return wide.concat(cut.slice(0, 3), out.slice(0, 3), blocks.slice(0, 3));
	})()`, width))
}
