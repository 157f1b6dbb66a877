package media

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// countingReader is an endless body that counts what is read of it.
type countingReader struct {
	mu sync.Mutex
	n  int
}

func (c *countingReader) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += len(p)
	return len(p), nil
}

// raw sends text on a connection of its own and returns the connection.
func (w *world) raw(text string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.settings.PublicURL, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestSenders(t *testing.T) { // invariants 4 and 13
	// The stalled sender holds its slot for this time, in which the test sends the requests that it checks.
	w := start(t, func(s *Settings) { s.Stalled, s.CompanyParts, s.Parts = 5*time.Second, 1, 2 })
	content := mp4(2000)
	u := w.newUpload(w.item(video).GetId(), content)
	path := strings.TrimPrefix(u.GetPartUrl(), w.settings.PublicURL) + "/1"
	head := "PUT " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n"
	t.Run("cuts off a sender that stalls, and holds up only its company until then", func(t *testing.T) {
		slow := w.raw(head + string(content[:100]))
		testkit.Eventually(t, time.Minute, func() error {
			if w.server.parts.inUse() != 1 {
				return fmt.Errorf("%d parts in progress", w.server.parts.inUse())
			}
			return nil
		})
		if code, text := w.put(u.GetPartUrl()+"/1", content); code != http.StatusTooManyRequests {
			t.Errorf("got %d %s", code, text)
		}
		other := w.of(id.New[id.Company]())
		ou := other.newUpload(other.item(video).GetId(), content)
		if code, text := w.put(ou.GetPartUrl()+"/1", content); code != http.StatusNoContent {
			t.Errorf("got %d %s", code, text)
		}
		_ = slow.SetReadDeadline(time.Now().Add(time.Minute))
		res, err := http.ReadResponse(bufio.NewReader(slow), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusRequestTimeout || !res.Close {
			t.Errorf("got %s", res.Status)
		}
	})
	t.Run("accepts the part afterwards", func(t *testing.T) {
		testkit.Eventually(t, time.Minute, func() error {
			if n := w.server.parts.inUse(); n != 0 {
				return fmt.Errorf("%d parts in progress", n)
			}
			return nil
		})
		if code, text := w.put(u.GetPartUrl()+"/1", content); code != http.StatusNoContent {
			t.Errorf("got %d %s", code, text)
		}
	})
	t.Run("does not take what follows a part as a part of it", func(t *testing.T) {
		c := w.raw(head + string(content) + "more than declared\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		text, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 204") || !strings.Contains(string(text), "HTTP/1.1 400") {
			t.Errorf("got %q, %v", text, err)
		}
		res := must[*mediav1.CompleteUploadResponse](t)(w.complete(u))
		if res.GetItem().GetFile().GetSha256() != digest(content) {
			t.Errorf("got %v", res)
		}
	})
}

// generated is a body of a size that is made while it is read.
type generated struct{ at, size int64 }

func (g *generated) Read(p []byte) (int, error) {
	if g.at >= g.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), g.size-g.at))
	for i := range n {
		p[i] = byte((g.at + int64(i)) * 31 >> 3)
	}
	if g.at == 0 {
		copy(p, "\x00\x00\x00\x18ftypisom\x00\x00\x00\x00mp42isom")
	}
	g.at += int64(n)
	return n, nil
}

func TestMemoryIsFlat(t *testing.T) { // invariant 4
	if testing.Short() || raceEnabled {
		t.Skip("sends 200 MB")
	}
	w := startAlone(t) // others would use memory too
	const size = 200 << 20
	i := w.item(video)
	u := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
		ItemId: i.GetId(), FileName: "long.mp4", ContentType: "video/mp4", Size: size,
	})).GetUpload()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak uint64
	stop, measured := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(measured)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	whole := &generated{size: size}
	for n := range int(u.GetPartCount()) {
		part := min(int64(partSize), size-int64(n)*partSize)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprint(u.GetPartUrl(), "/", n+1), io.LimitReader(whole, part))
		req.ContentLength = part
		if code, text := w.do(req); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
	}
	w.eventuallyComplete(u)
	w.setStatus(i.GetId(), mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED)
	customer := w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	link := must[*mediav1.CreatePlaybackLinkResponse](t)(w.link(i.GetId(), customer))
	res, err := w.http.Get(link.GetUrl())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, res.Body); err != nil || n != size {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	close(stop)
	<-measured
	if got := w.get(i.GetId()).GetFile().GetSha256(); got != hex.EncodeToString(sum.Sum(nil)) {
		t.Errorf("the file has the checksum %s", got)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the heap grew by %d MB while %d MB were sent", grown>>20, size>>20)
	}
}

