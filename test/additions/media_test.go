package additions

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// wav returns a valid recording of silence with n bytes of samples.
func wav(n int) []byte {
	var b bytes.Buffer
	b.WriteString("RIFF")
	binary.Write(&b, binary.LittleEndian, uint32(36+n))
	b.WriteString("WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8)} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(n))
	b.Write(bytes.Repeat([]byte{0x80}, n))
	return b.Bytes()
}

// fetch makes a request to an address that the platform has given, and returns the response and its body.
func fetch(t *testing.T, method, url string, body []byte, pairs ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		req.Header.Set(pairs[i], pairs[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, got
}

// upload sends a file in parts and returns its item.
func (c *caller) upload(t *testing.T, item object, name string, contentType string, file []byte) object {
	t.Helper()
	at := path(text(item, "id"))
	sum := sha256.Sum256(file)
	up := c.Read(t, 201, post, at+"/uploads", object{"fileName": name, "contentType": contentType, "size": len(file), "sha256": hex.EncodeToString(sum[:])})
	size := int(up["partSize"].(float64))
	for n := 1; n <= int(up["partCount"].(float64)); n++ {
		part := file[(n-1)*size : min(n*size, len(file))]
		digest := sha256.Sum256(part)
		resp, answer := fetch(t, put, fmt.Sprintf("%s/%d", up["partUrl"], n), part,
			"Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(digest[:])+":")
		if resp.StatusCode/100 != 2 {
			t.Fatalf("part %d: %s %s", n, resp.Status, answer)
		}
	}
	done := c.Read(t, 200, post, at+"/uploads/"+text(up, "id")+"/complete", nil)
	harness.Eventually(t, waiting, func() error {
		if done = c.get(t, at+"/uploads/"+text(up, "id")); done["status"] != "complete" {
			return fmt.Errorf("%v", done)
		}
		return nil
	})
	return c.get(t, at)
}

// recording creates a published recording.
func (c *caller) recording(t *testing.T, title string, more object) object {
	t.Helper()
	item := c.upload(t, c.create(t, "/media", with(object{"title": title, "kind": "audio"}, more)), "calm.wav", "audio/wav", wav(10_000))
	return c.change(t, text(item, "id"), object{"status": "published"})
}

// link returns the address at which a customer plays an item.
func (c *caller) link(t *testing.T, item object, customer string) object {
	t.Helper()
	return c.Read(t, 201, post, path(text(item, "id"))+"/playback-links", object{"customerId": customer})
}

// stops checks that an address does not play any more.
func stops(t *testing.T, why, url string) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		if resp, body := fetch(t, get, url, nil); resp.StatusCode < 400 || resp.StatusCode >= 500 || len(body) > 1000 {
			return fmt.Errorf("%s: %s", why, resp.Status)
		}
		return nil
	})
}

func testMedia(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")

	t.Run("a file is uploaded, published and played", func(t *testing.T) {
		item := c.create(t, "/media", object{"title": "Calm", "kind": "audio", "tags": []string{"sleep"}, "durationSeconds": 1})
		has(t, item, object{"status": "draft", "file": nil, "tags": []string{"sleep"}})
		c.refuses(t, "MEDIA_NOT_READY", patch, path(text(item, "id")), object{"status": "published"})
		file := wav(9_000_000) // two parts
		item = c.upload(t, item, "calm.wav", "audio/wav", file)
		has(t, item, object{"file.name": "calm.wav", "file.size": len(file), "status": "draft"})
		item = c.change(t, text(item, "id"), object{"status": "published"})
		c.refuses(t, "MEDIA_NOT_ENTITLED", post, path(text(item, "id"))+"/playback-links", object{"customerId": ada})
		c.refuses(t, "MEDIA_NOT_ENTITLED", put, path(text(item, "id"))+"/progress", object{"customerId": ada, "positionSeconds": 1, "completed": true})
		given := c.create(t, "/media-entitlements", object{"mediaId": item["id"], "customerId": ada})
		link := c.link(t, item, ada)
		has(t, link, object{"contentType": "audio/wav", "reason.type": "given", "reason.entitlementId": given["id"]})
		resp, body := fetch(t, get, text(link, "url"), nil)
		if resp.StatusCode != 200 || !bytes.Equal(body, file) {
			t.Errorf("%s, %d bytes", resp.Status, len(body))
		}
		resp, body = fetch(t, get, text(link, "url"), nil, "Range", "bytes=8388600-8388615")
		if resp.StatusCode != 206 || !bytes.Equal(body, file[8388600:8388616]) {
			t.Errorf("a range: %s %x", resp.Status, body)
		}
		if resp, _ = fetch(t, get, text(link, "url"), nil, "Range", "bytes=99999999-"); resp.StatusCode != 416 {
			t.Errorf("a range after the end: %s", resp.Status)
		}
		has(t, c.Read(t, 200, put, path(text(item, "id"))+"/progress", object{"customerId": ada, "positionSeconds": 1, "completed": true}), object{"positionSeconds": 1, "completed": true})
		seen := c.list(t, path(ada)+"/media")[0]
		has(t, seen, object{"id": item["id"], "reason.type": "given", "progress.completed": true})
		a := c.interfaceA(t)
		page := a.Read(t, 200, get, "/customer/"+ada+"/media", nil)
		has(t, page, object{"total": 1, "data.0.id": item["id"], "data.0.type": "media", "data.0.progress.completed": true})
		has(t, a.Read(t, 200, get, "/customer/"+ada+"/media/"+text(item, "id"), nil), object{"data.id": item["id"]})
		c.delete(t, path(text(given, "id")))
		stops(t, "the entitlement is deleted", text(link, "url"))
	})
	t.Run("a changed address does not play", func(t *testing.T) {
		item := c.recording(t, "Secret", nil)
		c.create(t, "/media-entitlements", object{"mediaId": item["id"], "customerId": ada})
		url := text(c.link(t, item, ada), "url")
		at := strings.LastIndexByte(url, '/') + 1
		for i := at; i < len(url); i += 7 {
			other := byte('A')
			if url[i] == other {
				other = 'B'
			}
			changed := url[:i] + string(other) + url[i+1:]
			if resp, _ := fetch(t, get, changed, nil); resp.StatusCode/100 != 4 {
				t.Errorf("byte %d changed: %s", i-at, resp.Status)
			}
		}
		c.change(t, text(item, "id"), object{"status": "draft"})
		stops(t, "the item is a draft", url)
		c.change(t, text(item, "id"), object{"status": "published"})
		if resp, _ := fetch(t, get, url, nil); resp.StatusCode != 200 {
			t.Errorf("published again: %s", resp.Status)
		}
		c.delete(t, path(text(item, "id")))
		stops(t, "the item is deleted", url)
		c.Refused(t, 404, "NOT_FOUND", get, path(text(item, "id")), nil)
	})
	t.Run("what entitles a customer", func(t *testing.T) {
		collection := c.create(t, "/media-collections", object{"title": "Home practice"})
		item := c.recording(t, "Morning", object{"collectionIds": []any{collection["id"]}})
		has(t, c.get(t, path(text(collection, "id"))), object{"itemCount": 1})
		plan := c.plan(t, object{"mediaCollectionIds": []any{collection["id"]}})
		five, event := c.passType(t, nil), c.event(t, nil)
		c.create(t, "/media-entitlements", object{"collectionId": collection["id"], "passId": five["id"]})
		c.create(t, "/media-entitlements", object{"mediaId": item["id"], "eventId": event["id"]})
		for _, way := range []struct {
			name, member string
			entitle      func(t *testing.T, customer string) (id string, end func())
		}{
			{"subscription", "subscriptionId", func(t *testing.T, customer string) (string, func()) {
				sub := c.subscribed(t, plan, customer, nil)
				return text(sub, "id"), func() { c.do(t, path(text(sub, "id"))+"/cancel", object{"when": "now"}) }
			}},
			{"pass", "customerPassId", func(t *testing.T, customer string) (string, func()) {
				pass := c.give(t, five, customer, nil)
				return text(pass, "id"), func() { c.change(t, text(pass, "id"), object{"status": "cancelled"}) }
			}},
			{"registration", "registrationId", func(t *testing.T, customer string) (string, func()) {
				registration := c.register(t, event, customer, nil)
				return text(registration, "id"), func() { c.do(t, path(text(registration, "id"))+"/cancel", nil) }
			}},
		} {
			t.Run(way.name, func(t *testing.T) {
				customer := c.customer(t, "Bea", "Cole")
				c.lists(t, path(customer)+"/media")
				reason, end := way.entitle(t, customer)
				has(t, c.list(t, path(customer)+"/media")[0], object{"id": item["id"], "reason.type": way.name, "reason." + way.member: reason})
				link := c.link(t, item, customer)
				has(t, link, object{"reason.type": way.name})
				if resp, _ := fetch(t, get, text(link, "url"), nil); resp.StatusCode != 200 {
					t.Errorf("%s", resp.Status)
				}
				end()
				stops(t, "the reason ended", text(link, "url"))
				c.refuses(t, "MEDIA_NOT_ENTITLED", post, path(text(item, "id"))+"/playback-links", object{"customerId": customer})
			})
		}
	})
	t.Run("uploads that are refused", func(t *testing.T) {
		item := c.create(t, "/media", object{"title": "Refused", "kind": "audio"})
		at := path(text(item, "id")) + "/uploads"
		fine := object{"fileName": "a.wav", "contentType": "audio/wav", "size": 100}
		for code, body := range map[string]object{
			"FILE_TOO_LARGE": {"size": 10 << 30}, "FILE_TYPE_NOT_SUPPORTED": {"contentType": "video/mp4"}, "VALIDATION_ERROR": {"fileName": "../../etc/passwd"},
		} {
			c.refuses(t, code, post, at, with(fine, body))
		}
		up := c.Read(t, 201, post, at, fine)
		for what, body := range map[string][]byte{"too short": wav(10), "too long": wav(1000), "another type": bytes.Repeat([]byte("x"), 100)} {
			if resp, _ := fetch(t, put, text(up, "partUrl")+"/1", body); resp.StatusCode/100 != 4 {
				t.Errorf("%s: %s", what, resp.Status)
			}
		}
		c.refuses(t, "UPLOAD_INCOMPLETE", post, at+"/"+text(up, "id")+"/complete", nil)
		c.delete(t, at+"/"+text(up, "id"))
		c.Refused(t, 404, "NOT_FOUND", get, at+"/"+text(up, "id"), nil)
	})
	t.Run("another company sees nothing", func(t *testing.T) {
		item := c.recording(t, "Private", nil)
		other := p.newCaller(t)
		for _, request := range [][2]string{{get, ""}, {remove, ""}, {post, "/uploads"}, {post, "/playback-links"}} {
			var body any
			if request[0] == post {
				body = object{"customerId": ada, "fileName": "a.wav", "contentType": "audio/wav", "size": 1}
			}
			other.Refused(t, 404, "NOT_FOUND", request[0], path(text(item, "id"))+request[1], body)
		}
	})
}
