package browser

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictures is where the pictures of the documentation are put; "": nowhere.
var pictures = flag.String("pictures", "", "directory to put pictures of the main pages into")

// maxPicture is how long a picture may be, in bytes.
const maxPicture = 150_000

func (w *world) testPictures(t *testing.T) {
	dir := *pictures
	if dir == "" {
		dir = t.TempDir()
	}
	b := w.signedIn(t)
	w.fill(b)
	pages := map[string]string{}
	for _, p := range w.places(t, b) {
		pages[p.name] = p.path
	}
	take := func(b *tab, name string) {
		png := read(b, "picture", chromedp.CaptureScreenshot())
		if len(png) > maxPicture || len(png) < 5000 {
			t.Errorf("the picture %s has %d bytes", name, len(png))
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	guest := w.tab(t)
	guest.size(1280, 900)
	guest.open("/sign-in")
	take(guest, "sign-in")
	for name, page := range map[string]string{
		"calendar": "week", "today": "today", "event": "date", "customer": "customer", "api-clients": "API clients", "add-client": "new API client",
		"webhook": "webhook", "deliveries": "deliveries", "delivery": "delivery", "pass": "pass", "book": "book for a customer", "cancel": "cancel a booking",
	} {
		for _, window := range windows {
			for _, scheme := range []string{"light", "dark"} {
				b.size(window.width, window.height)
				b.scheme(scheme)
				b.open(pages[page])
				take(b, fmt.Sprintf("%s-%s-%s", name, window.name, scheme))
			}
		}
	}
}