// eventuallyComplete completes an upload, and returns its item.
func (w *world) eventuallyComplete(u *mediav1.Upload) *mediav1.MediaItem {
	w.t.Helper()
	res := must[*mediav1.CompleteUploadResponse](w.t)(w.complete(u))
	if got := res.GetUpload().GetStatus(); got != mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE {
		w.t.Fatalf("the upload is %s", got)
	}
	return res.GetItem()
}

func TestReusedCompletion(t *testing.T) {
	w := start(t)
	content := mp4(2000)
	first, second := w.newUpload(w.item(video).GetId(), content), w.newUpload(w.item(video).GetId(), content)
	w.putAll(first, content)
	w.putAll(second, content)
	ctx := rpc.WithIdempotencyKey(w.ctx(), "complete-1")
	complete := func(u *mediav1.Upload) (*mediav1.CompleteUploadResponse, error) {
		return w.client.CompleteUpload(ctx, &mediav1.CompleteUploadRequest{ItemId: u.GetItemId(), UploadId: u.GetId()})
	}
	done := must[*mediav1.CompleteUploadResponse](t)(complete(first))
	_, err := complete(second)
	wantReason(t, err, fault.ReasonIdempotencyKeyReused)
	if n := w.count(`select count(*) from uploads where status = 'open'`); n != 1 {
		t.Errorf("%d uploads are open after the refusal", n)
	}
	if again := must[*mediav1.CompleteUploadResponse](t)(complete(first)); !proto.Equal(again, done) {
		t.Errorf("got %v, and then %v", done, again)
	}
}

func TestUnreadBody(t *testing.T) { // invariant 13
	w := start(t, func(s *Settings) { s.Stalled = time.Second })
	content := mp4(2000)
	_, _, url := w.given(content)
	play := strings.TrimPrefix(url, w.settings.PublicURL)
	for name, tt := range map[string]struct{ head, want string }{
		"a part without a valid link":   {"PUT /upload/x/1", "HTTP/1.1 404"},
		"a method that is not accepted": {"POST /x", "HTTP/1.1 405"},
		"a valid link to play":          {"GET " + play, "HTTP/1.1 400"},
	} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			c := w.raw(tt.head + " HTTP/1.1\r\nHost: x\r\n" + length + "\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			text, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(text), tt.want) {
				t.Errorf("%s, %s: got %q, %v", name, length, text, err)
			}
		}
	}
}

func TestRepeatedUpload(t *testing.T) {
	w := start(t)
	ctx := rpc.WithIdempotencyKey(w.ctx(), "upload-1")
	req := &mediav1.CreateUploadRequest{ItemId: w.item(video).GetId(), FileName: "a.mp4", ContentType: "video/mp4", Size: 100}
	first := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(ctx, req)).GetUpload()
	again := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(ctx, req)).GetUpload()
	if first.GetPartUrl() == "" || !proto.Equal(first, again) {
		t.Errorf("got %v, and then %v", first, again)
	}
	if n := w.count(`select count(*) from idempotency_keys where key = 'upload-1'`); n != 1 {
		t.Fatalf("%d responses are stored", n)
	}
	_, token := tokenOf(first.GetPartUrl())
	if n := w.count(`select count(*) from idempotency_keys where position(convert_to($1, 'UTF8') in response) > 0`, token); n != 0 {
		t.Error("the stored response has the address of parts")
	}
}
