package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// widths are those of phones, tablets and windows on a desk, in pixels.
var widths = []int64{320, 390, 640, 800, 980, 1152, 1280, 1600}

// largeTextWidths are those in which the pages are looked at in larger letters too.
var largeTextWidths = []int64{390, 800, 1280}

// narrowest is the width of the narrowest window that the pages are for, as a
// multiple of the size of its text.
const narrowest = 12

// textSizes are sizes of text that a person can set in the browser, in pixels:
// the usual one, the next larger one and twice the usual one.
var textSizes = []int64{16, 20, 32}

// testLayout checks that every page fits windows of many widths, in the fonts of a set
// and in several sizes of text.
func (w *world) testLayout(t *testing.T, fonts fontSet, pages []place) {
	browser := startChromium(t, fonts)
	browser.tab(t, w.url).uses(fonts)
	b := browser.tab(t, w.url)
	b.open("/sign-in")
	b.signIn(w.email, w.password)
	for _, p := range pages {
		if status := b.open(p.path); status != 200 {
			t.Fatalf("%s is answered %d", p.path, status)
		}
		for _, size := range textSizes {
			b.fits(p, size)
		}
	}
}

// fits fails the test for whatever does not fit on the open page in letters of a
// size, in any width.
func (b *tab) fits(p place, size int64) {
	b.t.Helper()
	command(b, page.SetFontSizes, page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: size, Fixed: size}})
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

// misfits returns what makes the page wider than the window, and what is wider than
// the box that it is in, which hides the rest, scrolls, or lets it stick out. What is
// made to scroll is left out.
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
		return wide.concat(cut.slice(0, 3), out.slice(0, 3));
	})()`, width))
}
