package media

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reservation.dev/platform/id"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

func TestPlayerLimit(t *testing.T) { // invariant 13
	w := start(t)
	item, customer, url := w.given(mp4(2000))
	other := w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: item, CustomerId: other})
	otherURL := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(item, other)).GetUrl()
	holder := player{w.company, mustID[id.Customer](t, customer)}
	var release func()
	for range maxPlays {
		release = w.server.players.take(holder)
	}
	code, h, _ := w.fetch(url)
	if code != http.StatusTooManyRequests || h.Get("Retry-After") == "" {
		t.Errorf("got %d", code)
	}
	if code := w.status(otherURL); code != http.StatusOK {
		t.Errorf("another customer got %d", code)
	}
	release()
	if code := w.status(url); code != http.StatusOK {
		t.Errorf("afterwards %d", code)
	}
}

func TestUnreadableFile(t *testing.T) {
	w := start(t)
	_, _, url := w.given(mp4(2000))
	if err := w.server.removeOnce(t.Context()); err != nil { // the part of the file
		t.Fatal(err)
	}
	file := filepath.Join(w.dir, w.objects()[0])
	want := func(code int) {
		t.Helper()
		for _, header := range []string{"", "bytes=5-9"} {
			got, h, body := w.fetch(url, "Range", header)
			if got != code || h.Get("Content-Type") != "application/json" || h.Get("Content-Range") != "" || !strings.Contains(string(body), `"code"`) {
				t.Errorf("got %d, %v, %s", got, h, body)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want(http.StatusNotFound)
	if err := os.Symlink(file, file); err != nil { // a link to itself cannot be opened
		t.Fatal(err)
	}
	want(http.StatusServiceUnavailable)
}

func TestPolicyOfDocuments(t *testing.T) {
	w := start(t)
	content := []byte("%PDF-1.7\n%%EOF\n")
	i := w.item(mediav1.MediaKind_MEDIA_KIND_DOCUMENT)
	u := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
		ItemId: i.GetId(), FileName: "wrists.pdf", ContentType: "application/pdf", Size: int64(len(content)),
	})).GetUpload()
	w.putAll(u, content)
	w.eventuallyComplete(u)
	w.setStatus(i.GetId(), mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED)
	customer := w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	code, h, _ := w.fetch(must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer)).GetUrl())
	policy := h.Get("Content-Security-Policy")
	if code != http.StatusOK || strings.Contains(policy, "sandbox") || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") {
		t.Errorf("got %d with the policy %q", code, policy)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "application/pdf" {
		t.Errorf("got %v", h)
	}
}
