package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func contentDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func TestUpload(t *testing.T) { // invariants 2 and 3
	w := start(t)
	content := mp4(2*partSize + 1000)
	i := w.item(video)
	u := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
		ItemId: i.GetId(), FileName: "flow ü.mp4", ContentType: "video/mp4", Size: int64(len(content)), Sha256: strings.ToUpper(digest(content)),
	})).GetUpload()
	if u.GetPartCount() != 3 || u.GetPartSize() != partSize || u.GetStatus() != mediav1.UploadStatus_UPLOAD_STATUS_OPEN {
		t.Fatalf("got %v", u)
	}
	t.Run("is refused while parts are missing, and names them", func(t *testing.T) {
		if code, text := w.put(u.GetPartUrl()+"/2", content[partSize:2*partSize]); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
		_, err := w.complete(u)
		wantReason(t, err, ReasonUploadIncomplete)
		if got := fault.From(err).Meta["missing_parts"]; got != "1,3" {
			t.Errorf("missing parts %q", got)
		}
		got := must[*mediav1.GetUploadResponse](t)(w.client.GetUpload(w.ctx(), &mediav1.GetUploadRequest{ItemId: i.GetId(), UploadId: u.GetId()})).GetUpload()
		if !slices.Equal(got.GetReceivedParts(), []int32{2}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("accepts parallel and repeated parts, and keeps one object of each", func(t *testing.T) {
		wrong := bytes.Repeat([]byte{1}, 1000)
		if code, text := w.put(u.GetPartUrl()+"/3", wrong); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
		var all sync.WaitGroup
		for range 2 {
			for n := range 3 {
				all.Go(func() {
					part := content[n*partSize : min(len(content), (n+1)*partSize)]
					if code, text := w.put(fmt.Sprint(u.GetPartUrl(), "/", n+1), part, "Content-Digest", contentDigest(part)); code != http.StatusNoContent {
						t.Error(code, text)
					}
				})
			}
		}
		all.Wait()
		if n := w.count(`select count(*) from upload_parts`); n != 3 {
			t.Errorf("%d parts", n)
		}
		if named, removed := w.count(`select count(*) from upload_parts`), w.count(`select count(*) from removed_objects`); int(named+removed) != len(w.objects()) {
			t.Errorf("%d parts and %d objects to remove, but %d in the bucket", named, removed, len(w.objects()))
		}
	})
	t.Run("becomes the file of the item, and can be completed again", func(t *testing.T) {
		for range 2 {
			res := must[*mediav1.CompleteUploadResponse](t)(w.complete(u))
			f := res.GetItem().GetFile()
			if res.GetUpload().GetStatus() != mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE || f.GetSha256() != digest(content) || f.GetSize() != int64(len(content)) ||
				f.GetName() != "flow ü.mp4" || f.GetContentType() != "video/mp4" || res.GetItem().GetVersion() != 2 {
				t.Fatalf("got %v", res)
			}
		}
	})
	t.Run("its parts are removed, and its object has a name of the service", func(t *testing.T) {
		if err := w.server.removeOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		objects := w.objects()
		if len(objects) != 1 || !strings.HasPrefix(objects[0], objectPrefix(w.company)) || strings.Contains(objects[0], "flow") {
			t.Errorf("the bucket has %v", objects)
		}
	})
	t.Run("accepts no part after it is complete, and cannot be cancelled", func(t *testing.T) {
		if code, _ := w.put(u.GetPartUrl()+"/3", content[2*partSize:]); code != http.StatusConflict {
			t.Errorf("got %d", code)
		}
		_, err := w.client.CancelUpload(w.ctx(), &mediav1.CancelUploadRequest{ItemId: i.GetId(), UploadId: u.GetId()})
		wantReason(t, err, ReasonUploadComplete)
	})
	t.Run("replaces the file, and the file before is removed after the delay", func(t *testing.T) {
		second := mp4(3000)
		next := w.newUpload(i.GetId(), second)
		w.putAll(next, second)
		must[*mediav1.CompleteUploadResponse](t)(w.complete(next))
		if got := w.get(i.GetId()); got.GetFile().GetSha256() != digest(second) {
			t.Errorf("got %v", got)
		}
		if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 2 {
			t.Errorf("before the delay: %v, %v", w.objects(), err)
		}
		w.clock.move(w.settings.RemovalDelay + time.Minute)
		if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 1 {
			t.Errorf("after the delay: %v, %v", w.objects(), err)
		}
	})
	w.verify()
}

func TestCreateUploadRefusals(t *testing.T) { // invariants 4 and 5
	w := start(t, func(s *Settings) { s.MaxUploads = 2 })
	i, song := w.item(video), w.item(mediav1.MediaKind_MEDIA_KIND_AUDIO)
	req := func(change func(*mediav1.CreateUploadRequest)) *mediav1.CreateUploadRequest {
		r := &mediav1.CreateUploadRequest{ItemId: i.GetId(), FileName: "a.mp4", ContentType: "video/mp4", Size: 1000}
		change(r)
		return r
	}
	for name, tt := range map[string]struct {
		req  *mediav1.CreateUploadRequest
		want string
	}{
		"a path":                  {req(func(r *mediav1.CreateUploadRequest) { r.FileName = "../../etc/passwd" }), fault.ReasonValidation},
		"a path of Windows":       {req(func(r *mediav1.CreateUploadRequest) { r.FileName = `C:\a.mp4` }), fault.ReasonValidation},
		"a leading dot":           {req(func(r *mediav1.CreateUploadRequest) { r.FileName = ".htaccess" }), fault.ReasonValidation},
		"two dots":                {req(func(r *mediav1.CreateUploadRequest) { r.FileName = ".." }), fault.ReasonValidation},
		"a control character":     {req(func(r *mediav1.CreateUploadRequest) { r.FileName = "a\r\nX: y.mp4" }), fault.ReasonValidation},
		"a character that turns":  {req(func(r *mediav1.CreateUploadRequest) { r.FileName = "a\u202e4pm.exe" }), fault.ReasonValidation},
		"no name":                 {req(func(r *mediav1.CreateUploadRequest) { r.FileName = "" }), fault.ReasonValidation},
		"no size":                 {req(func(r *mediav1.CreateUploadRequest) { r.Size = 0 }), fault.ReasonValidation},
		"half a checksum":         {req(func(r *mediav1.CreateUploadRequest) { r.Sha256 = "ab" }), fault.ReasonValidation},
		"10 GB":                   {req(func(r *mediav1.CreateUploadRequest) { r.Size = 10 << 30 }), ReasonFileTooLarge},
		"a large cover":           {req(func(r *mediav1.CreateUploadRequest) { r.Purpose, r.ContentType, r.Size = 2, "image/png", maxCover+1 }), ReasonFileTooLarge},
		"a program":               {req(func(r *mediav1.CreateUploadRequest) { r.ContentType = "application/x-msdownload" }), ReasonTypeNotSupported},
		"a page":                  {req(func(r *mediav1.CreateUploadRequest) { r.ContentType = "text/html" }), ReasonTypeNotSupported},
		"a video as a recording":  {req(func(r *mediav1.CreateUploadRequest) { r.ItemId = song.GetId() }), ReasonTypeNotSupported},
		"a video as a cover":      {req(func(r *mediav1.CreateUploadRequest) { r.Purpose = 2 }), ReasonTypeNotSupported},
		"an item that is missing": {req(func(r *mediav1.CreateUploadRequest) { r.ItemId = id.New[id.MediaItem]().String() }), fault.ReasonNotFound},
	} {
		if _, err := w.client.CreateUpload(w.ctx(), tt.req); reason(err) != tt.want {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	if n := w.count(`select count(*) from uploads`); n != 0 {
		t.Errorf("%d uploads were stored", n)
	}
	t.Run("too many uploads, also when they are created together", func(t *testing.T) {
		results := make(chan string, 8)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, err := w.client.CreateUpload(w.ctx(), req(func(*mediav1.CreateUploadRequest) {}))
				results <- reason(err)
			})
		}
		all.Wait()
		close(results)
		got := map[string]int{}
		for r := range results {
			got[r]++
		}
		if got[""] != 2 || got[ReasonTooManyUploads] != 6 {
			t.Errorf("got %v", got)
		}
		other := w.of(id.New[id.Company]())
		must[*mediav1.CreateUploadResponse](t)(other.client.CreateUpload(other.ctx(), &mediav1.CreateUploadRequest{
			ItemId: other.item(video).GetId(), FileName: "a.mp4", ContentType: "video/mp4", Size: 1000,
		}))
	})
}

func TestPartRefusals(t *testing.T) { // invariants 4, 5 and 7
	w := start(t)
	content := mp4(partSize + 500)
	i := w.item(video)
	u := w.newUpload(i.GetId(), content)
	first := u.GetPartUrl() + "/1"
	for name, tt := range map[string]struct {
		url    string
		body   []byte
		header []string
		want   int
		code   string
	}{
		"a part that is too long":         {u.GetPartUrl() + "/2", content[:501], nil, http.StatusRequestEntityTooLarge, ReasonFileTooLarge},
		"a part that is too short":        {u.GetPartUrl() + "/2", content[:499], nil, http.StatusBadRequest, ReasonUploadIncomplete},
		"a part that does not exist":      {u.GetPartUrl() + "/3", content[:500], nil, http.StatusNotFound, fault.ReasonNotFound},
		"part 0":                          {u.GetPartUrl() + "/0", content[:500], nil, http.StatusNotFound, fault.ReasonNotFound},
		"another spelling of a number":    {u.GetPartUrl() + "/02", content[:500], nil, http.StatusNotFound, fault.ReasonNotFound},
		"a compressed body":               {u.GetPartUrl() + "/2", content[:500], []string{"Content-Encoding", "gzip"}, http.StatusUnsupportedMediaType, fault.ReasonUnsupportedMediaType},
		"another checksum":                {u.GetPartUrl() + "/2", content[:500], []string{"Content-Digest", contentDigest([]byte("x"))}, http.StatusBadRequest, ReasonChecksumMismatch},
		"a checksum that cannot be read":  {u.GetPartUrl() + "/2", content[:500], []string{"Content-Digest", "sha-256=:x:"}, http.StatusBadRequest, fault.ReasonInvalidParameter},
		"content of another type":         {first, bytes.Repeat([]byte("<html>"), partSize/6+1)[:partSize], nil, http.StatusUnsupportedMediaType, ReasonTypeNotSupported},
		"a link with a changed signature": {changed(u.GetPartUrl(), len(u.GetPartUrl())-1) + "/2", content[:500], nil, http.StatusNotFound, fault.ReasonNotFound},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if code, text := w.put(tt.url, tt.body, tt.header...); code != tt.want || !strings.Contains(text, `"`+tt.code+`"`) {
				t.Errorf("got %d %s, want %d %s", code, text, tt.want, tt.code)
			}
		})
	}
	t.Run("accepts a link of an upload only for uploads", func(t *testing.T) {
		_, token := tokenOf(u.GetPartUrl())
		for _, path := range []string{playPath, coverPath} {
			if code := w.status(w.settings.PublicURL + path + token); code != http.StatusNotFound {
				t.Errorf("%s: %d", path, code)
			}
		}
	})
	t.Run("refuses a body without Content-Length", func(t *testing.T) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, u.GetPartUrl()+"/2", io.MultiReader(bytes.NewReader(content[:500])))
		if code, text := w.do(req); code != http.StatusBadRequest || !strings.Contains(text, "Content-Length") {
			t.Errorf("got %d %s", code, text)
		}
	})
	t.Run("refuses 10 GB before it reads any of it", func(t *testing.T) {
		sent := &countingReader{}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, first, sent)
		req.ContentLength = 10 << 30
		req.Header.Set("Expect", "100-continue")
		if code, text := w.do(req); code != http.StatusRequestEntityTooLarge || sent.n > 0 {
			t.Errorf("got %d %s after %d bytes", code, text, sent.n)
		}
	})
	t.Run("stores nothing of what it refused", func(t *testing.T) {
		if n := w.count(`select count(*) from upload_parts`); n != 0 || len(w.objects()) != 0 {
			t.Errorf("%d parts, and the bucket has %v", n, w.objects())
		}
	})
	t.Run("refuses the parts of a cancelled upload", func(t *testing.T) {
		if code, text := w.put(u.GetPartUrl()+"/2", content[partSize:]); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
		must[*mediav1.CancelUploadResponse](t)(w.client.CancelUpload(w.ctx(), &mediav1.CancelUploadRequest{ItemId: i.GetId(), UploadId: u.GetId()}))
		if code, _ := w.put(u.GetPartUrl()+"/2", content[partSize:]); code != http.StatusNotFound {
			t.Errorf("got %d", code)
		}
		if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 0 {
			t.Errorf("the bucket has %v, %v", w.objects(), err)
		}
	})
}

