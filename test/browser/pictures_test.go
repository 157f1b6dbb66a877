package browser

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictures is where the pictures of the documentation are written.
var pictures = flag.String("pictures", "", "directory into which the pictures of the main pages are written")

// TestPictures takes the pictures of docs/DASHBOARD.md.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("make pictures takes them")
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	s, b := platform(t)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	trust(t, s, receiver)
	b.open("/settings/webhooks/new")
	b.fill("url", receiver.URL+"/hook")
	b.press("Add the endpoint")
	b.sees("The endpoint is added.")
	endpoint := b.first("/settings/webhooks", "table.cards a")
	for range 3 {
		b.open(endpoint)
		b.press("Send Test")
		b.sees("The receiver took it.")
	}
	paths := map[string]string{
		"week": "/week", "add-client": "/settings/api-clients/new",
		"date":     b.first("/week", "a.slot"),
		"customer": b.first("/customers?q=y", "table.cards a"),
		"webhook":  endpoint,
	}
	for name, path := range paths {
		for _, width := range []int64{1280, 390} {
			var picture []byte
			b.do(chromedp.EmulateViewport(width, 844))
			b.open(path)
			b.do(chromedp.CaptureScreenshot(&picture))
			if err := os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("%s-%d.png", name, width)), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.quiet()
}