// pngOf returns the header of a PNG with dimensions. No pixel follows.
func pngOf(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	out := b.Bytes()
	put32 := func(at, v int) {
		out[at], out[at+1], out[at+2], out[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	put32(16, width)
	put32(20, height)
	sum := crc32.ChecksumIEEE(out[12:29])
	put32(29, int(sum))
	return out
}

func TestContent(t *testing.T) { // invariant 5
	w := start(t)
	send := func(i *mediav1.MediaItem, purpose mediav1.UploadPurpose, contentType, sum string, content []byte) (int, string, error) {
		t.Helper()
		u := must[*mediav1.CreateUploadResponse](t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
			ItemId: i.GetId(), Purpose: purpose, FileName: "f", ContentType: contentType, Size: int64(len(content)), Sha256: sum,
		})).GetUpload()
		code, text := w.put(u.GetPartUrl()+"/1", content)
		if code != http.StatusNoContent {
			return code, text, nil
		}
		_, err := w.complete(u)
		if again, _ := w.complete(u); err != nil && again != nil {
			t.Errorf("a failed upload was completed: %v", again)
		}
		return code, text, err
	}
	picture := w.item(mediav1.MediaKind_MEDIA_KIND_IMAGE)
	t.Run("refuses an image with huge dimensions when its first bytes arrive", func(t *testing.T) {
		for _, purpose := range []mediav1.UploadPurpose{1, 2} {
			if code, text, _ := send(picture, purpose, "image/png", "", pngOf(60_000, 60_000)); code != http.StatusRequestEntityTooLarge {
				t.Errorf("got %d %s", code, text)
			}
		}
	})
	t.Run("refuses a damaged image", func(t *testing.T) {
		_, _, err := send(picture, 1, "image/png", "", pngOf(10, 10)[:30])
		wantReason(t, err, ReasonTypeNotSupported)
	})
	t.Run("refuses another checksum than declared", func(t *testing.T) {
		_, _, err := send(w.item(video), 1, "video/mp4", digest([]byte("x")), mp4(2000))
		wantReason(t, err, ReasonChecksumMismatch)
	})
	t.Run("accepts a cover, whose address works for everybody and for some hours", func(t *testing.T) {
		i := w.item(video)
		cover := pngOf(1, 1)
		if _, text, err := send(i, 2, "image/png", digest(cover), cover); err != nil {
			t.Fatal(text, err)
		}
		got := w.get(i.GetId()).GetCover()
		code, header, body := w.fetch(got.GetUrl())
		if code != http.StatusOK || !bytes.Equal(body, cover) || header.Get("Content-Type") != "image/png" {
			t.Errorf("got %d %v", code, header)
		}
		before, token := tokenOf(got.GetUrl())
		for at := range token {
			if code := w.status(before + changed(token, at)); code != http.StatusNotFound {
				t.Fatalf("character %d was changed: %d", at, code)
			}
		}
		w.clock.move(49 * time.Hour)
		if code := w.status(got.GetUrl()); code != http.StatusGone {
			t.Errorf("got %d", code)
		}
	})
	t.Run("removes what it refused", func(t *testing.T) {
		w.clock.move(time.Minute)
		if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 1 {
			t.Errorf("the bucket has %v, %v", w.objects(), err)
		}
	})
	w.verify()
}

func TestExpiredUpload(t *testing.T) {
	w := start(t)
	content := mp4(2000)
	i := w.item(video)
	u := w.newUpload(i.GetId(), content)
	w.putAll(u, content)
	w.clock.move(uploadLasts)
	if code, _ := w.put(u.GetPartUrl()+"/1", content); code != http.StatusGone {
		t.Errorf("a part was answered with %d", code)
	}
	_, err := w.complete(u)
	wantReason(t, err, ReasonUploadExpired)
	for range 2 { // it can be repeated
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.complete(u)
	wantReason(t, err, ReasonUploadExpired)
	if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 0 {
		t.Errorf("the bucket has %v, %v", w.objects(), err)
	}
	w.clock.move(uploadKept + time.Minute)
	if err := w.server.expireOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = w.client.GetUpload(w.ctx(), &mediav1.GetUploadRequest{ItemId: i.GetId(), UploadId: u.GetId()})
	wantMissing(t, err)
}
